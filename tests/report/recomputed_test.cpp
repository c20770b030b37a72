// Every figure of the tables of risk and trading, recomputed from the daily rows of a store by the
// plainest means there are. Regret and seconds are recorded: no daily row knows them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "sharpen/report/report.hpp"
#include "sharpen/study/store.hpp"
#include "support/files.hpp"
#include "support/problems.hpp"
#include "support/study_results.hpp"

namespace sharpen::report {
namespace {

using sharpen::testing::kNaN;
using Figures = std::map<std::string, double>;

double mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
  double squares = 0.0;
  for (const double x : values) squares += (x - mean(values)) * (x - mean(values));
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double deepest(const std::vector<double>& returns) {
  double wealth = 1.0, high = 1.0, out = 0.0;
  for (const double r : returns) {
    wealth *= 1.0 + r;
    high = std::max(high, wealth);
    out = std::max(out, 1.0 - wealth / high);
  }
  return out;
}

double growth(const std::vector<double>& returns) {
  double wealth = 1.0;
  for (const double r : returns) wealth *= 1.0 + r;
  return wealth;
}

// Of one run, from its columns alone.
Figures recomputed(const study::Cell& cell, double days_a_year) {
  const backtest::Run& run = cell.run;
  const auto counted = [&](const std::vector<double>& column) {
    return std::vector<double>(column.begin() + run.stats_from, column.end());
  };
  const std::vector<double> r = counted(run.returns), costs = counted(run.costs);
  const double days = static_cast<double>(r.size()), root = std::sqrt(days_a_year);
  std::vector<double> excess, losses;
  for (const double x : r) {
    excess.push_back(x - run.risk_free);
    losses.push_back(std::min(x - run.risk_free, 0.0) * std::min(x - run.risk_free, 0.0));
  }
  std::vector<double> traded;
  for (const double u : counted(run.turnover))
    if (!std::isnan(u)) traded.push_back(u);
  const double turnover = mean(traded) * static_cast<double>(traded.size()) / days;  // a day
  Figures out;
  out["sharpe_annualized"] = mean(excess) / deviation(excess) * root;
  out["return_annualized"] = std::pow(growth(r), days_a_year / days) - 1.0;
  out["volatility_annualized"] = deviation(r) * root;
  out["sortino_annualized"] = mean(excess) / std::sqrt(mean(losses)) * root;
  out["max_drawdown"] = deepest(r);
  out["calmar"] = out["return_annualized"] / out["max_drawdown"];
  out["final_wealth"] = growth(run.returns);
  out["hit_rate"] =
      static_cast<double>(std::ranges::count_if(r, [](double x) { return x > 0; })) / days;
  out["worst_return"] = *std::ranges::min_element(r);
  out["turnover"] = mean(traded);
  out["turnover_annualized"] = turnover * days_a_year;
  out["cost_annualized"] = mean(costs) * days_a_year;
  out["trading_cost_annualized"] = mean(counted(run.trading_costs)) * days_a_year;
  out["short_fee_annualized"] = mean(counted(run.short_fees)) * days_a_year;
  out["financing_annualized"] = mean(counted(run.financing)) * days_a_year;
  out["break_even_bps"] =
      turnover > 0.0 ? 1e4 * (mean(excess) + mean(counted(run.trading_costs))) / turnover : kNaN;
  const auto sharpe_of = [&](std::vector<double> x) {
    for (double& value : x) value -= run.risk_free;
    return mean(x) / deviation(x) * root;
  };
  out["sharpe_gross_annualized"] = sharpe_of(counted(run.gross_returns));
  out["sharpe_delayed_annualized"] = sharpe_of(counted(cell.delayed_returns));
  for (const double bps : {0.0, 5.0, 10.0, 20.0, 50.0}) {
    std::vector<double> left = r;
    for (std::size_t t = 0; t < left.size(); ++t) {
      const std::size_t day = t + static_cast<std::size_t>(run.stats_from);
      const double u = run.turnover[day];
      left[t] += run.trading_costs[day] - bps / 1e4 * (std::isnan(u) ? 0.0 : u);
    }
    out["sharpe_at_" + std::to_string(static_cast<int>(bps)) + "bp_annualized"] = sharpe_of(left);
  }
  // Exposure, from the weights themselves.
  std::map<std::string, std::vector<double>> held;
  for (Index p = run.stats_from; p < run.periods(); ++p) {
    double gross = 0.0, net = 0.0, names = 0.0, squares = 0.0, largest = 0.0;
    for (const auto& position : run.weights_of(p)) {
      gross += std::abs(position.weight);
      net += position.weight;
      names += position.weight != 0.0 ? 1.0 : 0.0;
      squares += position.weight * position.weight;
      largest = std::max(largest, std::abs(position.weight));
    }
    held["mean_gross"].push_back(gross);
    held["mean_net"].push_back(net);
    held["mean_cardinality"].push_back(names);
    held["mean_effective_names"].push_back(gross * gross / squares);
    held["mean_largest_weight"].push_back(largest);
  }
  for (const auto& [name, values] : held) out[name] = mean(values);
  out["mean_holding_period"] = 2.0 * out["mean_gross"] / turnover;
  return out;
}

// Runs that trade on some days only, at a cost, with a risk-free rate and days that do not count.
study::Results made() {
  study::Results results =
      testing::made_results({.markets = {"M"}, .ks = {"10%", "15%"}, .seeds = 2});
  Random random(3, 0);
  for (study::Market& market : results.markets) {
    market.risk_free = 0.00005;
    market.periods_per_year = 250.0;
  }
  for (study::Cell& cell : results.cells) {
    backtest::Run& run = cell.run;
    run.risk_free = 0.00005;
    run.stats_from = 17;
    for (std::size_t t = 0; t < run.returns.size(); ++t) {
      const bool trades = t % 3 == 0;
      run.turnover[t] = trades ? 2.0 * random.uniform() : kNaN;
      run.trading_costs[t] = trades ? run.turnover[t] * 5.0 / 1e4 : 0.0;
      run.short_fees[t] = 1e-5 * random.uniform();
      run.financing[t] = 2e-5 * random.uniform();
      run.costs[t] = run.trading_costs[t] + run.short_fees[t] + run.financing[t];
      run.returns[t] = run.gross_returns[t] - run.costs[t];
    }
    // What is written beside the daily rows is not what a report shows.
    cell.metrics = backtest::metrics(cell.track(250.0));
  }
  return results;
}

study::Results written_and_read(const study::Results& found) {
  study::Results plan = found;
  for (study::Cell& cell : plan.cells) {
    cell.state = study::CellState::missing;
    cell.run = {};
    cell.delayed_returns.clear();
    cell.equal_returns.clear();
    cell.metrics = {};
    cell.regret.reset();
  }
  const testing::Folder folder;
  {
    study::Store store(folder.path("study.db"), plan);
    for (std::size_t c = 0; c < found.cells.size(); ++c)
      store.write_done(static_cast<Index>(c), found.cells[c]);
  }
  return study::read_store(folder.path("study.db"));
}

TEST(Tables, HaveFiguresThatFollowFromTheDailyRowsOfTheStore) {
  const study::Results results = written_and_read(made());
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::vector<Figures>>> runs;
  for (const study::Cell& cell : results.cells) {
    const study::Market& market = results.markets[static_cast<std::size_t>(cell.market)];
    ASSERT_EQ(cell.run.stats_from, 17);
    runs[{market.name, cell.k_given}][results.methods[static_cast<std::size_t>(cell.method)].name]
        .push_back(recomputed(cell, market.periods_per_year));
  }
  std::map<std::string, Index> checked;
  for (const Table& table : tables(results, summarize(results, {.replications = 50}, Threads(1))))
    for (const Row& row : table.rows)
      for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const Column& column = table.columns[c];
        const TableCell& cell = row.cells[c];
        const std::string& method = column.method.empty() ? row.method : column.method;
        const std::string& figure = row.figure.empty() ? column.figure : row.figure;
        if (cell.kind != TableCell::Kind::estimate || figure.starts_with("regret")) continue;
        std::vector<double> values;
        for (const Figures& figures : runs.at({row.market, row.k_given}).at(method))
          values.push_back(figures.at(figure));
        EXPECT_NEAR(cell.value, mean(values), 1e-9 * (1.0 + std::abs(mean(values))))
            << table.name << " " << method << " " << figure;
        if (values.size() > 1) {
          EXPECT_NEAR(cell.sd, deviation(values), 1e-9 * (1.0 + deviation(values)))
              << table.name << " " << method << " " << figure;
        }
        EXPECT_EQ(cell.runs, static_cast<Index>(values.size()));
        ++checked[figure];
      }
  EXPECT_EQ(checked.size(), 29u) << "all but regret, relative regret and seconds";
  for (const auto& [figure, count] : checked) EXPECT_GE(count, 18) << figure;
}

TEST(BreakEven, IsTheCostThatWouldLeaveNothing) {
  study::Results results = made();
  const std::vector<Figures> figures = [&] {
    std::vector<Figures> out;
    for (const study::Cell& cell : results.cells) out.push_back(recomputed(cell, 250.0));
    return out;
  }();
  // Charged that much for the same trades, every run has a mean excess return of zero.
  for (std::size_t c = 0; c < results.cells.size(); ++c) {
    backtest::Run& run = results.cells[c].run;
    const double price = figures[c].at("break_even_bps") / 1e4;
    for (std::size_t t = 0; t < run.returns.size(); ++t)
      run.returns[t] = run.gross_returns[t] - run.short_fees[t] - run.financing[t] -
                       (std::isnan(run.turnover[t]) ? 0.0 : run.turnover[t] * price);
  }
  const Summary summary = summarize(results, {.replications = 50}, Threads(1));
  for (const auto& of_cell : summary.of_cells)
    EXPECT_NEAR(of_cell[static_cast<std::size_t>(Figure::sharpe)], 0.0, 1e-9);
}

TEST(BreakEven, DoesNotExistWithoutTradesAndMayBeNegative) {
  study::Results results = made();
  const auto break_even = [&](std::size_t cell) {
    return summarize(results, {.replications = 50}, Threads(1))
        .of_cells[cell][static_cast<std::size_t>(Figure::break_even)];
  };
  std::ranges::fill(results.cells[0].run.turnover, 0.0);
  std::ranges::fill(results.cells[1].run.turnover, kNaN);
  std::ranges::fill(results.cells[2].run.returns, -0.001);
  EXPECT_TRUE(std::isnan(break_even(0)));
  EXPECT_TRUE(std::isnan(break_even(1)));
  EXPECT_LT(break_even(2), 0.0);
  const std::vector<Table> all =
      tables(results, summarize(results, {.replications = 50}, Threads(1)));
  const Table& trading = *std::ranges::find(all, "costs", &Table::name);
  const auto column = std::ranges::find(trading.columns, "break_even_bps", &Column::figure);
  ASSERT_NE(column, trading.columns.end());
  EXPECT_EQ(column->head, "break-even bp");
  const std::size_t place = static_cast<std::size_t>(column - trading.columns.begin());
  EXPECT_EQ(plain_text(trading.rows[0].cells[place]), "–");
  EXPECT_TRUE(plain_text(trading.rows[2].cells[place]).starts_with("-"));
}

}  // namespace
}  // namespace sharpen::report
