// What the cells of a study come to: recomputed here by other means.
#include "sharpen/report/summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "sharpen/base/error.hpp"
#include "sharpen/report/report.hpp"
#include "support/problems.hpp"
#include "support/study_results.hpp"

namespace sharpen::report {
namespace {

using sharpen::testing::kNaN;
using study::CellState;
using testing::made_results;

Summary summarized(const study::Results& results, Index replications = 200) {
  return summarize(results, {.replications = replications}, Threads(1));
}

// The annualised Sharpe ratio of a run, in two plain passes.
double sharpe_of(const std::vector<double>& returns, double risk_free) {
  double mean = 0.0, squares = 0.0;
  for (const double r : returns) mean += (r - risk_free) / static_cast<double>(returns.size());
  for (const double r : returns) squares += (r - risk_free - mean) * (r - risk_free - mean);
  return mean / std::sqrt(squares / static_cast<double>(returns.size() - 1)) * std::sqrt(252.0);
}

TEST(Estimates, AreMeanAndDeviationOfWhatIsThere) {
  const MeanAndSd three = mean_and_sd(std::vector<double>{1.0, 2.0, 6.0});
  EXPECT_DOUBLE_EQ(three.mean, 3.0);
  EXPECT_DOUBLE_EQ(three.sd, std::sqrt((4.0 + 1.0 + 9.0) / 2.0));
  EXPECT_EQ(three.n, 3);
  const MeanAndSd holes =
      mean_and_sd(std::vector<double>{kNaN, 4.0, std::numeric_limits<double>::infinity()});
  EXPECT_EQ(holes.mean, 4.0);
  EXPECT_TRUE(std::isnan(holes.sd));
  EXPECT_EQ(holes.n, 1);
  EXPECT_TRUE(std::isnan(mean_and_sd({}).mean));
}

TEST(Holm, StepsDown) {
  const std::vector<double> adjusted = holm(std::vector<double>{0.01, 0.04, 0.03, kNaN, 0.005});
  ASSERT_EQ(adjusted.size(), 5u);
  EXPECT_DOUBLE_EQ(adjusted[4], 0.02);
  EXPECT_DOUBLE_EQ(adjusted[0], 0.03);
  EXPECT_DOUBLE_EQ(adjusted[2], 0.06);
  EXPECT_DOUBLE_EQ(adjusted[1], 0.06);  // 0.04 is raised to what comes before it
  EXPECT_TRUE(std::isnan(adjusted[3]));
  EXPECT_DOUBLE_EQ(holm(std::vector<double>{0.9, 0.8})[0], 1.0);
}

TEST(Summary, EveryFigureIsRecomputedFromTheDailyReturns) {
  study::Results results = made_results();
  // What the store says beside the returns is not believed.
  for (study::Cell& cell : results.cells) cell.metrics = {};
  const Summary summary = summarized(results);
  for (std::size_t g = 0; g < summary.groups.size(); ++g)
    for (Index m = 0; m < summary.methods; ++m) {
      const Entry& entry = summary.entry(static_cast<Index>(g), m);
      double sharpe = 0.0, wealth = 0.0, drawdown = 0.0;
      for (const Index c : entry.cells) {
        const backtest::Run& run = results.cells[static_cast<std::size_t>(c)].run;
        sharpe += sharpe_of(run.returns, 0.0);
        double w = 1.0, high = 1.0, deepest = 0.0;
        for (const double r : run.returns) {
          w *= 1.0 + r;
          high = std::max(high, w);
          deepest = std::max(deepest, 1.0 - w / high);
        }
        wealth += w;
        drawdown += deepest;
      }
      const double n = static_cast<double>(entry.planned());
      EXPECT_NEAR(entry[Figure::sharpe].mean, sharpe / n, 1e-10);
      EXPECT_NEAR(entry[Figure::final_wealth].mean, wealth / n, 1e-10);
      EXPECT_NEAR(entry[Figure::max_drawdown].mean, drawdown / n, 1e-10);
      EXPECT_NEAR(entry[Figure::cost_annualized].mean, 252.0 * 0.0002, 1e-12);
      EXPECT_EQ(entry[Figure::sharpe].n, entry.planned());
    }
}

TEST(Summary, DeviationIsOverSeeds) {
  const study::Results results = made_results();
  const Summary summary = summarized(results);
  const Entry& dfl = summary.entry(0, 6);
  ASSERT_EQ(dfl.cells.size(), 3u);
  double mean = 0.0, squares = 0.0;
  std::vector<double> values;
  for (const Index c : dfl.cells)
    values.push_back(sharpe_of(results.cells[static_cast<std::size_t>(c)].run.returns, 0.0));
  for (const double x : values) mean += x / 3.0;
  for (const double x : values) squares += (x - mean) * (x - mean);
  EXPECT_NEAR(dfl[Figure::sharpe].sd, std::sqrt(squares / 2.0), 1e-10);
  EXPECT_TRUE(std::isnan(summary.entry(0, 0)[Figure::sharpe].sd)) << "one run has no spread";
}

TEST(Summary, SubtractsTheRiskFreeRateAndStartsWhereStatisticsDo) {
  study::Results results = made_results();
  study::Cell& cell = results.cells.front();
  cell.run.risk_free = 0.0001;
  cell.run.stats_from = 20;
  const Summary summary = summarized(results);
  const std::vector<double> counted(cell.run.returns.begin() + 20, cell.run.returns.end());
  EXPECT_NEAR(summary.of_cells[0][0], sharpe_of(counted, 0.0001), 1e-10);
  EXPECT_EQ(summary.entry(0, 0).excess.size(), counted.size());
}

TEST(Summary, ComparesBestAndRunnerUpOnSeedAverages) {
  const study::Results results = made_results();
  const Summary summary = summarized(results, 500);
  ASSERT_EQ(summary.best.size(), summary.groups.size());
  for (const Comparison& test : summary.best) {
    std::vector<double> sorted;
    for (Index m = 0; m < 7; ++m)
      sorted.push_back(summary.entry(test.group, m)[Figure::sharpe].mean);
    EXPECT_EQ(summary.entry(test.group, test.a)[Figure::sharpe].mean,
              *std::max_element(sorted.begin(), sorted.end()));
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(summary.entry(test.group, test.b)[Figure::sharpe].mean, sorted[5]);
    std::vector<double> a(120, 0.0), b(120, 0.0);
    for (const auto& [out, method] : {std::pair{&a, test.a}, std::pair{&b, test.b}}) {
      const Entry& entry = summary.entry(test.group, method);
      for (const Index c : entry.cells)
        for (std::size_t t = 0; t < 120; ++t)
          (*out)[t] += results.cells[static_cast<std::size_t>(c)].run.returns[t] /
                       static_cast<double>(entry.done);
    }
    const auto again = backtest::sharpe_difference(a, b, {.replications = 500}, Threads(1));
    EXPECT_NEAR(test.test.difference, again.difference, 1e-12);
    EXPECT_NEAR(test.test.p_value, again.p_value, 0.0101) << "rounding may move a resample or five";
    EXPECT_GE(test.p_adjusted, test.test.p_value);
  }
}

TEST(Comparisons, AreClearOnlyInTheOrderOfTheMeans) {
  const auto compared = [](double ranking, double difference, double p) {
    Comparison out;
    out.ranking = ranking;
    out.test.difference = difference;
    out.p_adjusted = p;
    return out;
  };
  EXPECT_TRUE(compared(0.5, 0.1, 0.01).is_clear());
  EXPECT_TRUE(compared(-0.5, -0.1, 0.01).is_clear());
  EXPECT_FALSE(compared(0.5, 0.1, 0.05).is_clear());
  EXPECT_FALSE(compared(0.5, 0.1, 0.01).is_clear(0.001));
  for (const Comparison& other : {compared(0.5, -0.1, 0.001), compared(-0.5, 0.1, 0.001),
                                  compared(0.0, 0.1, 0.001), compared(0.0, -0.1, 0.001)}) {
    EXPECT_FALSE(other.is_clear()) << other.ranking;
    EXPECT_TRUE(other.contrary()) << other.ranking;
  }
  for (const Comparison& neither :
       {compared(0.5, 0.0, 1.0), compared(0.0, 0.0, 1.0), compared(0.5, kNaN, kNaN)}) {
    EXPECT_FALSE(neither.is_clear());
    EXPECT_FALSE(neither.contrary());
  }
}

TEST(Summary, RanksByTheMeansOfTheRuns) {
  const Summary summary = summarized(made_results());
  for (const std::vector<Comparison>* family : {&summary.best, &summary.planned})
    for (const Comparison& test : *family)
      EXPECT_EQ(test.ranking, summary.entry(test.group, test.a)[Figure::sharpe].mean -
                                  summary.entry(test.group, test.b)[Figure::sharpe].mean);
  for (const Comparison& test : summary.best) EXPECT_GE(test.ranking, 0.0);
}

TEST(Summary, PlansDflAgainstEveryPfl) {
  const Summary summary = summarized(made_results());
  EXPECT_EQ(summary.planned.size(), 3 * summary.groups.size());
  for (const Comparison& test : summary.planned) {
    EXPECT_EQ(test.a, 6);
    EXPECT_THAT((std::set<Index>{3, 4, 5}), ::testing::Contains(test.b));
  }
}

// A study file of one's own methods names none as the paper's.
TEST(Summary, PlansDflAgainstEveryPflOfAStudyWithoutThePapersMethods) {
  study::Results results = made_results({.own = false, .sweep = true});
  for (study::Method& method : results.methods)
    if (method.role == study::Role::paper) method.role = study::Role::own;
  const Summary summary = summarized(results);
  EXPECT_EQ(summary.planned.size(), 3 * summary.groups.size());
  for (const Comparison& test : summary.planned) EXPECT_EQ(test.a, 6);
}

// A row and a method for every cell: a file of little size can say that.
TEST(Summary, HoldsNothingOfMethodsThatHaveNoCellInARow) {
  study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}, .own = false});
  results.cells.resize(1);
  const study::Cell cell = results.cells.front();
  const study::Method method = results.methods.front();
  results.cells.clear();
  results.methods.clear();
  for (Index i = 0; i < 200; ++i) {
    results.methods.push_back(method);
    results.methods.back().name += std::to_string(i);
    results.cells.push_back(cell);
    results.cells.back().method = i;
    results.cells.back().k_given = std::to_string(199 - i);
  }
  const Summary summary = summarized(results);
  EXPECT_EQ(summary.groups.size(), 200u);
  EXPECT_EQ(summary.entries.size(), 200u);
  for (Index g = 0; g < 200; ++g)
    for (Index m = 0; m < 200; ++m) {
      EXPECT_EQ(summary.entry(g, m).planned(), g == m ? 1 : 0);
      EXPECT_EQ(summary.entry(g, m)[Figure::sharpe].n, g == m ? 1 : 0);
    }
}

TEST(Summary, LeavesOutPlannedPairsBeyondCounting) {
  study::Results results = made_results(
      {.markets = {"M"}, .ks = {"10%"}, .days = 5, .seeds = 1, .own = false});  // too few to test
  const study::Cell cell = results.cells.front();
  study::Method pfl = results.methods[3], dfl = results.methods[6];
  ASSERT_EQ(pfl.framework, "pfl");
  ASSERT_EQ(dfl.framework, "dfl");
  results.methods.clear();
  results.cells.clear();
  const auto add = [&](const study::Method& method) {
    results.methods.push_back(method);
    results.methods.back().name += std::to_string(results.methods.size());
    results.cells.push_back(cell);
    results.cells.back().method = static_cast<Index>(results.methods.size()) - 1;
  };
  for (int i = 0; i < 50; ++i) add(pfl);
  for (int i = 0; i < 40; ++i) add(dfl);
  EXPECT_EQ(summarized(results).planned.size(), 2'000u);
  EXPECT_EQ(summarized(results).pairs_left_out, 0u);
  add(dfl);
  const Summary summary = summarized(results);
  EXPECT_TRUE(summary.planned.empty());
  EXPECT_EQ(summary.pairs_left_out, 2'050u);
  EXPECT_THAT(findings(results, summary),
              ::testing::Contains(::testing::StartsWith(
                  "2050 pairs of decision-focused with prediction-focused methods are more than "
                  "the 2000 that are tested")));
}

TEST(Summary, HasTheSameBitsForAnyNumberOfThreads) {
  const study::Results results = made_results();
  const Summary one = summarize(results, {.replications = 300}, Threads(1));
  const Summary four = summarize(results, {.replications = 300}, Threads(4));
  for (std::size_t i = 0; i < one.best.size(); ++i) {
    EXPECT_EQ(one.best[i].test.p_value, four.best[i].test.p_value);
    EXPECT_EQ(one.best[i].test.low, four.best[i].test.low);
  }
}

TEST(Summary, CountsWhatIsMissingAndFailed) {
  study::Results results = made_results();
  std::vector<Index> of_dfl = summarized(results).entry(0, 6).cells;
  study::Cell& failed = results.cells[static_cast<std::size_t>(of_dfl[0])];
  failed.state = CellState::failed;
  failed.run = {};
  study::Cell& missing = results.cells[static_cast<std::size_t>(of_dfl[1])];
  missing.state = CellState::missing;
  missing.run = {};
  const Entry entry = summarized(results).entry(0, 6);
  EXPECT_EQ(entry.done, 1);
  EXPECT_EQ(entry.failed, 1);
  EXPECT_EQ(entry.missing, 1);
  EXPECT_EQ(entry[Figure::sharpe].n, 1);
  EXPECT_EQ(entry.planned(), 3);
}

TEST(Summary, ShortensAveragesToTheDaysThatAllSeedsHave) {
  study::Results results = made_results();
  const std::vector<Index> of_dfl = summarized(results).entry(0, 6).cells;
  backtest::Run& run = results.cells[static_cast<std::size_t>(of_dfl[1])].run;
  // Ruin on day 50: the run ends.
  const auto cut = [](auto& column) { column.resize(50); };
  cut(run.dates), cut(run.returns), cut(run.gross_returns), cut(run.costs), cut(run.turnover);
  cut(run.net), cut(run.gross), cut(run.holdings), cut(run.effective_names), cut(run.largest);
  cut(run.status), cut(run.trading_costs), cut(run.short_fees), cut(run.financing);
  study::Cell& cell = results.cells[static_cast<std::size_t>(of_dfl[1])];
  cut(cell.delayed_returns), cut(cell.equal_returns);
  run.weights_begin.resize(51);
  run.weights.resize(static_cast<std::size_t>(run.weights_begin.back()));
  run.returns.back() = -1.2;
  run.status.back() = backtest::PeriodStatus::ruin;
  const Summary summary = summarized(results);
  EXPECT_EQ(summary.entry(0, 6).ruined, 1);
  EXPECT_EQ(summary.entry(0, 6).excess.size(), 50u);
  EXPECT_EQ(summary.of_cells[static_cast<std::size_t>(of_dfl[1])]
                            [static_cast<std::size_t>(Figure::max_drawdown)],
            1.0);
}

TEST(Summary, RefusesResultsThatDoNotFit) {
  study::Results results = made_results();
  results.cells[3].market = 99;
  EXPECT_THROW(summarized(results), InputError);
  results = made_results();
  results.cells[3].run.stats_from = 1000;
  EXPECT_THROW(summarized(results), InputError);
  results = made_results();
  results.cells[3].run.turnover.pop_back();
  EXPECT_THROW(summarized(results), InputError);
}

TEST(Summary, OfNothingIsNothing) {
  const Summary summary = summarized({});
  EXPECT_TRUE(summary.groups.empty());
  EXPECT_TRUE(summary.best.empty());
}

}  // namespace
}  // namespace sharpen::report
