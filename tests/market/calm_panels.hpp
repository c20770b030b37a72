// Quiet panels to put one thing wrong into, and what cleaning finds in them.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "sharpen/base/random.hpp"
#include "sharpen/market/cleaning.hpp"

namespace sharpen::market {

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// Quiet random walks: 1 % a day, nothing suspect in them.
inline Panel calm(Index n, Index rows, std::uint64_t seed = 1) {
  Panel panel;
  for (Index j = 0; j < n; ++j) panel.tickers.push_back(fmt::format("T{}", j));
  Random random(seed);
  std::vector<double> price(static_cast<std::size_t>(n), 100.0);
  for (Index t = 0; t < rows; ++t) {
    panel.dates.push_back(
        fmt::format("{:04}-{:02}-{:02}", 2000 + t / 336, 1 + t / 28 % 12, 1 + t % 28));
    for (double& p : price) panel.values.push_back(p *= std::exp(0.01 * random.normal()));
  }
  return panel;
}

inline double& at(Panel& panel, Index t, Index j) {
  return panel.values[static_cast<std::size_t>(t * panel.n() + j)];
}
inline const std::string& date(const Panel& panel, Index t) {
  return panel.dates[static_cast<std::size_t>(t)];
}

// Multiplies the prices of an asset by a factor from row t on.
inline void scale_from(Panel& panel, Index t, Index j, double factor) {
  for (; t < panel.rows(); ++t) at(panel, t, j) *= factor;
}

// "T1 split 2000-02-03", one line per finding.
inline std::vector<std::string> found(const Cleaned& cleaned) {
  std::vector<std::string> out;
  for (const Finding& finding : cleaned.findings)
    out.push_back(fmt::format("{}{}{} {}", finding.ticker, finding.ticker.empty() ? "" : " ",
                              name(finding.rule), finding.first_date));
  return out;
}
inline std::vector<std::string> found_in(const Panel& panel, PanelKind kind = PanelKind::prices) {
  return found(clean(panel, {.kind = kind}));
}

inline Panel as_returns(const Panel& prices, PanelKind kind) {
  Panel returns = simple_returns(prices);
  if (kind == PanelKind::gross_returns)
    for (double& r : returns.values) r += 1.0;
  return returns;
}

}  // namespace sharpen::market
