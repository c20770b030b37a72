// Panels of simulated returns, and a policy without a view, for tests of the engine.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "sharpen/backtest/policies.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/trade/costs.hpp"
#include "support/problems.hpp"

namespace sharpen::backtest::testing {

using sharpen::testing::Problems;
using sharpen::testing::RowMatrix;

// 2020-01-01, 2020-01-02, ...: every month has 28 days.
inline std::string date_of(Index row) {
  return fmt::format("{:04}-{:02}-{:02}", 2020 + row / 336, 1 + row / 28 % 12, 1 + row % 28);
}

inline market::Panel panel_of(const RowMatrix& returns) {
  market::Panel panel;
  for (Index t = 0; t < returns.rows(); ++t) panel.dates.push_back(date_of(t));
  for (Index j = 0; j < returns.cols(); ++j) panel.tickers.push_back(fmt::format("A{}", j));
  panel.values.assign(returns.data(), returns.data() + returns.size());
  return panel;
}

inline market::Panel random_panel(Index rows, Index n, unsigned seed) {
  return panel_of(Problems(seed).returns(rows, n));
}

inline double& at(market::Panel& panel, Index row, Index column) {
  return panel.values[static_cast<std::size_t>(row * panel.n() + column)];
}

// The same for all assets of a panel.
inline std::shared_ptr<const trade::CostBook> costs_of(double bps, const market::Panel& panel) {
  return std::make_shared<trade::CostBook>(settings::NumberOrFile{.number = bps, .file = {}},
                                           panel.tickers, panel.left_out, panel.dates.front());
}

inline OptimizerPolicy equal_weights() { return {nullptr, solve::optimizer_named("equal"), {}}; }

}  // namespace sharpen::backtest::testing
