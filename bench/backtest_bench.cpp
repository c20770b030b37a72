// Times backtests of 200 assets over 2,000 simulated days on two threads, from returns to metrics:
// rolling `oscar`, and `swap` under the default rule, whose decisions see the account. Checked first:
// one thread gives the same bits, and decisions picked from the walk of `oscar` are those of a
// covariance and a selection made for that day alone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "measure.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/market/simulate.hpp"
#include "sharpen/risk/risk.hpp"
#include "sharpen/select/select.hpp"

namespace {

using namespace sharpen;

constexpr Index kLookback = 100;

market::Panel simulated_returns() {
  market::SimulationSettings settings;
  settings.assets = 200;
  settings.days = 2001;
  settings.seed = 1;
  return market::simple_returns(market::simulate(settings));
}

backtest::BacktestSettings settings_of() {
  backtest::BacktestSettings settings;
  settings.optimizer = "oscar";
  settings.sizing = {.kind = layer::Sizing::volatility,
                     .target_volatility = 0.10 / std::sqrt(252.0)};
  return settings;
}

// The weights of the decision for panel row `end`, apart from the engine.
std::vector<backtest::Position> alone(const market::Panel& returns, Index end) {
  risk::RiskSettings risk_settings;
  risk_settings.parts = {.lower = true, .root = false, .restriction = false};
  const auto risk = risk::from_windows(returns.matrix(), kLookback, std::span(&end, 1),
                                       risk_settings, Threads(1));
  std::vector<double> mu(static_cast<std::size_t>(returns.n()));
  for (Index t = end - kLookback; t < end; ++t)
    for (std::size_t j = 0; j < mu.size(); ++j) mu[j] += returns.matrix().row(t)[j];
  for (double& m : mu) m /= static_cast<double>(kLookback);
  select::Selector selector({{.k = 20, .sizing = settings_of().sizing}, select::Optimizer::oscar},
                            *risk);
  select::Portfolio portfolio;
  selector.run(*risk, 0, mu, portfolio);
  std::vector<backtest::Position> positions;
  for (const Index j : portfolio.support)
    positions.push_back({j, portfolio.weights[static_cast<std::size_t>(j)]});
  return positions;
}

}  // namespace

int main() {
  const market::Panel returns = simulated_returns();
  const Threads two(2);
  const backtest::BacktestResult result = backtest::backtest(returns, settings_of(), two);
  bench::require(result.run.periods() == returns.rows() - kLookback, "every period is walked");
  bench::require(
      result.run.weights == backtest::backtest(returns, settings_of(), Threads(1)).run.weights,
      "one thread gives the same bits as two");
  for (const Index end : {kLookback, Index{777}, returns.rows() - 1}) {
    const auto held = result.run.weights_of(end - kLookback);
    const auto expected = alone(returns, end);
    bench::require(std::equal(held.begin(), held.end(), expected.begin(), expected.end()),
                   fmt::format("the decision for row {} is that of its window alone", end));
  }
  const double seconds = bench::alternate(
      {[&] { static_cast<void>(backtest::backtest(returns, settings_of(), two)); }}, 3,
      bench::Clock::wall)[0];
  fmt::print("backtest: {} decisions of {} assets, {:.2f} s on {} threads\n",
             result.run.n_decisions, returns.n(), seconds, two.count());
  bench::at_most("backtest_oscar_200x2000_s", seconds, 10);
  backtest::BacktestSettings holding = settings_of();
  holding.optimizer = "swap";
  const double held =
      bench::alternate({[&] { static_cast<void>(backtest::backtest(returns, holding, two)); }}, 3,
                       bench::Clock::wall)[0];
  bench::at_most("backtest_holdings_swap_200x2000_s", held, 2.5);
  return 0;
}
