// The sentences that open a report.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/settings_toml.hpp"
#include "report/table_builder.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/report/report.hpp"

namespace sharpen::report {

namespace {

using study::CellState;
using study::Results;

Index count(const Results& results, CellState state) {
  return std::ranges::count(results.cells, state, &study::Cell::state);
}

// "DFL in 3, PFL OSCAR and PFL mSSRM tied in 1"
std::string winners(const Results& results, const Summary& summary) {
  std::map<std::vector<Index>, Index> wins;
  for (const Leader& leader : summary.leaders) ++wins[leader.methods];
  std::vector<std::pair<std::vector<Index>, Index>> ranked(wins.begin(), wins.end());
  std::ranges::stable_sort(ranked,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (const auto& [methods, rows] : ranked) {
    if (!out.empty()) out += ", ";
    for (std::size_t i = 0; i < methods.size(); ++i)
      out += (i == 0                   ? ""
              : i + 1 < methods.size() ? ", "
                                       : " and ") +
             results.methods[at(methods[i])].label;
    out += fmt::format("{} in {}", methods.size() > 1 ? " tied" : "", rows);
  }
  return out;
}

// Calls with each leader and each method of ours that is better than it, by method.
template <class Act>
void for_ours_above(const Summary& summary, Act act) {
  std::map<std::pair<Index, double>, const Leader*> leaders;
  for (const Leader& leader : summary.leaders) leaders[{leader.group, leader.cost_bps}] = &leader;
  std::vector<bool> ours(at(summary.methods), false);
  for (std::size_t c = at(summary.competing); c < summary.columns.size(); ++c)
    ours[at(summary.columns[c])] = true;
  for (const Entry& entry : summary.entries) {
    if (!ours[at(entry.method)] || !summary.is_ranked(entry.group, entry.method)) continue;
    const auto found = leaders.find({entry.group, summary.costs[at(entry.method)]});
    if (found == leaders.end()) continue;
    const Entry& best = summary.entry(entry.group, found->second->methods.front());
    if (entry[Figure::sharpe].mean > best[Figure::sharpe].mean) act(*found->second, entry.method);
  }
}

// "DFL swap in 3": where a method of ours is better than every one that competes at its cost.
std::string ours_above(const Results& results, const Summary& summary) {
  std::map<Index, Index> rows;
  for_ours_above(summary, [&](const Leader&, Index method) { ++rows[method]; });
  std::string out;
  for (const auto& [method, count] : rows)
    out += fmt::format("{}{} in {}", out.empty() ? "" : ", ", results.methods[at(method)].label,
                       count);
  return out;
}

// "3 rows", or what stands for them where each cost has a best of its own.
std::string rows_text(const Summary& summary, std::size_t rows) {
  if (summary.cost_levels().size() < 2) return counted(rows, "row");
  return fmt::format("{} of equal cost", counted(rows, "comparison"));
}

void add_best(const Results& results, const Summary& summary, std::vector<std::string>& out) {
  if (summary.leaders.empty()) return;
  const std::string all = rows_text(summary, summary.leaders.size());
  out.push_back(fmt::format("Best mean Sharpe ratio: {} of {}.", winners(results, summary), all));
  if (const std::string ours = ours_above(results, summary); !ours.empty())
    out.push_back(fmt::format("Of ours, shown apart, above that: {} of {}.", ours, all));
}

void add_tests(const Summary& summary, std::vector<std::string>& out) {
  if (summary.best.empty()) return;
  const auto clear =
      std::ranges::count_if(summary.best, [](const Comparison& test) { return test.is_clear(); });
  const auto against = std::ranges::count_if(summary.best, [](const Comparison& test) {
    return test.contrary() && test.p_adjusted < 0.05;
  });
  const std::string rows = rows_text(summary, summary.best.size());
  out.push_back(
      clear == 0 ? fmt::format("In no {} {} the runner-up (p below 0.05 after Holm’s correction).",
                               summary.cost_levels().size() < 2 ? "row" : "comparison",
                               against == 0 ? "can the test days tell the best from"
                                            : "do the test days find the best better than")
                 : fmt::format("In {} of {} the test days tell the best from the runner-up (p "
                               "below 0.05 after Holm’s correction).",
                               clear, rows));
  if (against > 0)
    out.push_back(
        fmt::format("In {} of {} they speak for the runner-up (marked §): its returns, averaged "
                    "over the seeds, have the higher Sharpe ratio, though the mean of its seeds’ "
                    "ratios is not the higher one.",
                    against, rows));
}

void add_ruin(const Summary& summary, std::vector<std::string>& out) {
  Index runs = 0;
  std::set<Index> methods;
  for (const Entry& entry : summary.entries) {
    runs += entry.ruined;
    if (entry.ruined > 0) methods.insert(entry.method);
  }
  if (runs == 0) return;
  out.push_back(fmt::format("{} ended in ruin and {} not ranked in the rows where {} did (‡).",
                            counted(methods.size(), "method"), methods.size() == 1 ? "is" : "are",
                            methods.size() == 1 ? "it" : "they"));
  out.push_back(fmt::format("{} ended in ruin; {} no strategy that anyone could have followed.",
                            counted(runs, "run"),
                            runs == 1 ? "its averages describe" : "their averages describe"));
}

// "k = 5 of FTSE"
std::string row_text(const Results& results, const Group& group) {
  return fmt::format(
      "k = {}{}", group.k,
      results.markets.size() > 1 ? " of " + results.markets[at(group.market)].name : "");
}

// The returns of a method's runs bit for bit, seed by seed, in an order that has no other meaning
// than to find equal ones.
struct SameReturns {
  const Results& results;

  bool operator()(const Entry* a, const Entry* b) const {
    if (a->cells.size() != b->cells.size()) return a->cells.size() < b->cells.size();
    const std::string &first = results.methods[at(a->method)].optimizer,
                      &second = results.methods[at(b->method)].optimizer;
    if (first != second) return first < second;
    for (std::size_t i = 0; i < a->cells.size(); ++i) {
      const auto order = compared(results.cells[at(a->cells[i])], results.cells[at(b->cells[i])]);
      if (order != 0) return order < 0;
    }
    return false;
  }

  static std::strong_ordering compared(const study::Cell& a, const study::Cell& b) {
    if (a.seed != b.seed)
      return a.seed < b.seed ? std::strong_ordering::less : std::strong_ordering::greater;
    const auto bits = [](double x, double y) {
      return std::bit_cast<std::uint64_t>(x) <=> std::bit_cast<std::uint64_t>(y);
    };
    const auto order =
        std::lexicographical_compare_three_way(a.run.returns.begin(), a.run.returns.end(),
                                               b.run.returns.begin(), b.run.returns.end(), bits);
    return order != 0 ? order : a.run.dates <=> b.run.dates;
  }
};

// The rows in which a dfl method holds what a pfl method with its optimizer holds: the first such
// one if there are several.
std::map<std::pair<Index, Index>, std::vector<Index>> alike(const Results& results,
                                                            const Summary& summary) {
  std::map<std::pair<Index, Index>, std::vector<Index>> out;  // (dfl, pfl): groups
  for (Index g = 0; g < static_cast<Index>(summary.groups.size()); ++g) {
    std::set<const Entry*, SameReturns> pfl(SameReturns{results});
    const auto is = [&](const Entry& entry, Learning learning) {
      return learning_of(results.methods[at(entry.method)]) == learning &&
             entry.done == entry.planned();
    };
    for (const Entry& entry : summary.of_group(g))
      if (is(entry, Learning::prediction)) pfl.insert(&entry);
    for (const Entry& entry : summary.of_group(g))
      if (is(entry, Learning::decision))
        if (const auto found = pfl.find(&entry); found != pfl.end())
          out[{entry.method, (*found)->method}].push_back(g);
  }
  return out;
}

// Where learning by the decision left the forecasts as they were.
void add_alike(const Results& results, const Summary& summary, std::vector<std::string>& out) {
  constexpr std::size_t kMost = 4;  // rows named, and sentences
  std::size_t said = 0;
  const auto pairs = alike(results, summary);
  for (const auto& [pair, groups] : pairs) {
    if (++said > kMost) break;
    std::vector<std::string> rows;
    for (std::size_t i = 0; i < std::min(groups.size(), kMost); ++i)
      rows.push_back(row_text(results, summary.groups[at(groups[i])]));
    const std::size_t more = groups.size() - rows.size();
    out.push_back(fmt::format(
        "{} and {} hold the same in {}{}: their daily returns are equal bit for bit, as they are "
        "where validation keeps the forecasts that training began with.",
        results.methods[at(pair.first)].label, results.methods[at(pair.second)].label,
        fmt::join(rows, ", "), more > 0 ? fmt::format(" and {}", counted(more, "other row")) : ""));
  }
  if (pairs.size() > kMost)
    out.push_back(fmt::format("So do {}.", counted(pairs.size() - kMost, "other pair")));
}

// Where what is best without costs lives on trading that any cost would end.
void add_break_even(const Results& results, const Summary& summary, std::vector<std::string>& out) {
  constexpr double kThin = 5.0;  // bp: what a cheap market costs, spread and fees
  constexpr std::size_t kMost = 3;
  std::map<Index, std::vector<const Entry*>> thin;
  const auto look = [&](const Leader& leader, Index method) {
    const Entry& entry = summary.entry(leader.group, method);
    const double most = entry[Figure::break_even].mean;
    if (leader.cost_bps == 0.0 && most > 0.0 && most < kThin) thin[method].push_back(&entry);
  };
  for (const Leader& leader : summary.leaders)
    for (const Index method : leader.methods) look(leader, method);
  for_ours_above(summary, look);
  const auto most = [](const Entry* entry) { return (*entry)[Figure::break_even].mean; };
  std::vector<std::pair<const Entry*, std::size_t>> worst;  // of each method, and its other rows
  for (const auto& [method, entries] : thin)
    worst.emplace_back(*std::ranges::min_element(entries, {}, most), entries.size() - 1);
  std::ranges::stable_sort(worst, {}, [&](const auto& of) { return most(of.first); });
  if (worst.size() > kMost) worst.resize(kMost);
  for (const auto& [entry, others] : worst)
    out.push_back(fmt::format(
        "{} trades {:.0f} times its wealth a year{}: costs of {} of turnover would take all of its "
        "excess return{}.",
        results.methods[at(entry->method)].label, (*entry)[Figure::turnover_annualized].mean,
        summary.groups.size() > 1 ? " at " + row_text(results, summary.groups[at(entry->group)])
                                  : "",
        most(entry) < 0.05 ? "less than 0.1 bp" : fmt::format("{:.1f} bp", most(entry)),
        others > 0
            ? fmt::format(", and less than {:g} bp in {}", kThin, counted(others, "other row"))
            : ""));
}

// Periods from decisions to trades, by the settings of the methods.
std::set<std::int64_t> delays_of(const Results& results) {
  std::set<std::int64_t> out;
  for (const study::Method& method : results.methods) {
    try {
      const toml::table said = settings::parse_toml(method.settings, method.name);
      out.insert(said["delay"].value_or(std::int64_t{0}));
    } catch (const InputError&) {  // a file may hold anything: nothing is said of such a method
    }
  }
  return out;
}

void add_delay(const Results& results, std::vector<std::string>& out) {
  const std::set<std::int64_t> delays = delays_of(results);
  if (delays.empty() || *delays.rbegin() <= 0) return;
  const std::string most = counted(*delays.rbegin(), "period");
  out.push_back(delays.size() == 1
                    ? fmt::format("Every trade is made {} after its decision.", most)
                    : fmt::format("Trades are made up to {} after their decisions, as the settings "
                                  "of each method say.",
                                  most));
}

void add_warnings(const Results& results, std::vector<std::string>& out) {
  std::size_t warnings = 0;
  const study::Market* first = nullptr;
  for (const study::Market& market : results.markets) {
    warnings += market.warnings.size();
    if (first == nullptr && !market.warnings.empty()) first = &market;
  }
  if (first == nullptr) return;
  out.push_back(fmt::format("{} about the markets, {} {}: {}", counted(warnings, "warning"),
                            warnings == 1 ? "of" : "the first of", first->name,
                            first->warnings.front()));
}

}  // namespace

std::string headline(const Results& results, const Summary& summary) {
  std::set<std::uint64_t> seeds;
  for (const study::Cell& cell : results.cells)
    if (cell.seed) seeds.insert(*cell.seed);
  const std::string of_seeds = seeds.empty() ? "" : ", " + counted(seeds.size(), "seed");
  std::string out = fmt::format(
      "{}, {} of market and k, {}{}: {} of {} done", counted(results.markets.size(), "market"),
      counted(summary.groups.size(), "row"), counted(results.methods.size(), "method"), of_seeds,
      count(results, CellState::done), counted(results.cells.size(), "cell"));
  if (const Index failed = count(results, CellState::failed); failed > 0)
    out += fmt::format(", {} failed", failed);
  if (const Index missing = count(results, CellState::missing); missing > 0)
    out += fmt::format(", {} missing", missing);
  return out;
}

std::vector<std::string> findings(const Results& results, const Summary& summary) {
  std::vector<std::string> out;
  if (!results.shard.whole())
    out.push_back(fmt::format(
        "This is part {} of {} of a study: its figures are of that part, and the cells of the "
        "others are missing. `sharpen merge` puts parts together.",
        results.shard.part, results.shard.of));
  if (count(results, CellState::done) == 0) {
    out.emplace_back("No cell of this study is done, so there is nothing to compare.");
    add_warnings(results, out);
    return out;
  }
  add_delay(results, out);
  add_after_costs(results, summary, out);
  add_best(results, summary, out);
  add_tests(summary, out);
  add_break_even(results, summary, out);
  if (summary.pairs_left_out > 0)
    out.push_back(fmt::format(
        "{} of decision-focused with prediction-focused methods are more than the {} that are "
        "tested: there is no table “planned”.",
        counted(summary.pairs_left_out, "pair"), Summary::kMostPlanned));
  if (!summary.judged)
    out.push_back(fmt::format(
        "{} of methods in rows are more than the {} that get intervals: nothing is said of them.",
        counted(summary.entries.size(), "result"), Summary::kMostJudged));
  add_ruin(summary, out);
  add_aims(results, summary, out);
  add_alike(results, summary, out);
  add_warnings(results, out);
  const Index undone = count(results, CellState::failed) + count(results, CellState::missing);
  if (undone > 0)
    out.push_back(
        fmt::format("{} of {} {} no result: figures marked † rest on fewer runs than planned.",
                    undone, counted(results.cells.size(), "cell"), undone == 1 ? "has" : "have"));
  return out;
}

}  // namespace sharpen::report
