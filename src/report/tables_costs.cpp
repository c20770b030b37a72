// Tables of what is left after costs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/table_builder.hpp"

namespace sharpen::report {

namespace {

constexpr std::size_t kPrice = kRowNames + 1;  // column, behind the method

// Whether any run was charged such a thing.
bool was_charged(const Summary& summary, Figure figure) {
  return std::ranges::any_of(summary.entries,
                             [&](const Entry& entry) { return entry[figure].mean > 0.0; });
}

// The price of trading belongs beside what it cost.
void add_price(const Builder& make, Table& table) {
  const Column price{.head = "cost in bp", .figure = "cost_bps"};
  table.columns.insert(table.columns.begin() + kPrice, price);
  std::map<std::string_view, double> costs;
  for (const study::Method& method : make.results.methods) costs[method.name] = method.cost_bps;
  for (Row& row : table.rows)
    row.cells.insert(row.cells.begin() + kPrice, TableCell::number(costs.at(row.method), 1));
}

}  // namespace

Table costs_table(const Builder& make) {
  std::vector<Figure> figures = {Figure::sharpe, Figure::sharpe_gross, Figure::sharpe_delayed,
                                 Figure::turnover_annualized, Figure::holding_period};
  // With one kind of cost the sum of them says the same.
  const bool several =
      was_charged(make.summary, Figure::short_fee) || was_charged(make.summary, Figure::financing);
  if (several)
    for (const Figure kind : {Figure::trading_cost, Figure::short_fee, Figure::financing})
      figures.push_back(kind);
  figures.push_back(Figure::cost_annualized);
  figures.push_back(Figure::break_even);
  Table out = make.listing(figures, "costs", "What trading costs, and what is left");
  add_price(make, out);
  out.notes.emplace_back(fmt::format(
      "Sharpe: annualised, after costs. A period later: the same with every trade made one period "
      "later than in this study. Turnover: the sum of |trade| a year, in units of the wealth. Held "
      "for: the "
      "mean number of periods, 2 × exposure / turnover. Cost a year, in units of the wealth{}; it "
      "is in the returns already.",
      several ? ": for trading, for short positions and for borrowing"
              : ", all of it for trading"));
  out.notes.emplace_back(
      "Break-even: the cost in basis points of turnover at which the mean excess return would be "
      "zero, with the trades as they are. A method survives costs below it; a negative one had "
      "nothing to lose.");
  return out;
}

Table equal_table(const Builder& make) {
  Table out = make.table("equal", "Against equal weights of the same universe, after costs",
                         {{.head = "method"},
                          {.head = "days", .figure = "days"},
                          {.head = "Sharpe", .figure = "sharpe_annualized"},
                          {.head = "95 % from", .figure = "sharpe_low_annualized"},
                          {.head = "to", .figure = "sharpe_high_annualized"},
                          {.head = "equal weights", .figure = "equal_sharpe_annualized"},
                          {.head = "difference", .figure = "difference_annualized"},
                          {.head = "95 % from", .figure = "difference_low_annualized"},
                          {.head = "to", .figure = "difference_high_annualized"},
                          {.head = "alpha a year", .figure = "alpha_annualized"},
                          {.head = "95 % from", .figure = "alpha_low_annualized"},
                          {.head = "to", .figure = "alpha_high_annualized"},
                          {.head = "beta", .figure = "beta"},
                          {.head = "95 % from", .figure = "beta_low"},
                          {.head = "to", .figure = "beta_high"}});
  Index last = -1;
  for (const Entry& entry : make.summary.entries) {
    if (std::isnan(entry.interval.low) && std::isnan(entry.after_costs.regression.alpha)) continue;
    Row row = make.row_of(entry);
    row.rule = std::exchange(last, entry.group) != entry.group;
    const Group& group = make.summary.groups[at(entry.group)];
    const double year = make.results.markets[at(group.market)].periods_per_year;
    const double root = std::sqrt(year);
    const backtest::SharpeDifference& difference = entry.after_costs.difference;
    const backtest::Regression& line = entry.after_costs.regression;
    row.cells.push_back(TableCell::count(static_cast<Index>(entry.excess.size())));
    for (const double x :
         {backtest::sharpe_ratio(entry.excess), entry.interval.low, entry.interval.high,
          difference.sharpe_b, difference.difference, difference.low, difference.high})
      row.cells.push_back(TableCell::number(root * x, 3));
    for (const double x : {line.alpha, line.alpha_interval.low, line.alpha_interval.high})
      row.cells.push_back(TableCell::number(year * x, 4));
    for (const double x : {line.beta, line.beta_interval.low, line.beta_interval.high})
      row.cells.push_back(TableCell::number(x, 3));
    out.rows.push_back(std::move(row));
  }
  out.notes.emplace_back(
      "Of daily excess returns averaged over the seeds, as if equal parts were put into each; "
      "equal "
      "weights are rebalanced as often and pay the same costs. Alpha and beta: excess return = "
      "alpha + beta × that of equal weights, by least squares.");
  out.notes.push_back(
      fmt::format("Intervals of 95 %, each by itself, from {} block resamples of the days: of 40 "
                  "methods without "
                  "skill one is expected wholly above zero.",
                  std::min(make.summary.replications, Summary::kMostResamples)));
  return out;
}

Table at_cost_table(const Builder& make) {
  Table out = make.listing({Figure::sharpe_at_0bp, Figure::sharpe_at_5bp, Figure::sharpe_at_10bp,
                            Figure::sharpe_at_20bp, Figure::sharpe_at_50bp},
                           "at-cost", "Annualised Sharpe ratio if trading cost so much");
  add_price(make, out);
  out.notes.emplace_back(
      "The trades as they are, made at the cost of the second column: at another one a method that "
      "weighs its costs would trade otherwise. Fees for short positions and for borrowing stay as "
      "they were.");
  return out;
}

}  // namespace sharpen::report
