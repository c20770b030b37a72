// The first sentences of a report: which methods are above zero, and which above equal weights,
// after costs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/table_builder.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/solve/registry.hpp"

namespace sharpen::report {

namespace {

using study::Results;

// A bar that Sharpe ratios may be above: by the mean of the runs, as tables have it, and with the
// whole interval of the runs together.
struct Bar {
  bool (*applies)(const Entry&);
  bool (*above)(const Entry&);
  bool (*clear)(const Entry&);
};

constexpr Bar kZero = {.applies = [](const Entry& entry) { return entry[Figure::sharpe].n > 0; },
                       .above = [](const Entry& entry) { return entry[Figure::sharpe].mean > 0.0; },
                       .clear = [](const Entry& entry) { return entry.interval.low > 0.0; }};

constexpr Bar kEqualWeights = {
    .applies = [](const Entry& entry) { return entry[Figure::equal_sharpe].n > 0; },
    .above =
        [](const Entry& entry) {
          return entry[Figure::sharpe].mean > entry[Figure::equal_sharpe].mean;
        },
    .clear = [](const Entry& entry) { return entry.after_costs.difference.low > 0.0; }};

// The same trades at the second cost of the curve, which is the default one.
constexpr std::size_t kUsualCost = 1;
static_assert(backtest::kCostLevels[kUsualCost] == 5.0);

constexpr Bar kZeroAtUsualCost = {
    .applies = [](const Entry& entry) { return entry[Figure::sharpe_at_5bp].n > 0; },
    .above = [](const Entry& entry) { return entry[Figure::sharpe_at_5bp].mean > 0.0; },
    .clear =
        [](const Entry& entry) {
          return entry.after_costs.cost_curve.size() > kUsualCost &&
                 entry.after_costs.cost_curve[kUsualCost].interval.low > 0.0;
        }};

// Methods that trade at one cost, in the order of the tables.
struct Level {
  double cost_bps = 0.0;
  std::vector<Index> methods;
};

std::vector<Level> levels_of(const Summary& summary) {
  std::vector<Level> out;
  for (const double cost : summary.cost_levels()) {
    out.push_back({cost, {}});
    for (const Index m : summary.columns)
      if (summary.costs[at(m)] == cost) out.back().methods.push_back(m);
  }
  return out;
}

struct Above {
  Index method = 0;
  Index above = 0, clear = 0;  // rows
};

// How the methods stand to the bar, those left out that it has no meaning for.
std::vector<Above> standing(const Summary& summary, const Level& level, const Bar& bar) {
  std::map<Index, Above> found;
  for (const Entry& entry : summary.entries) {
    if (!summary.is_ranked(entry.group, entry.method) || !bar.applies(entry)) continue;
    Above& of = found[entry.method];
    of.above += bar.above(entry) ? 1 : 0;
    of.clear += bar.above(entry) && bar.clear(entry) ? 1 : 0;
  }
  std::vector<Above> out;
  for (const Index m : level.methods)
    if (const auto place = found.find(m); place != found.end()) {
      out.push_back(place->second);
      out.back().method = m;
    }
  return out;
}

// "DFL swap in 3, PFL OSCAR in 1 of 3 rows"; where there is one row, "DFL swap, PFL OSCAR". ""
// if there is none.
std::string list_of(const Results& results, const Summary& summary, const std::vector<Above>& all,
                    Index Above::*count) {
  const bool one = summary.groups.size() == 1;
  std::vector<std::string> names;
  for (const Above& each : all) {
    if (each.*count == 0) continue;
    const std::string& label = results.methods[at(each.method)].label;
    names.push_back(one ? label : fmt::format("{} in {}", label, each.*count));
  }
  if (names.empty() || one) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} of {}", fmt::join(names, ", "), counted(summary.groups.size(), "row"));
}

// "for DFL swap in 3 of 3 rows (1 of 10 methods), with its whole 95 % interval for none".
// What the intervals say is left out where there are none.
std::string for_whom(const Results& results, const Summary& summary, const std::vector<Above>& all,
                     std::string_view interval) {
  const std::string above = list_of(results, summary, all, &Above::above);
  if (above.empty()) return "for no method";
  const auto count = std::ranges::count_if(all, [](const Above& each) { return each.above > 0; });
  std::string out = "for " + above;
  if (all.size() > 1) out += fmt::format(" ({} of {} methods)", count, all.size());
  const bool judged = std::ranges::any_of(
      summary.entries, [](const Entry& entry) { return !std::isnan(entry.interval.low); });
  if (!judged) return out;
  const std::string clear = list_of(results, summary, all, &Above::clear);
  return out + fmt::format(", with {} for {}", interval, clear.empty() ? "none" : clear);
}

void add_level(const Results& results, const Summary& summary, const Level& level,
               std::vector<std::string>& out) {
  const std::vector<Above> zero = standing(summary, level, kZero);
  if (zero.empty()) return;
  out.push_back(fmt::format("{}, the Sharpe ratio is above zero {}.",
                            level.cost_bps > 0.0
                                ? fmt::format("After costs of {} bp", few_decimals(level.cost_bps))
                                : "Without costs of trading",
                            for_whom(results, summary, zero, "its whole 95 % interval")));
  Level others = level;  // equal weights are not above themselves
  std::erase_if(others.methods, [&](Index m) {
    const auto* optimizer = solve::find_optimizer(results.methods[at(m)].optimizer);
    return optimizer != nullptr && !optimizer->needs.signal;
  });
  const std::vector<Above> equal = standing(summary, others, kEqualWeights);
  if (equal.empty()) return;
  out.push_back(
      fmt::format("It is above that of equal weights at the same cost {}.",
                  for_whom(results, summary, equal, "the whole 95 % interval of the difference")));
}

// Methods that never held anything have no Sharpe ratio to be above or below a bar.
void add_untraded(const Results& results, const Summary& summary, std::vector<std::string>& out) {
  std::map<Index, Above> found;
  for (const Entry& entry : summary.entries)
    if (entry.done > 0 && entry[Figure::gross].mean == 0.0) {
      found[entry.method].method = entry.method;
      ++found[entry.method].above;
    }
  std::vector<Above> idle;
  for (const auto& [method, of] : found) idle.push_back(of);
  if (!idle.empty())
    out.push_back(fmt::format("Nothing was traded by {}: there is no Sharpe ratio to speak of.",
                              list_of(results, summary, idle, &Above::above)));
}

}  // namespace

void add_after_costs(const Results& results, const Summary& summary,
                     std::vector<std::string>& out) {
  constexpr std::size_t kMost = 4;  // costs that are spoken of
  const std::vector<Level> levels = levels_of(summary);
  const bool free = levels.size() == 1 && levels.front().cost_bps == 0.0;
  if (free)
    out.emplace_back(
        "Trading costs nothing in this study: its Sharpe ratios are before costs of trading.");
  for (std::size_t i = 0; i < std::min(levels.size(), kMost); ++i)
    add_level(results, summary, levels[i], out);
  if (levels.size() > kMost)
    out.push_back(fmt::format("The table “costs” has {}, too.",
                              counted(levels.size() - kMost, "higher cost")));
  add_untraded(results, summary, out);
  if (!free) return;
  const std::vector<Above> left = standing(summary, levels.front(), kZeroAtUsualCost);
  if (!left.empty())
    out.push_back(fmt::format("At 5 bp, with the same trades, it would be above zero {}.",
                              for_whom(results, summary, left, "its whole 95 % interval")));
}

}  // namespace sharpen::report
