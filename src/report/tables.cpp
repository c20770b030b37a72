// Which tables a report has, and what stands in their cells.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "report/table_builder.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/report/report.hpp"

namespace sharpen::report {

namespace {

using study::Results;
using study::Role;

double per_year(const Results& results, const Group& group) {
  return std::sqrt(results.markets[at(group.market)].periods_per_year);
}

// A column per method, a row per market and k, one figure.
Table matrix(const Builder& make, Figure figure, std::string_view table_name, std::string title) {
  Table out = make.table(table_name, std::move(title));
  make.add_method_columns(out, figure);
  for (std::size_t g = 0; g < make.summary.groups.size(); ++g) {
    Row row = make.row_of(static_cast<Index>(g));
    row.cells.reserve(out.columns.size());
    for (const Index m : make.summary.columns)
      row.cells.push_back(make.estimate_cell(static_cast<Index>(g), m, figure));
    make.mark_best(row, kRowNames, figure);
    out.rows.push_back(std::move(row));
  }
  make.explain_best(out);
  return out;
}

// Stars are for what the table says, so only for a test that says the same.
unsigned test_marks(const Comparison& test) {
  return test.contrary()        ? contrary
         : test.is_clear(0.001) ? three_stars
         : test.is_clear(0.01)  ? two_stars
         : test.is_clear()      ? one_star
                                : 0u;
}

// A two-sided p has no direction: this is it.
std::string better_text(const Comparison& test) {
  return !test.is_clear() ? "unclear" : test.test.difference > 0.0 ? "A" : "B";
}

std::string test_note(const Summary& summary) {
  return fmt::format(
      "p: of equal Sharpe ratios, two-sided, by the paired test of Ledoit and Wolf ({} block "
      "resamples) on daily excess returns averaged over the seeds, as if equal parts were put into "
      "each. Holm: corrected for the number of tests; stars go by it (* below 0.05, ** below 0.01, "
      "*** below 0.001).",
      summary.replications);
}

constexpr std::string_view kPicked =
    "The pair is picked after seeing the results, and the seeds share the same days: read these p "
    "as lower bounds. A large p says that these days cannot tell the two apart, not that they are "
    "equal.";

TableCell method_cell(const Results& results, Index method) {
  TableCell out = TableCell::of(results.methods[at(method)].label);
  out.name = results.methods[at(method)].name;
  return out;
}

double cost_of(const Summary& summary, const Comparison& test) { return summary.costs[at(test.a)]; }

// What else is known of the Sharpe ratios of a row, below them: before costs, if any were paid, and
// with every trade a period later.
void add_rows_beside(const Builder& make, Index group, std::vector<Row>& rows) {
  const Summary& summary = make.summary;
  const Row net = rows.back();
  for (const Figure figure : {Figure::sharpe_gross, Figure::sharpe_delayed}) {
    const bool any = std::ranges::any_of(summary.columns, [&](Index m) {
      const Entry& entry = summary.entry(group, m);
      return entry[figure].n > 0 &&
             (figure == Figure::sharpe_delayed || entry[figure].mean != entry[Figure::sharpe].mean);
    });
    if (!any) continue;
    Row row = net;
    row.rule = false;
    row.figure = std::string(info(figure).name);
    row.cells.resize(kRowNames);
    row.cells.push_back(TableCell::of(std::string(info(figure).head)));
    for (const Index m : summary.columns) row.cells.push_back(make.estimate_cell(group, m, figure));
    rows.push_back(std::move(row));
  }
}

// The paper's Table 1, with what is known beside it.
Table sharpe_matrix(const Builder& make) {
  const Summary& summary = make.summary;
  Table out = make.table("sharpe", "Annualised Sharpe ratio after costs, out of sample",
                         {{.head = "Sharpe ratio"}});
  make.add_method_columns(out, Figure::sharpe);
  for (Index g = 0; g < static_cast<Index>(summary.groups.size()); ++g) {
    Row row = make.row_of(g);
    row.cells.push_back(TableCell::of("after costs"));
    for (const Index m : summary.columns)
      row.cells.push_back(make.estimate_cell(g, m, Figure::sharpe));
    make.mark_best(row, kRowNames + 1, Figure::sharpe);
    out.rows.push_back(std::move(row));
    add_rows_beside(make, g, out.rows);
  }
  if (out.rows.size() > summary.groups.size())
    for (Row& row : out.rows) row.rule = row.figure.empty();
  make.explain_best(out);
  out.notes.emplace_back(
      "After costs: net of what the account was charged for trading, for short positions and for "
      "borrowing; before costs: the same days without that. A period later: after costs, with "
      "every trade made one period later than in this study.");
  return out;
}

// The same with the runner-up and p behind the methods.
Table sharpe_table(const Builder& make) {
  const Summary& summary = make.summary;
  Table out = sharpe_matrix(make);
  if (summary.best.empty()) return out;
  const std::size_t methods = out.columns.size();
  std::set<double> with_best;
  for (const Comparison& test : summary.best) with_best.insert(cost_of(summary, test));
  const std::vector<double> costs(with_best.begin(), with_best.end());
  const bool one = summary.cost_levels().size() == 1;
  for (const double cost : costs) {
    const std::string group = "best against runner-up" +
                              (one ? std::string() : fmt::format(" at {} bp", few_decimals(cost)));
    const std::string at_cost = one ? std::string() : fmt::format("_at_{}bp", few_decimals(cost));
    out.columns.push_back({.head = "runner-up", .figure = "runner_up" + at_cost, .group = group});
    out.columns.push_back({.head = "p", .figure = "p_value" + at_cost, .group = group});
    out.columns.push_back({.head = "Holm", .figure = "p_holm" + at_cost, .group = group});
  }
  std::vector<Row*> rows;  // of the groups, without what stands below them
  for (Row& row : out.rows) {
    row.cells.resize(out.columns.size());
    if (row.figure.empty()) rows.push_back(&row);
  }
  for (const Comparison& test : summary.best) {
    std::vector<TableCell>& cells = rows[at(test.group)]->cells;
    const auto level = std::ranges::lower_bound(costs, cost_of(summary, test)) - costs.begin();
    const std::size_t first = methods + 3 * at(level);
    cells[first] = method_cell(make.results, test.b);
    cells[first + 1] = TableCell::number(test.test.p_value, 3);
    cells[first + 2] = TableCell::number(test.p_adjusted, 3);
    cells[first + 2].marks = test_marks(test);
  }
  out.notes.push_back(test_note(summary));
  out.notes.emplace_back(kPicked);
  return out;
}

Table comparison_table(const Builder& make, const std::vector<Comparison>& family,
                       std::string_view table_name, std::string title) {
  Table out = make.table(table_name, std::move(title),
                         {{.head = "A", .figure = "method_a"},
                          {.head = "B", .figure = "method_b"},
                          {.head = "days", .figure = "days"},
                          {.head = "Sharpe A", .figure = "sharpe_a_annualized"},
                          {.head = "Sharpe B", .figure = "sharpe_b_annualized"},
                          {.head = "A − B", .figure = "difference_annualized"},
                          {.head = "95 % from", .figure = "difference_low_annualized"},
                          {.head = "to", .figure = "difference_high_annualized"},
                          {.head = "p", .figure = "p_value"},
                          {.head = "Holm", .figure = "p_holm"},
                          {.head = "better", .figure = "better"}});
  for (const Comparison& c : family) {
    Row row = make.row_of(c.group);
    row.rule = out.rows.empty() || out.rows.back().market != row.market;
    const double root = per_year(make.results, make.summary.groups[at(c.group)]);
    row.method = make.results.methods[at(c.a)].name;
    row.against = make.results.methods[at(c.b)].name;
    row.cells.push_back(method_cell(make.results, c.a));
    row.cells.push_back(method_cell(make.results, c.b));
    row.cells.push_back(TableCell::count(c.test.n));
    for (const double x :
         {c.test.sharpe_a, c.test.sharpe_b, c.test.difference, c.test.low, c.test.high})
      row.cells.push_back(TableCell::number(root * x, 3));
    row.cells.push_back(TableCell::number(c.test.p_value, 3));
    row.cells.push_back(TableCell::number(c.p_adjusted, 3));
    row.cells.back().marks = test_marks(c);
    row.cells.push_back(TableCell::of(better_text(c)));
    out.rows.push_back(std::move(row));
  }
  out.notes.emplace_back(
      "Sharpe ratios, annualised, of the daily returns averaged over the seeds: averaging removes "
      "noise, so they are mostly larger in size than the mean over seeds, the more so the more "
      "seeds there are.");
  out.notes.emplace_back(
      "Better: the one with the higher Sharpe ratio, by the averaged returns and by the mean over "
      "the seeds, if p is below 0.05 after Holm’s correction; else unclear.");
  out.notes.push_back(test_note(make.summary));
  return out;
}

Table significance_table(const Builder& make) {
  Table out = comparison_table(make, make.summary.best, "significance",
                               "Is the best of each row better than the runner-up?");
  out.notes.emplace_back(kPicked);
  return out;
}

Table planned_table(const Builder& make) {
  Table out = comparison_table(make, make.summary.planned, "planned",
                               "Decision-focused against prediction-focused learning");
  out.notes.emplace_back(
      "These pairs were fixed before any result was seen: methods that trade at the same cost. A "
      "method with a run that ended in ruin is not tested.");
  return out;
}

// The paper's Table 2: a column per value of alpha.
Table alpha_table(const Builder& make) {
  const Results& results = make.results;
  Table out =
      make.table("alpha", "Annualised Sharpe ratio by α, the weight of the decision in the loss");
  std::vector<Index> swept;
  for (std::size_t m = 0; m < results.methods.size(); ++m)
    if (results.methods[m].role == Role::sweep) swept.push_back(static_cast<Index>(m));
  if (swept.empty()) return out;
  std::set<double> values;
  for (const Index m : swept) values.insert(results.methods[at(m)].alpha);
  for (const Index m : swept) {
    const study::Method& method = results.methods[at(m)];
    out.columns.push_back({.head = values.size() == swept.size()
                                       ? "α = " + fmt::format("{:g}", method.alpha)
                                       : method.label,
                           .figure = std::string(info(Figure::sharpe).name),
                           .method = method.name});
  }
  for (std::size_t g = 0; g < make.summary.groups.size(); ++g) {
    Row row = make.row_of(static_cast<Index>(g));
    bool any = false;
    for (const Index m : swept) {
      row.cells.push_back(make.estimate_cell(static_cast<Index>(g), m, Figure::sharpe));
      any = any || row.cells.back().kind != TableCell::Kind::none;
    }
    make.mark_best_of(row, kRowNames, swept, 1);
    if (any) out.rows.push_back(std::move(row));
  }
  out.notes.emplace_back(kSpread);
  out.legend = Legend::best;
  out.several_costs = make.has_several_costs(swept);
  return out;
}

Table performance_table(const Builder& make) {
  Table out = make.listing({Figure::annual_return, Figure::volatility, Figure::sharpe,
                            Figure::sortino, Figure::max_drawdown, Figure::calmar,
                            Figure::final_wealth, Figure::hit_rate, Figure::worst_return},
                           "performance", "Return and risk, out of sample");
  out.notes.emplace_back(
      "Return, volatility, Sharpe and Sortino are annualised and net of costs; wealth is what 1 "
      "became over all test days. The return is compounded and the Sharpe ratio arithmetic (the "
      "mean of daily excess returns over their deviation), so they may differ in sign. Sortino and "
      "Calmar need ten days.");
  return out;
}

Table regret_table(const Builder& make) {
  Table out = make.listing({Figure::regret, Figure::regret_relative}, "regret",
                           "Regret: what perfect foresight would have earned more");
  out.notes.emplace_back(
      "Mean per decision, before costs, with the same optimizer given the returns to come; the "
      "relative regret divides by what foresight earns. Recorded by the study, not recomputed.");
  return out;
}

Table trading_table(const Builder& make) {
  std::vector<Figure> figures = {
      Figure::turnover, Figure::turnover_annualized, Figure::gross,         Figure::net,
      Figure::names,    Figure::effective_names,     Figure::largest_weight};
  const bool proves = std::ranges::any_of(make.summary.entries, [](const Entry& entry) {
    return std::isfinite(entry[Figure::proved].mean);
  });
  if (proves) figures.push_back(Figure::proved);
  Table out = make.listing(figures, "trading", "Turnover and holdings");
  out.notes.emplace_back(
      "Turnover: the sum of |trade| per rebalance, bought and sold both counting. Names, exposure "
      "(gross, net) and weights are means over the days.");
  if (proves)
    out.notes.emplace_back(
        "Proved: the share of decisions, before the costs of trading, that are shown to be the "
        "best there are for their signal.");
  return out;
}

}  // namespace

std::vector<Table> tables(const study::Results& results, const Summary& summary) {
  const Builder make{results, summary};
  // No list of them: a vector would be filled with copies.
  std::array<Table, 14> all = {
      sharpe_table(make),
      costs_table(make),
      equal_table(make),
      at_cost_table(make),
      significance_table(make),
      planned_table(make),
      alpha_table(make),
      matrix(make, Figure::max_drawdown, "drawdown", "Maximum drawdown, out of sample"),
      performance_table(make),
      regret_table(make),
      trading_table(make),
      cells_table(make),
      failures_table(make),
      warnings_table(make),
  };
  std::vector<Table> out;
  for (Table& table : all) {
    if (table.rows.empty()) continue;
    add_mark_notes(table);
    out.push_back(std::move(table));
  }
  return out;
}

std::vector<Table> chosen(const std::vector<Table>& all, std::span<const std::string> names) {
  std::vector<std::string_view> known;
  for (const Table& table : all) known.push_back(table.name);
  std::vector<Table> out;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, name, &Table::name);
    if (found == all.end())
      throw InputError(
          fmt::format("table = {} is not in this study{}; it has {}", printable(name),
                      did_you_mean(name, known),
                      known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
    out.push_back(*found);
  }
  return out;
}

}  // namespace sharpen::report
