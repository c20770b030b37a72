#include "sharpen/market/panel_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/file_position.hpp"

namespace sharpen::market {

double least_value(PanelKind kind, Cells cells) {
  switch (kind) {
    case PanelKind::prices:
      return cells == Cells::raw ? std::numeric_limits<double>::lowest()
                                 : std::numeric_limits<double>::denorm_min();
    case PanelKind::returns: return -1.0;
    case PanelKind::gross_returns: return 0.0;
  }
  return std::numeric_limits<double>::lowest();
}

KindFault below_least(PanelKind kind) {
  switch (kind) {
    case PanelKind::prices:
      return {"is not a price: prices are positive", "correct it, or give returns as --returns"};
    case PanelKind::returns:
      return {"is not a simple return: no asset loses more than all of its value (-1)",
              "write 0.01 for 1 %, or did you mean --prices or --returns with --gross?"};
    case PanelKind::gross_returns:
      return {"is not a gross return 1 + r: no asset loses more than all of its value (0)",
              "leave out --gross if these are simple returns r"};
  }
  return {};
}

void check_kind(std::span<const double> values, PanelKind kind, std::string_view file) {
  if (kind == PanelKind::prices) return;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double sum = 0.0;
  std::size_t count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value / static_cast<double>(values.size());
    ++count;
  }
  if (count == 0 || low <= 0.0) return;
  const double mean = sum * (static_cast<double>(values.size()) / static_cast<double>(count));
  const auto refuse = [&](std::string_view what, std::string_view remedy) {
    fail_at({file}, fmt::format("the values look like {} (all between {:.4g} and {:.4g}, mean "
                                "{:.4g}); {}",
                                what, low, high, mean, remedy));
  };
  if (kind == PanelKind::returns && mean > 1.5) refuse("prices", "give the file as --prices");
  if (kind == PanelKind::returns && low >= 0.2 && mean >= 0.75)
    refuse("gross returns 1 + r", "add --gross");
  if (kind == PanelKind::gross_returns && mean > 3.0)
    refuse("prices", "give the file as --prices, without --gross");
}

}  // namespace sharpen::market
