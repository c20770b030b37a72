#include "sharpen/report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "report/judging.hpp"
#include "report/table_builder.hpp"
#include "sharpen/backtest/metrics.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::report {

namespace {

using backtest::Metrics;
using study::CellState;
using study::Results;
using study::Role;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// A figure, and where it stands in the metrics if it does.
struct FigureRow {
  FigureInfo info;
  double Metrics::*metric;
};

constexpr std::array<FigureRow, kFigures> kRows = {{
    {{"sharpe_annualized", "Sharpe", 3, 1}, &Metrics::sharpe_annualized},
    {{"sharpe_gross_annualized", "before costs", 3, 1}, &Metrics::sharpe_gross_annualized},
    {{"sharpe_delayed_annualized", "a period later", 3, 1}, &Metrics::sharpe_delayed_annualized},
    {{"equal_sharpe_annualized", "equal weights", 3, 0}, &Metrics::equal_sharpe_annualized},
    {{"return_annualized", "return", 3, 1}, &Metrics::return_annualized},
    {{"volatility_annualized", "volatility", 3, 0}, &Metrics::volatility_annualized},
    {{"sortino_annualized", "Sortino", 3, 1}, &Metrics::sortino_annualized},
    {{"calmar", "Calmar", 3, 1}, &Metrics::calmar},
    {{"final_wealth", "wealth", 3, 1}, &Metrics::final_wealth},
    {{"max_drawdown", "drawdown", 3, -1}, nullptr},
    {{"hit_rate", "hit rate", 3, 1}, &Metrics::hit_rate},
    {{"worst_return", "worst day", 3, 1}, &Metrics::worst_return},
    {{"turnover", "turnover", 3, 0}, &Metrics::turnover},
    {{"turnover_annualized", "turnover a year", 1, 0}, &Metrics::turnover_annualized},
    {{"mean_holding_period", "held for", 1, 0}, &Metrics::mean_holding_period},
    {{"trading_cost_annualized", "trading", 4, -1}, nullptr},
    {{"short_fee_annualized", "short fees", 4, -1}, nullptr},
    {{"financing_annualized", "financing", 4, -1}, nullptr},
    {{"cost_annualized", "cost a year", 4, -1}, &Metrics::cost_annualized},
    {{"break_even_bps", "break-even bp", 1, 1}, &Metrics::break_even_bps},
    {{"mean_gross", "gross", 3, 0}, &Metrics::mean_gross},
    {{"mean_net", "net", 3, 0}, &Metrics::mean_net},
    {{"mean_cardinality", "names", 1, 0}, &Metrics::mean_cardinality},
    {{"mean_effective_names", "effective names", 1, 0}, &Metrics::mean_effective_names},
    {{"mean_largest_weight", "largest weight", 3, 0}, &Metrics::mean_largest_weight},
    {{"sharpe_at_0bp_annualized", "0 bp", 3, 1}, nullptr},
    {{"sharpe_at_5bp_annualized", "5 bp", 3, 1}, nullptr},
    {{"sharpe_at_10bp_annualized", "10 bp", 3, 1}, nullptr},
    {{"sharpe_at_20bp_annualized", "20 bp", 3, 1}, nullptr},
    {{"sharpe_at_50bp_annualized", "50 bp", 3, 1}, nullptr},
    {{"regret", "regret", 5, -1}, nullptr},
    {{"regret_relative", "relative regret", 3, -1}, nullptr},
    {{"share_certified", "proved", 3, 0}, nullptr},
    {{"seconds", "seconds", 1, -1}, nullptr},
}};

constexpr std::array<std::pair<Figure, double>, 5> kAtCosts = {{{Figure::sharpe_at_0bp, 0.0},
                                                                {Figure::sharpe_at_5bp, 5.0},
                                                                {Figure::sharpe_at_10bp, 10.0},
                                                                {Figure::sharpe_at_20bp, 20.0},
                                                                {Figure::sharpe_at_50bp, 50.0}}};

// Sharpe ratio of x - c u, annualised: the trades as they are at c basis points.
double sharpe_at(double bps, const backtest::BeforeTrading& run, double periods_per_year) {
  std::vector<double> left = run.excess;
  for (std::size_t t = 0; t < left.size(); ++t) left[t] -= bps / 1e4 * run.turnover[t];
  return backtest::sharpe_ratio(left) * std::sqrt(periods_per_year);
}

std::array<double, kFigures> figures_of(const study::Cell& cell, const study::Market& market,
                                        const study::Method& method) {
  std::array<double, kFigures> out;
  out.fill(kNone);
  if (cell.state != CellState::done) return out;
  const auto set = [&](Figure figure, double value) {
    out[static_cast<std::size_t>(figure)] = value;
  };
  const double per_year = market.periods_per_year;
  const backtest::Track track = cell.track(per_year);
  const Metrics m = backtest::metrics(track);
  for (std::size_t f = 0; f < kFigures; ++f)
    if (kRows[f].metric != nullptr) out[f] = m.*kRows[f].metric;
  const double years = static_cast<double>(m.n_periods) / per_year;
  set(Figure::trading_cost, m.trading_cost / years);
  set(Figure::short_fee, m.short_fee / years);
  set(Figure::financing, m.financing / years);
  const backtest::BeforeTrading before = backtest::before_trading(track);
  for (const auto& [figure, bps] : kAtCosts) set(figure, sharpe_at(bps, before, per_year));
  // Of a few days they are noise divided by next to nothing.
  if (cell.run.periods() - cell.run.stats_from < static_cast<Index>(kFewestDays)) {
    set(Figure::sortino, kNone);
    set(Figure::calmar, kNone);
  }
  set(Figure::max_drawdown, m.max_drawdown.depth);
  if (cell.regret) {
    set(Figure::regret, cell.regret->mean);
    if (cell.regret->oracle > 0.0) set(Figure::regret_relative, cell.regret->relative());
  }
  if (method.optimizer == "exact" && cell.run.n_decisions > 0)
    set(Figure::proved,
        static_cast<double>(cell.run.n_certified) / static_cast<double>(cell.run.n_decisions));
  set(Figure::seconds, cell.seconds);
  return out;
}

void check_indices(const Results& results) {
  const auto fits = [](Index i, std::size_t count) { return i >= 0 && at(i) < count; };
  for (std::size_t c = 0; c < results.cells.size(); ++c) {
    const study::Cell& cell = results.cells[c];
    if (!fits(cell.market, results.markets.size()) || !fits(cell.method, results.methods.size()))
      throw InputError(fmt::format("cell {} of the study has no market or no method", c + 1));
    if (cell.state == CellState::done &&
        (cell.run.stats_from < 0 || cell.run.stats_from > cell.run.periods()))
      throw InputError(fmt::format("cell {} of the study has statistics from period {} of {}",
                                   c + 1, cell.run.stats_from, cell.run.periods()));
  }
}

void add_groups(const Results& results, Summary& out) {
  std::map<std::pair<Index, std::string>, Index> known;
  std::map<std::pair<Index, Index>, std::vector<Index>> cells_of;  // of (group, method)
  for (std::size_t c = 0; c < results.cells.size(); ++c) {
    const study::Cell& cell = results.cells[c];
    const auto key = std::pair(cell.market, cell.k_given);
    const auto [found, is_new] = known.try_emplace(key, static_cast<Index>(out.groups.size()));
    if (is_new) out.groups.push_back({cell.market, cell.k_given, cell.k});
    cells_of[{found->second, cell.method}].push_back(static_cast<Index>(c));
  }
  out.group_begin.assign(out.groups.size() + 1, 0);
  for (auto& [place, cells] : cells_of) {
    Entry entry;
    entry.group = place.first;
    entry.method = place.second;
    entry.cells = std::move(cells);
    out.entries.push_back(std::move(entry));
    out.group_begin[at(place.first) + 1] = static_cast<Index>(out.entries.size());
  }
}

void fill_entry(const Results& results, const Summary& summary, Entry& entry) {
  for (const Index c : entry.cells) {
    const study::Cell& cell = results.cells[at(c)];
    if (cell.state == CellState::done) ++entry.done;
    if (cell.state == CellState::failed) ++entry.failed;
    if (cell.state == CellState::missing) ++entry.missing;
    if (cell.state == CellState::done &&
        std::ranges::any_of(cell.run.returns, [](double r) { return r <= -1.0; }))
      ++entry.ruined;
  }
  std::vector<double> values;
  for (std::size_t f = 0; f < kFigures; ++f) {
    values.clear();
    for (const Index c : entry.cells) values.push_back(summary.of_cells[at(c)][f]);
    entry.figures[f] = mean_and_sd(values);
  }
  average_days(results, entry);
}

void choose_columns(const Results& results, Summary& out) {
  const auto add = [&](Role role) {
    for (std::size_t m = 0; m < results.methods.size(); ++m)
      if (results.methods[m].role == role) out.columns.push_back(static_cast<Index>(m));
  };
  add(Role::paper);
  out.competing = static_cast<Index>(out.columns.size());
  add(Role::own);
  if (out.columns.empty()) add(Role::sweep);
  if (out.competing == 0) out.competing = static_cast<Index>(out.columns.size());
}

Comparison compare(const Summary& summary, Index group, Index a, Index b,
                   const backtest::BootstrapSettings& settings, const Threads& threads) {
  const Entry &first = summary.entry(group, a), &second = summary.entry(group, b);
  Comparison out{.group = group,
                 .a = a,
                 .b = b,
                 .ranking = first[Figure::sharpe].mean - second[Figure::sharpe].mean,
                 .test = {}};
  std::vector<double> x, y;
  std::size_t j = 0;
  for (std::size_t i = 0; i < first.dates.size(); ++i) {
    while (j < second.dates.size() && second.dates[j] < first.dates[i]) ++j;
    if (j == second.dates.size() || second.dates[j] != first.dates[i]) continue;
    x.push_back(first.excess[i]);
    y.push_back(second.excess[j]);
  }
  out.test.n = static_cast<Index>(x.size());
  out.test.sharpe_a = backtest::sharpe_ratio(x);
  out.test.sharpe_b = backtest::sharpe_ratio(y);
  if (x.size() >= kFewestDays) out.test = backtest::sharpe_difference(x, y, settings, threads);
  return out;
}

// Whether each method competes for the best of a row.
std::vector<bool> competitors(const Summary& summary) {
  std::vector<bool> out(at(summary.methods), false);
  for (Index c = 0; c < summary.competing; ++c) out[at(summary.columns[at(c)])] = true;
  return out;
}

// The competing methods of a group, by rising cost, then by falling mean Sharpe ratio.
std::vector<Index> ranking(const Summary& summary, Index group, const std::vector<bool>& competes) {
  const auto sharpe = [&](Index m) { return summary.entry(group, m)[Figure::sharpe].mean; };
  std::vector<Index> out;
  for (const Entry& entry : summary.of_group(group))
    if (competes[at(entry.method)] && !std::isnan(summary.costs[at(entry.method)]) &&
        summary.is_ranked(group, entry.method))
      out.push_back(entry.method);
  std::ranges::stable_sort(out, [&](Index a, Index b) {
    const double cost_a = summary.costs[at(a)], cost_b = summary.costs[at(b)];
    return cost_a != cost_b ? cost_a < cost_b : sharpe(a) > sharpe(b);
  });
  return out;
}

void compare_best(Summary& out, const backtest::BootstrapSettings& settings,
                  const Threads& threads) {
  const std::vector<bool> competes = competitors(out);
  for (Index g = 0; g < static_cast<Index>(out.groups.size()); ++g) {
    const std::vector<Index> all = ranking(out, g, competes);
    for (auto first = all.begin(); first != all.end();) {
      const double cost = out.costs[at(*first)];
      const auto last =
          std::find_if(first, all.end(), [&](Index m) { return out.costs[at(m)] != cost; });
      const std::span<const Index> ranked(first, last);
      first = last;
      if (ranked.size() < 2) continue;
      const double highest = out.entry(g, ranked[0])[Figure::sharpe].mean;
      // Equal ones share the place: testing them against each other would say nothing, so that is
      // done only where there is no other.
      const auto next = std::ranges::find_if(
          ranked, [&](Index m) { return out.entry(g, m)[Figure::sharpe].mean != highest; });
      out.leaders.push_back({g, cost, {ranked.begin(), next}});
      const Index second = next != ranked.end() ? *next : ranked[1];
      out.best.push_back(compare(out, g, ranked[0], second, settings, threads));
    }
  }
}

// The methods of a group that compete, learn so and have runs without ruin, by cost.
std::map<double, std::vector<Index>> by_cost(const Results& results, const Summary& summary,
                                             Index group, const std::vector<bool>& competes,
                                             Learning learning) {
  std::map<double, std::vector<Index>> out;
  for (const Entry& entry : summary.of_group(group)) {
    const double cost = summary.costs[at(entry.method)];
    if (competes[at(entry.method)] && learning_of(results.methods[at(entry.method)]) == learning &&
        !std::isnan(cost) && entry.done > 0 && entry.ruined == 0)
      out[cost].push_back(entry.method);
  }
  return out;
}

void compare_planned(const Results& results, Summary& out,
                     const backtest::BootstrapSettings& settings, const Threads& threads) {
  struct Pairs {
    Index group;
    std::vector<Index> dfl, pfl;
  };
  const std::vector<bool> competes = competitors(out);
  std::vector<Pairs> all;
  std::size_t count = 0;
  for (Index g = 0; g < static_cast<Index>(out.groups.size()); ++g) {
    auto pfl = by_cost(results, out, g, competes, Learning::prediction);
    for (auto& [cost, dfl] : by_cost(results, out, g, competes, Learning::decision)) {
      count += dfl.size() * pfl[cost].size();
      all.push_back({g, std::move(dfl), std::move(pfl[cost])});
    }
  }
  if (count > Summary::kMostPlanned) {
    out.pairs_left_out = count;
    return;
  }
  for (const Pairs& pairs : all)
    for (const Index a : pairs.dfl)
      for (const Index b : pairs.pfl)
        out.planned.push_back(compare(out, pairs.group, a, b, settings, threads));
  std::ranges::stable_sort(out.planned, {},
                           [](const Comparison& c) { return std::tuple(c.group, c.a, c.b); });
}

void adjust(std::vector<Comparison>& family) {
  std::vector<double> p;
  for (const Comparison& comparison : family) p.push_back(comparison.test.p_value);
  const std::vector<double> adjusted = holm(p);
  for (std::size_t i = 0; i < family.size(); ++i) family[i].p_adjusted = adjusted[i];
}

}  // namespace

bool Comparison::agrees() const {
  return (ranking > 0.0 && test.difference > 0.0) || (ranking < 0.0 && test.difference < 0.0);
}

bool Comparison::contrary() const {
  return (test.difference > 0.0 || test.difference < 0.0) && !agrees();
}

std::span<const Entry> Summary::of_group(Index group) const {
  const Index first = group_begin[at(group)], last = group_begin[at(group) + 1];
  return std::span(entries).subspan(at(first), at(last - first));
}

const Entry& Summary::entry(Index group, Index method) const {
  static const Entry none;
  const std::span<const Entry> all = of_group(group);
  const auto found = std::ranges::lower_bound(all, method, {}, &Entry::method);
  return found != all.end() && found->method == method ? *found : none;
}

bool Summary::is_ranked(Index group, Index method) const {
  const Entry& of = entry(group, method);
  return of[Figure::sharpe].n > 0 && of.ruined == 0;
}

std::vector<double> Summary::cost_levels() const {
  std::vector<double> out;
  for (const Index m : columns)
    if (!std::isnan(costs[at(m)])) out.push_back(costs[at(m)]);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

const FigureInfo& info(Figure figure) { return kRows[static_cast<std::size_t>(figure)].info; }

MeanAndSd mean_and_sd(ConstVec values) {
  MeanAndSd out;
  double sum = 0.0;
  for (const double x : values)
    if (std::isfinite(x)) {
      sum += x;
      ++out.n;
    }
  if (out.n == 0) return out;
  out.mean = sum / static_cast<double>(out.n);
  double squares = 0.0;
  for (const double x : values)
    if (std::isfinite(x)) squares += (x - out.mean) * (x - out.mean);
  if (out.n > 1) out.sd = std::sqrt(squares / static_cast<double>(out.n - 1));
  return out;
}

std::vector<double> holm(ConstVec p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (!std::isnan(p[i])) order.push_back(i);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> out(p.size(), kNone);
  double largest = 0.0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(order.size() - i) * p[order[i]]));
    out[order[i]] = largest;
  }
  return out;
}

Summary summarize(const study::Results& results, const backtest::BootstrapSettings& settings,
                  const Threads& threads) {
  check_indices(results);
  Summary out;
  out.methods = static_cast<Index>(results.methods.size());
  out.replications = settings.replications;
  for (const study::Method& method : results.methods) out.costs.push_back(method.cost_bps);
  for (const study::Cell& cell : results.cells)
    out.of_cells.push_back(
        figures_of(cell, results.markets[at(cell.market)], results.methods[at(cell.method)]));
  add_groups(results, out);
  for (Entry& entry : out.entries) fill_entry(results, out, entry);
  judge_entries(out, settings, threads);
  choose_columns(results, out);
  compare_best(out, settings, threads);
  compare_planned(results, out, settings, threads);
  adjust(out.best);
  adjust(out.planned);
  return out;
}

}  // namespace sharpen::report
