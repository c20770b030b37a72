#include <fmt/format.h>

#include "sharpen/base/error.hpp"
#include "sharpen/select/select.hpp"

namespace sharpen::select {

std::string_view name(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::oscar: return "oscar";
    case Optimizer::symmetric: return "symmetric";
    case Optimizer::greedy: return "greedy";
    case Optimizer::swap: return "swap";
  }
  return "unknown";
}

void SelectSettings::validate(Index n) const {
  if (k < 1 || k > n)
    throw InputError(fmt::format(
        "k = {} is outside [1, {}]: choose at least one name and at most all {} assets", k, n, n));
  if (name(optimizer) == "unknown")
    throw InputError(fmt::format("optimizer = {} is none of oscar, symmetric, greedy, swap",
                                 static_cast<int>(optimizer)));
  if (net == layer::Net::any && sizing.kind == layer::Sizing::budget)
    throw InputError(
        "net = any does not go with sizing = budget, which divides by the net position: use "
        "volatility or gross sizing");
  sizing.validate();
}

}  // namespace sharpen::select
