// Times a year of daily runs of `sharpen predict --framework rolling` for 100 names, as a user has
// them: prices and positions are read from files each day, orders and positions written. Checked
// on the way: what is held on each day is what the backtest with the same settings holds, to the
// share.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "measure.hpp"
#include "sharpen/command/backtest.hpp"
#include "sharpen/command/orders.hpp"
#include "sharpen/market/simulate.hpp"

namespace {

using namespace sharpen;

constexpr Index kDays = 250, kLookback = 100;

settings::Values values_of(settings::Command command, const std::string& prices) {
  settings::Values values(command);
  values.set_flag("framework", "rolling");
  values.set_flag("prices", prices);
  values.set_flag("capital", "1000000");
  values.set_flag("lot", "1");
  return values;
}

// Days on which something else is held than in the run.
Index differing_days(const backtest::BacktestResult& judged, const market::Panel& prices,
                     const std::filesystem::path& folder, double& seconds) {
  Index differing = 0;
  const backtest::Run& run = judged.run;
  const std::string next = folder / "next";
  for (Index p = 0; p < kDays; ++p) {
    const double start = bench::now(bench::Clock::wall);
    settings::Values values = values_of(settings::predict, folder / "prices.csv");
    values.set_flag("asof", prices.dates[at(run.first_row + p)]);
    values.set_flag("out-dir", next);
    if (p > 0) values.set_flag("positions", next + "/positions.csv");
    const command::OrdersAnswer today = command::orders_answer(values, {}, {}, {});
    seconds += bench::now(bench::Clock::wall) - start;
    std::map<std::string, double> held;
    for (Index i = run.weights_begin[at(p)]; i < run.weights_begin[at(p + 1)]; ++i)
      held[judged.tickers[at(run.weights[at(i)].asset)]] = run.shares[at(i)];
    for (const trade::Holding& each : today.positions.holdings) held[each.asset] -= each.amount;
    differing += std::ranges::any_of(held, [](const auto& each) { return each.second != 0.0; });
  }
  return differing;
}

}  // namespace

int main() {
  std::string name = (std::filesystem::temp_directory_path() / "sharpen-orders-XXXXXX").string();
  bench::require(mkdtemp(name.data()) != nullptr, "a folder can be made");
  const std::filesystem::path folder = name;
  const market::Panel prices =
      market::simulate({.assets = 100, .days = kDays + kLookback + 2, .seed = 1});
  market::write_panel(prices, folder / "prices.csv");
  const command::BacktestAnswer judged =
      command::backtest_answer(values_of(settings::backtest, folder / "prices.csv"), {}, {}, {});
  double seconds = 0.0;
  const Index differing = differing_days(judged.result, prices, folder, seconds);
  std::filesystem::remove_all(folder);
  bench::require(differing == 0, "daily orders hold what the backtest holds, to the share");
  fmt::print("{} days of orders for 100 names: {:.1f} s\n", kDays, seconds);
  bench::at_most("orders_chain_250_days_100_names_s", seconds, 60.0);
}
