// Times backtests of mssrm-long and mssrm over 618 months of 100 portfolios on two threads: the
// published data where SHARPEN_TEST_DATA or ../shared/data has it, checked against the published
// figures, or else a simulated market of that size. Checked first: one thread gives the same bits.
// The published code takes about 43 s for each of the six.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "measure.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/market/simulate.hpp"

namespace {

using namespace sharpen;

struct Cell {
  Index lookback;
  Index k;
  const char* sharpe;
  const char* wealth;
};

constexpr Cell kPublished[] = {{60, 10, "0.2290", "527.09"},  {60, 15, "0.2289", "522.28"},
                               {60, 20, "0.2285", "515.50"},  {120, 10, "0.2391", "635.65"},
                               {120, 15, "0.2381", "597.67"}, {120, 20, "0.2384", "603.05"}};

std::filesystem::path published_file() {
  const char* folder = std::getenv("SHARPEN_TEST_DATA");
  return std::filesystem::path(folder != nullptr ? folder : "../shared/data") /
         "ff100_monthly_gross.csv";
}

// Days blown up to the size of months, for which the method's epsilon is made.
market::Panel simulated_months() {
  market::SimulationSettings settings;
  settings.assets = 100;
  settings.days = 624;
  settings.seed = 1;
  market::Panel returns = market::simple_returns(market::simulate(settings));
  for (double& r : returns.values) r = std::clamp(5.0 * r, -0.9, 9.0);
  return returns;
}

backtest::BacktestSettings settings_of(const Cell& cell, const char* optimizer) {
  backtest::BacktestSettings settings;
  settings.optimizer = optimizer;
  settings.k = {.count = cell.k, .percent = 0.0};
  settings.lookback = {.count = cell.lookback, .all = false};
  settings.min_history = 5;
  settings.stats_from = "2";
  settings.periods_per_year = 12.0;
  return settings;
}

}  // namespace

int main() {
  const bool published = std::filesystem::exists(published_file());
  constexpr auto kind = market::PanelKind::gross_returns;
  const market::Panel returns =
      published ? market::simple_returns(market::read_panel(published_file(), kind), kind)
                : simulated_months();
  const Threads one(1), two(2);
  fmt::print("mssrm: {} months of {} assets, {}\n", returns.rows(), returns.n(),
             published ? "the published data" : "simulated: the published data is not there");
  double slowest_long = 0.0, slowest = 0.0;
  for (const Cell& cell : kPublished) {
    const auto run = [&](const char* optimizer, const Threads& threads) {
      return backtest::backtest(returns, settings_of(cell, optimizer), threads);
    };
    const backtest::BacktestResult result = run("mssrm-long", two);
    bench::require(result.run.weights == run("mssrm-long", one).run.weights,
                   "one thread gives the same bits as two");
    if (published) {
      bench::require(fmt::format("{:.4f}", result.metrics.sharpe) == cell.sharpe,
                     fmt::format("Sharpe ratio {}", cell.sharpe));
      bench::require(fmt::format("{:.2f}", result.metrics.final_wealth) == cell.wealth,
                     fmt::format("wealth {}", cell.wealth));
    }
    const std::vector<double> seconds =
        bench::alternate({[&] { static_cast<void>(run("mssrm-long", two)); },
                          [&] { static_cast<void>(run("mssrm", two)); }},
                         1, bench::Clock::wall);
    fmt::print("T = {:3}, m = {}: mssrm-long {:.2f} s ({} iterations), mssrm {:.2f} s\n",
               cell.lookback, cell.k, seconds[0], result.run.iterations, seconds[1]);
    slowest_long = std::max(slowest_long, seconds[0]);
    slowest = std::max(slowest, seconds[1]);
  }
  bench::at_most("mssrm_long_ff100_seconds", slowest_long, 10.0);
  bench::at_most("mssrm_ff100_seconds", slowest, 10.0);
}
