// Which methods may be called the best of a row: none that is ruined, and only among equal costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sharpen/report/report.hpp"
#include "support/study_results.hpp"

namespace sharpen::report {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::made_results;
using ::testing::StartsWith;
using testing::summary_of;

constexpr Index kMssrm = 5, kDfl = 6;  // PFL mSSRM, DFL of the made study

study::Results one_row() {
  return made_results({.markets = {"M"}, .ks = {"10%"}, .seeds = 1, .own = false});
}

std::vector<study::Cell*> cells_of(study::Results& results, Index method) {
  std::vector<study::Cell*> out;
  for (study::Cell& cell : results.cells)
    if (cell.method == method) out.push_back(&cell);
  return out;
}

// Far above all others.
void make_best(study::Results& results, Index method) {
  for (study::Cell* cell : cells_of(results, method))
    for (double& r : cell->run.returns) r += 0.02;
}

Table sharpe_table(const study::Results& results) {
  return tables(results, summary_of(results)).front();
}

Emphasis emphasis_of(const Table& table, const std::string& method) {
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (table.columns[c].method == method) return table.rows.at(0).cells[c].emphasis;
  throw std::runtime_error("no column of " + method);
}

TEST(Ranking, LeavesOutWhatIsRuined) {
  study::Results results = one_row();
  make_best(results, kDfl);
  const std::string name = results.methods[kDfl].name;
  ASSERT_EQ(summary_of(results).best.at(0).a, kDfl);
  ASSERT_EQ(emphasis_of(sharpe_table(results), name), Emphasis::best);

  backtest::Run& run = cells_of(results, kDfl).front()->run;
  run.returns.back() = -1.0;  // still the highest Sharpe ratio, or close to it
  for (double& r : run.returns)
    if (r > -1.0) r = 0.5 + 0.001 * r;
  const Summary summary = summary_of(results);
  ASSERT_GT(summary.entry(0, kDfl)[Figure::sharpe].mean,
            summary.entry(0, summary.best.at(0).a)[Figure::sharpe].mean);
  EXPECT_NE(summary.best.at(0).a, kDfl);
  EXPECT_NE(summary.best.at(0).b, kDfl);
  EXPECT_TRUE(summary.planned.empty());
  for (const Table& table : tables(results, summary))
    if (table.name == "sharpe" || table.name == "drawdown") {
      EXPECT_EQ(emphasis_of(table, name), Emphasis::none) << table.name;
    }
  const std::vector<std::string> said = findings(results, summary);
  EXPECT_THAT(said, Contains("1 method ended in ruin and is not ranked in the rows where it did "
                             "(‡)."));
  EXPECT_THAT(said, Contains(StartsWith("1 run ended in ruin; its averages")));
  EXPECT_THAT(said.front(), Not(HasSubstr("DFL")));
}

TEST(Ranking, CallsNothingOfOursBetterThatIsRuined) {
  study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}, .seeds = 1});
  const Index own = static_cast<Index>(results.methods.size()) - 1;
  ASSERT_EQ(results.methods.back().role, study::Role::own);
  make_best(results, own);
  ASSERT_EQ(emphasis_of(sharpe_table(results), results.methods.back().name), Emphasis::apart);
  backtest::Run& run = cells_of(results, own).front()->run;
  for (double& r : run.returns) r = 0.5 + 0.001 * r;
  run.returns.back() = -1.0;
  EXPECT_EQ(emphasis_of(sharpe_table(results), results.methods.back().name), Emphasis::none);
}

// Every method at 5 bp, and again at 20 bp with lower returns.
study::Results at_two_costs() {
  study::Results results = one_row();
  const std::size_t methods = results.methods.size(), cells = results.cells.size();
  for (std::size_t m = 0; m < methods; ++m) {
    study::Method dear = results.methods[m];
    dear.name += "-20bp";
    dear.label += ", 20 bp";
    dear.cost_bps = 20.0;
    results.methods.push_back(dear);
  }
  for (std::size_t c = 0; c < cells; ++c) {
    study::Cell cell = results.cells[c];
    cell.method += static_cast<Index>(methods);
    for (double& r : cell.run.returns) r -= 0.0002;
    results.cells.push_back(cell);
  }
  return results;
}

TEST(Ranking, IsAmongEqualCosts) {
  const study::Results one = one_row(), two = at_two_costs();
  const Summary cheap = summary_of(one), both = summary_of(two);
  const Index shift = static_cast<Index>(one.methods.size());
  ASSERT_EQ(cheap.best.size(), 1u);
  ASSERT_EQ(both.best.size(), 2u);
  EXPECT_EQ(both.best[0].a, cheap.best[0].a);
  EXPECT_EQ(both.best[0].b, cheap.best[0].b);
  for (const Comparison& test : both.best) EXPECT_EQ(both.costs[test.a], both.costs[test.b]);
  EXPECT_EQ(both.best[1].a >= shift, true);
  EXPECT_EQ(both.planned.size(), 2 * cheap.planned.size());
  for (const Comparison& test : both.planned) EXPECT_EQ(both.costs[test.a], both.costs[test.b]);
  // Holm counts these and no others.
  const double p[] = {both.best[0].test.p_value, both.best[1].test.p_value};
  EXPECT_DOUBLE_EQ(both.best[0].p_adjusted, holm(p)[0]);
  EXPECT_THAT(findings(two, both), Contains(HasSubstr("of 2 comparisons of equal cost")));
}

TEST(Ranking, HasOneBestForEachCost) {
  const Table table = sharpe_table(at_two_costs());
  Index cheap = 0, dear = 0;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (table.rows.at(0).cells[c].emphasis == Emphasis::best)
      ++(table.columns[c].method.ends_with("-20bp") ? dear : cheap);
  EXPECT_EQ(cheap, 1);
  EXPECT_EQ(dear, 1);
  std::vector<std::string> runners_up;
  for (const Column& column : table.columns)
    if (column.figure.starts_with("runner_up")) runners_up.push_back(column.figure);
  EXPECT_THAT(runners_up, ElementsAre("runner_up_at_5bp", "runner_up_at_20bp"));
  EXPECT_THAT(to_markdown(table), HasSubstr("Bold: the best mean of its row at its cost."));
  EXPECT_THAT(to_markdown(table), HasSubstr("Holm: corrected for the number of tests;"));
  EXPECT_THAT(to_markdown(sharpe_table(one_row())), HasSubstr("Bold: the best mean of its row."));
}

TEST(Ranking, SaysWhichAreTiedAndTestsTheNext) {
  study::Results results = one_row();
  make_best(results, kDfl);
  cells_of(results, kMssrm).front()->run = cells_of(results, kDfl).front()->run;
  const Summary summary = summary_of(results);
  EXPECT_THAT(summary.leaders.at(0).methods, ElementsAre(kMssrm, kDfl));
  EXPECT_EQ(summary.best.at(0).a, kMssrm);
  EXPECT_NE(summary.best.at(0).b, kDfl);
  EXPECT_GT(summary.best.at(0).ranking, 0.0);
  EXPECT_THAT(findings(results, summary),
              Contains("Best mean Sharpe ratio: PFL mSSRM and DFL tied in 1 of 1 row."));
}

TEST(Findings, SayWhereLearningByTheDecisionChangedNothing) {
  study::Results results = one_row();
  results.methods[kDfl].optimizer = results.methods[kMssrm].optimizer;
  EXPECT_THAT(findings(results, summary_of(results)), Not(Contains(HasSubstr("hold the same"))));
  cells_of(results, kMssrm).front()->run = cells_of(results, kDfl).front()->run;
  EXPECT_THAT(findings(results, summary_of(results)),
              Contains(StartsWith("DFL and PFL mSSRM hold the same in k = 2: ")));
}

TEST(Findings, SayOfAFewPairsThatTheyAreAlikeAndCountTheRest) {
  study::Results results = one_row();
  const study::Cell cell = *cells_of(results, kDfl).front();
  results.methods[kDfl].optimizer = results.methods[kMssrm].optimizer;
  cells_of(results, kMssrm).front()->run = cell.run;
  for (int i = 0; i < 9; ++i) {
    results.methods.push_back(results.methods[kDfl]);
    results.methods.back().name += std::to_string(i);
    results.cells.push_back(cell);
    results.cells.back().method = static_cast<Index>(results.methods.size()) - 1;
  }
  const std::vector<std::string> said = findings(results, summary_of(results));
  EXPECT_EQ(std::ranges::count_if(
                said, [](const std::string& s) { return s.find("hold the same") != s.npos; }),
            4);
  EXPECT_THAT(said, Contains("So do 6 other pairs."));
}

// Without costs, and with a break-even of this many basis points on a turnover of 4 a day.
void trade_thinly(study::Results& results, Index method, double break_even_bps) {
  for (study::Cell* cell : cells_of(results, method)) {
    backtest::Run& run = cell->run;
    double mean = 0.0;
    for (const double r : run.returns) mean += r / static_cast<double>(run.returns.size());
    for (double& r : run.returns) r = 0.001 * (r - mean) + 4.0 * break_even_bps / 1e4;
    for (auto* column : {&run.costs, &run.trading_costs}) std::ranges::fill(*column, 0.0);
    std::ranges::fill(run.turnover, 4.0);
  }
}

study::Results without_costs(study::Results results) {
  for (study::Method& method : results.methods) method.cost_bps = 0.0;
  for (study::Cell& cell : results.cells)
    for (auto* column : {&cell.run.costs, &cell.run.trading_costs}) std::ranges::fill(*column, 0.0);
  return results;
}

TEST(Findings, SayWhichCostWouldTakeAllThatTheBestEarns) {
  study::Results results = without_costs(one_row());
  trade_thinly(results, kDfl, 0.7);
  const Summary summary = summary_of(results);
  ASSERT_EQ(summary.leaders.at(0).methods.front(), kDfl);
  EXPECT_NEAR(summary.entry(0, kDfl)[Figure::break_even].mean, 0.7, 1e-9);
  const std::string sentence =
      "DFL trades 1008 times its wealth a year: costs of 0.7 bp of turnover would take all of its "
      "excess return.";
  EXPECT_THAT(findings(results, summary), Contains(sentence));
  // At a cost that it has paid already, with room to spare, or if another is the best: not a word.
  study::Results other = results;
  for (study::Method& method : other.methods) method.cost_bps = 5.0;
  EXPECT_THAT(findings(other, summary_of(other)), Not(Contains(HasSubstr("times its wealth"))));
  other = results;
  trade_thinly(other, kDfl, 6.0);
  EXPECT_THAT(findings(other, summary_of(other)), Not(Contains(HasSubstr("times its wealth"))));
  other = results;
  trade_thinly(other, kMssrm, 40.0);
  EXPECT_THAT(findings(other, summary_of(other)), Not(Contains(HasSubstr("times its wealth"))));
}

TEST(Findings, SayItOfOursAboveTheBestAndOfAFewMethodsOnly) {
  study::Results results =
      without_costs(made_results({.markets = {"M"}, .ks = {"10%", "20%"}, .seeds = 2}));
  const Index own = static_cast<Index>(results.methods.size()) - 1;
  trade_thinly(results, own, 0.02);
  std::vector<std::string> said = findings(results, summary_of(results));
  EXPECT_THAT(said, Contains("DFL swap trades 1008 times its wealth a year at k = 2: costs of less "
                             "than 0.1 bp of turnover would take all of its excess return, and "
                             "less than 5 bp in 1 other row."));
  // Five that are equally good, all of them thin.
  results = without_costs(one_row());
  for (Index m = 0; m < 5; ++m) {
    cells_of(results, m).front()->run = cells_of(results, kDfl).front()->run;
    trade_thinly(results, m, 0.7);
  }
  said = findings(results, summary_of(results));
  EXPECT_EQ(std::ranges::count_if(
                said, [](const std::string& s) { return s.find("times its wealth") != s.npos; }),
            3);
}

TEST(Findings, NameTheFirstWarningOfTheMarketsWhole) {
  study::Results results = one_row();
  std::string words = "a long story";
  for (int i = 0; i < 30; ++i) words += " and more";
  results.markets[0].warnings = {words + "; drop the column", "another"};
  const Summary summary = summary_of(results);
  EXPECT_THAT(
      findings(results, summary),
      Contains("2 warnings about the markets, the first of M: " + words + "; drop the column"));
  for (const Table& table : tables(results, summary))
    if (table.name == "warnings") {
      EXPECT_THAT(to_text(table), HasSubstr("drop the column\n"));
    }
}

}  // namespace
}  // namespace sharpen::report
