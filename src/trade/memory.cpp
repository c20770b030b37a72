#include "sharpen/trade/memory.hpp"

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "sharpen/base/settings.hpp"

namespace sharpen::trade {

namespace {

constexpr Index kLengths = 3;  // M / N: what is older counts for less than a twentieth

}  // namespace

Memory::Memory(Index periods) {
  settings::check("memory", static_cast<double>(periods));
  const Index rows = periods == 1 ? 1 : kLengths * periods;
  const double keep = 1.0 - 1.0 / static_cast<double>(periods);
  double weight = 1.0;
  for (Index j = 0; j < rows; ++j, weight *= keep) weights_.push_back(weight);
}

void Memory::signal(ConstMat x, ConstVec variances, Vec out) const {
  const auto missing = [&](Index t) {
    return std::ranges::any_of(x.row(t), [](double value) { return std::isnan(value); });
  };
  if (x.rows == 0 || missing(x.rows - 1)) {
    std::ranges::fill(out, kNaN);
    return;
  }
  std::ranges::fill(out, 0.0);
  double total = 0.0;
  for (Index j = 0; j < std::min(rows(), x.rows); ++j) {
    const Index t = x.rows - 1 - j;
    if (missing(t)) continue;
    total += weight(j);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += weight(j) * x.row(t)[i];
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] *= std::sqrt(variances[i]) / total;
}

}  // namespace sharpen::trade
