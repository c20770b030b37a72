// What the cells of a study come to (docs/report.md).
//
// A row of a table is one market and one k. In it every method has its runs, one per seed, and a
// figure of theirs is shown as mean and standard deviation (divisor n - 1) over the runs that have
// it. Every figure is computed here from the daily columns of the runs, regret and seconds apart,
// which are as the study recorded them; none is taken from its metrics.
//
// Over the days that count, with e the excess return net of costs, c the cost of trading and u the
// turnover of a day, the break-even is what a unit of turnover may cost until nothing is left of
// the mean excess return, in basis points: 10^4 (mean e + mean c) / mean u. At another cost b of
// trading the same trades earn e + c - b u.
//
// Two methods are compared on the days both have, by their daily excess returns averaged over the
// runs: the returns of putting equal parts into every seed. Ledoit and Wolf's paired test asks
// whether the Sharpe ratios of those two series differ (sharpen/backtest/statistics.hpp). With m
// tests in a family, the i-th smallest p becomes max_(j <= i) min(1, (m - j + 1) p_j) (Holm 1979).
//
// Tables rank methods by the mean of their runs' Sharpe ratios, which is not the Sharpe ratio of
// the averaged returns: the test may find the lower of two means the better one. It speaks for a
// ranking only where its difference has the same sign. Ranked and tested are methods that trade at
// the same cost, and none with a run that ended in ruin.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/backtest/after_costs.hpp"
#include "sharpen/backtest/statistics.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/study/results.hpp"

namespace sharpen::report {

enum class Figure : std::size_t {
  sharpe,
  sharpe_gross,
  sharpe_delayed,
  equal_sharpe,
  annual_return,
  volatility,
  sortino,
  calmar,
  final_wealth,
  max_drawdown,
  hit_rate,
  worst_return,
  turnover,
  turnover_annualized,
  holding_period,
  trading_cost,
  short_fee,
  financing,
  cost_annualized,
  break_even,
  gross,
  net,
  names,
  effective_names,
  largest_weight,
  sharpe_at_0bp,  // with the trades as they are, if trading cost so much
  sharpe_at_5bp,
  sharpe_at_10bp,
  sharpe_at_20bp,
  sharpe_at_50bp,
  regret,
  regret_relative,
  proved,  // share of the decisions of exact
  seconds,
};
constexpr std::size_t kFigures = 34;

struct FigureInfo {
  std::string_view name;  // "sharpe_annualized", as metrics.json has it
  std::string_view head;  // of a column
  int digits = 3;
  int better = 0;  // 1: more is better, -1: less is, 0: neither
};

const FigureInfo& info(Figure figure);

// Of the finite ones among the values.
struct MeanAndSd {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double sd = std::numeric_limits<double>::quiet_NaN();  // needs two
  Index n = 0;
};

MeanAndSd mean_and_sd(ConstVec values);

// A market and a k, in the order of the study's cells.
struct Group {
  Index market = 0;
  std::string k_given;
  Index k = 0;
};

// A method in a group.
struct Entry {
  Index group = 0, method = 0;
  std::vector<Index> cells;  // of the study, by seed
  Index done = 0, failed = 0, missing = 0;
  Index ruined = 0;  // of done
  std::array<MeanAndSd, kFigures> figures = {};
  // Daily excess returns averaged over the done cells, on the days that all of them have and that
  // count for the statistics; and what these paid and traded, and equal weights earned above the
  // risk-free rate, averaged likewise. The last is empty where a cell does not have it.
  std::vector<std::string> dates;
  std::vector<double> excess, trading_costs, turnover, equal;
  // How far that can be trusted, per day: the Sharpe ratio of `excess`, the same less that of equal
  // weights, alpha and beta against them, and the Sharpe ratio at other costs. Not computed where a
  // run ended in ruin, and of fewer than ten days.
  backtest::SharpeInterval interval;
  backtest::AfterCosts after_costs;

  Index planned() const { return static_cast<Index>(cells.size()); }
  const MeanAndSd& operator[](Figure figure) const {
    return figures[static_cast<std::size_t>(figure)];
  }
};

// Whether the Sharpe ratio of a is that of b.
struct Comparison {
  Index group = 0, a = 0, b = 0;  // methods
  // The mean Sharpe ratio of a's runs less that of b's, annualised: what tables rank by.
  double ranking = std::numeric_limits<double>::quiet_NaN();
  backtest::SharpeDifference test;  // per period
  double p_adjusted = std::numeric_limits<double>::quiet_NaN();

  // Whether the test finds better the one that is ranked higher.
  bool agrees() const;
  // Whether it finds better one that is not.
  bool contrary() const;
  // Whether the days tell the two apart, at this level, in the order they are ranked.
  bool is_clear(double level = 0.05) const { return agrees() && p_adjusted < level; }
};

// The methods of a group with the highest mean Sharpe ratio among those that trade at one cost.
struct Leader {
  Index group = 0;
  double cost_bps = 0.0;
  std::vector<Index> methods;  // several if they are equal
};

struct Summary {
  std::vector<Group> groups;
  Index methods = 0;
  // Of methods that have cells in a group, by group and method: a file of little size may name
  // many groups and many methods.
  std::vector<Entry> entries;
  std::vector<Index> group_begin;                      // (groups + 1) of the entries
  std::vector<std::array<double, kFigures>> of_cells;  // NaN unless done
  std::vector<Index> columns;  // methods that tables show: the paper's, then ours, or the sweep's
  Index competing = 0;         // of columns: those that compete for the best of a row
  std::vector<double> costs;   // of the methods, in basis points
  // Per group and cost, where at least two methods are ranked; and the first of those with the
  // runner-up, which is the next one that is not equal, if there is one.
  std::vector<Leader> leaders;
  std::vector<Comparison> best;
  // Each dfl with each pfl at the same cost, of those that compete, in every group, unless a run is
  // ruined. None of them if there are more than kMostPlanned: their number grows with the square of
  // the methods, and a test of 500 days takes a fifteenth of a second.
  static constexpr std::size_t kMostPlanned = 2'000;
  std::vector<Comparison> planned;
  std::size_t pairs_left_out = 0;
  // Intervals after costs, of every entry unless there are more of them than this. The ends of an
  // interval need fewer resamples than a small p.
  static constexpr std::size_t kMostJudged = 1'000;
  static constexpr Index kMostResamples = 2'000;
  bool judged = true;
  Index replications = 0;

  std::span<const Entry> of_group(Index group) const;
  // One without cells where the study plans none.
  const Entry& entry(Index group, Index method) const;
  // Ruin is no strategy: a method with a ruined run is never the best of anything.
  bool is_ranked(Index group, Index method) const;
  std::vector<double> cost_levels() const;  // of the columns, rising
};

// `settings`: of the tests; equal bits for any number of threads. Throws InputError for results
// whose indices or columns do not fit each other, and Interrupted if told to stop.
Summary summarize(const study::Results& results, const backtest::BootstrapSettings& settings,
                  const Threads& threads);

// Holm's adjusted p-values; NaN stays NaN and counts for nothing.
std::vector<double> holm(ConstVec p);

}  // namespace sharpen::report
