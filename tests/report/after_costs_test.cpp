// What a report says after costs: its first sentences, its intervals and its chart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/page_parts.hpp"
#include "sharpen/report/report.hpp"
#include "support/study_results.hpp"

namespace sharpen::report {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::made_results;
using ::testing::Not;
using testing::summary_of;

constexpr Index kLearned = 6;

// DFL and equal weights only, in one row, with daily returns that are given a mean.
study::Results two_methods(double mean_of_dfl, std::vector<std::string> ks = {"10%"}) {
  study::Results results = made_results({.markets = {"M"}, .ks = std::move(ks), .days = 400});
  std::erase_if(results.cells, [](const study::Cell& cell) {
    return cell.method != kLearned && cell.method != 7;
  });
  results.methods = {results.methods[kLearned], results.methods[7]};
  for (study::Cell& cell : results.cells) {
    cell.method = cell.method == kLearned ? 0 : 1;
    backtest::Run& run = cell.run;
    if (cell.method == 1) run.returns = cell.equal_returns;
    double mean = 0.0;
    for (const double r : run.returns) mean += r / static_cast<double>(run.returns.size());
    for (std::size_t t = 0; t < run.returns.size() && cell.method == 0; ++t) {
      run.returns[t] += mean_of_dfl - mean;
      run.gross_returns[t] = run.returns[t] + run.costs[t];
    }
  }
  return results;
}

std::vector<std::string> first(const study::Results& results, std::size_t count) {
  std::vector<std::string> said = findings(results, summary_of(results));
  said.resize(std::min(said.size(), count));
  return said;
}

TEST(AfterCosts, TheFirstSentencesSayWhoIsAboveZeroAndAboveEqualWeights) {
  study::Results results = two_methods(0.01);
  for (study::Cell& cell : results.cells)
    if (cell.method == 1)
      for (double& r : cell.run.returns) r -= 0.01;
  EXPECT_THAT(first(results, 2),
              ElementsAre("After costs of 5 bp, the Sharpe ratio is above zero for DFL (1 of 2 "
                          "methods), with its whole 95 % interval for DFL.",
                          "It is above that of equal weights at the same cost for DFL, with the "
                          "whole 95 % interval of the difference for DFL."));
  // Not told from nothing.
  EXPECT_EQ(
      first(two_methods(1e-6), 1).front(),
      "After costs of 5 bp, the Sharpe ratio is above zero for DFL (1 of 2 methods), with its "
      "whole 95 % interval for none.");
  results = two_methods(-0.01);
  for (study::Cell& cell : results.cells)
    if (cell.method == 1)
      for (double& r : cell.run.returns) r -= 0.01;
  EXPECT_THAT(first(results, 2),
              ElementsAre("After costs of 5 bp, the Sharpe ratio is above zero for no method.",
                          "It is above that of equal weights at the same cost for no method."));
}

TEST(AfterCosts, RowsAreCountedAndOneMethodIsNotCounted) {
  study::Results results = two_methods(0.01, {"10%", "15%", "20%"});
  std::erase_if(results.cells, [](const study::Cell& cell) { return cell.method == 1; });
  results.methods.resize(1);
  EXPECT_THAT(first(results, 2),
              ElementsAre("After costs of 5 bp, the Sharpe ratio is above zero for DFL in 3 of 3 "
                          "rows, with its whole 95 % interval for DFL in 3 of 3 rows.",
                          "It is above that of equal weights at the same cost for DFL in 3 of 3 "
                          "rows, with the whole 95 % interval of the difference for DFL in 3 of 3 "
                          "rows."));
}

TEST(AfterCosts, AStudyWithoutCostsSaysSoAndWhatTheyWouldLeave) {
  study::Results results = two_methods(0.01);
  for (study::Method& method : results.methods) method.cost_bps = 0.0;
  for (study::Cell& cell : results.cells) {
    for (auto* column : {&cell.run.costs, &cell.run.trading_costs}) std::ranges::fill(*column, 0.0);
    // Five basis points of a turnover of 40 are 2 % a day: more than anybody earns.
    std::ranges::fill(cell.run.turnover, 40.0);
  }
  const std::vector<std::string> said = first(results, 4);
  EXPECT_EQ(said[0],
            "Trading costs nothing in this study: its Sharpe ratios are before costs of trading.");
  EXPECT_THAT(said[1], HasSubstr("Without costs of trading, the Sharpe ratio is above zero for "));
  EXPECT_THAT(said[2], HasSubstr("It is above that of equal weights at the same cost for DFL"));
  EXPECT_EQ(said[3], "At 5 bp, with the same trades, it would be above zero for no method.");
}

TEST(AfterCosts, SaysWhoNeverTraded) {
  study::Results results = two_methods(0.01);
  EXPECT_THAT(findings(results, summary_of(results)), Not(Contains(HasSubstr("Nothing was"))));
  for (study::Cell& cell : results.cells) {
    if (cell.method != 0) continue;
    backtest::Run& run = cell.run;
    for (auto* column : {&run.returns, &run.gross_returns, &run.costs, &run.trading_costs,
                         &run.turnover, &run.gross, &run.net, &run.holdings, &run.largest})
      std::ranges::fill(*column, 0.0);
    cell.metrics = backtest::metrics(cell.track(results.markets[0].periods_per_year));
  }
  const std::vector<std::string> said = findings(results, summary_of(results));
  EXPECT_THAT(said, Contains("Nothing was traded by DFL: there is no Sharpe ratio to speak of."));
  EXPECT_THAT(said, Not(Contains(HasSubstr("above zero for DFL"))));
}

TEST(AfterCosts, NothingIsSaidOfRuinAndOfWhatWasNotKept) {
  study::Results results = two_methods(0.01);
  for (study::Cell& cell : results.cells) {
    cell.equal_returns.clear();
    cell.delayed_returns.clear();
  }
  EXPECT_THAT(findings(results, summary_of(results)),
              Not(Contains(HasSubstr("that of equal weights"))));
  for (study::Cell& cell : results.cells) cell.run.returns[3] = -1.5;
  const Summary summary = summary_of(results);
  EXPECT_THAT(findings(results, summary), Not(Contains(HasSubstr("above zero"))));
  for (const Entry& entry : summary.entries) {
    EXPECT_TRUE(std::isnan(entry.interval.low));
    EXPECT_TRUE(entry.after_costs.cost_curve.empty());
  }
}

TEST(AfterCosts, EveryCostHasItsSentences) {
  study::Results results = two_methods(0.01);
  results.methods[1].cost_bps = 20.0;
  const std::vector<std::string> said = findings(results, summary_of(results));
  EXPECT_THAT(said, Contains(HasSubstr("After costs of 5 bp, the Sharpe ratio is above zero for")));
  EXPECT_THAT(said,
              Contains("After costs of 20 bp, the Sharpe ratio is above zero for no method."));
}

double sharpe(const std::vector<double>& x, double days_a_year) {
  double mean = 0.0, squares = 0.0;
  for (const double value : x) mean += value / static_cast<double>(x.size());
  for (const double value : x) squares += (value - mean) * (value - mean);
  return mean / std::sqrt(squares / static_cast<double>(x.size() - 1)) * std::sqrt(days_a_year);
}

// The chart of a method: its seeds' days averaged, less what their trades would have cost.
TEST(AfterCosts, TheChartFollowsFromTheDailyRows) {
  const study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}});
  const Summary summary = summary_of(results);
  const auto data = nlohmann::json::parse(page_data(results, summary));
  ASSERT_EQ(data["curves"].size(), summary.entries.size());
  ASSERT_EQ(data["costLevels"].size(), 11u);
  for (const auto& curve : data["curves"]) {
    const Entry& entry = summary.entry(curve["group"], curve["method"]);
    EXPECT_EQ(curve["cost"], 5.0);
    for (std::size_t i = 0; i < 11; ++i) {
      const double bps = data["costLevels"][i];
      EXPECT_EQ(bps, 5.0 * static_cast<double>(i));
      std::vector<double> left(120, 0.0);
      for (const Index c : entry.cells) {
        const backtest::Run& run = results.cells[static_cast<std::size_t>(c)].run;
        for (std::size_t t = 0; t < left.size(); ++t)
          left[t] += (run.gross_returns[t] - bps / 1e4 * run.turnover[t]) /
                     static_cast<double>(entry.cells.size());
      }
      const double expected = sharpe(left, 252.0);
      EXPECT_NEAR(curve["sharpe"][i].get<double>(), expected, 1e-5);
      EXPECT_LT(curve["low"][i].get<double>(), expected);
      EXPECT_GT(curve["high"][i].get<double>(), expected);
    }
  }
}

TEST(AfterCosts, AlphaAndBetaAreThoseOfTheAveragedDays) {
  const study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}});
  const Summary summary = summary_of(results);
  const Entry& entry = summary.entry(0, kLearned);
  double e = 0.0, b = 0.0, eb = 0.0, bb = 0.0;
  const auto n = static_cast<double>(entry.excess.size());
  for (std::size_t t = 0; t < entry.excess.size(); ++t) {
    e += entry.excess[t] / n;
    b += entry.equal[t] / n;
  }
  for (std::size_t t = 0; t < entry.excess.size(); ++t) {
    eb += (entry.excess[t] - e) * (entry.equal[t] - b);
    bb += (entry.equal[t] - b) * (entry.equal[t] - b);
  }
  for (const Table& table : tables(results, summary)) {
    if (table.name != "equal") continue;
    const auto row = std::ranges::find(table.rows, "dfl", &Row::method);
    ASSERT_NE(row, table.rows.end());
    const auto value = [&](std::string_view figure) {
      const auto column = std::ranges::find(table.columns, figure, &Column::figure);
      return row->cells.at(static_cast<std::size_t>(column - table.columns.begin())).value;
    };
    EXPECT_NEAR(value("beta"), eb / bb, 1e-9);
    EXPECT_NEAR(value("alpha_annualized"), 252.0 * (e - eb / bb * b), 1e-9);
    EXPECT_LT(value("alpha_low_annualized"), value("alpha_annualized"));
    EXPECT_GT(value("alpha_high_annualized"), value("alpha_annualized"));
    EXPECT_LT(value("beta_low"), value("beta"));
    EXPECT_GT(value("beta_high"), value("beta"));
    EXPECT_NEAR(value("difference_annualized"),
                value("sharpe_annualized") - value("equal_sharpe_annualized"), 1e-9);
    return;
  }
  FAIL() << "there is no table of equal weights";
}

}  // namespace
}  // namespace sharpen::report
