#include "report/table_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "sharpen/learn/framework.hpp"

namespace sharpen::report {

namespace {

using study::CellState;

std::string market_text(const study::Market& market) {
  return fmt::format("{} ({})", market.name, market.tickers.size());
}

// "5", or "5 (10%)" where k was given as a share.
std::string k_text(const Group& group) {
  const std::string count = std::to_string(group.k);
  return group.k_given == count ? count : fmt::format("{} ({})", count, group.k_given);
}

std::string seed_text(const study::Cell& cell) {
  return cell.seed ? std::to_string(*cell.seed) : std::string();
}

bool is_better(double a, double b, int better) { return better > 0 ? a > b : a < b; }

bool is_ranked(const TableCell& cell) {
  return std::isfinite(cell.value) && (cell.marks & ruined) == 0;
}

}  // namespace

Learning learning_of(const study::Method& method) {
  const learn::FrameworkInfo* framework = learn::find_framework(method.framework);
  if (framework == nullptr || !framework->learns) return Learning::none;
  return framework->decides ? Learning::decision : Learning::prediction;
}

Table Builder::table(std::string_view name, std::string title, std::vector<Column> more) const {
  Table out{.name = std::string(name),
            .title = std::move(title),
            .columns = {{.head = "market"}, {.head = "k"}},
            .rows = {}};
  std::ranges::move(more, std::back_inserter(out.columns));
  return out;
}

Row Builder::row_of(Index group) const {
  const Group& of = summary.groups[at(group)];
  const study::Market& market = results.markets[at(of.market)];
  Row row;
  row.market = market.name;
  row.assets = static_cast<Index>(market.tickers.size());
  row.k = of.k;
  row.k_given = of.k_given;
  row.rule = group > 0 && summary.groups[at(group - 1)].market != of.market;
  row.cells = {TableCell::of(market_text(market)), TableCell::of(k_text(of))};
  return row;
}

Row Builder::row_of(const Entry& entry) const {
  const study::Method& method = results.methods[at(entry.method)];
  Row row = row_of(entry.group);
  row.method = method.name;
  row.rule = false;
  row.cells.push_back(TableCell::of(method.label));
  return row;
}

void Builder::add_method_columns(Table& table, Figure figure) const {
  const bool two_groups = summary.competing < static_cast<Index>(summary.columns.size());
  for (std::size_t c = 0; c < summary.columns.size(); ++c) {
    const study::Method& method = results.methods[at(summary.columns[c])];
    const bool competes = static_cast<Index>(c) < summary.competing;
    table.columns.push_back({.head = method.label,
                             .figure = std::string(info(figure).name),
                             .method = method.name,
                             .group = !two_groups ? ""
                                      : competes  ? "the paper’s methods"
                                                  : "ours, shown apart"});
  }
}

TableCell Builder::estimate_cell(Index group, Index method, Figure figure) const {
  const Entry& entry = summary.entry(group, method);
  TableCell cell;
  if (entry.planned() == 0) return cell;
  cell.kind = TableCell::Kind::estimate;
  cell.value = entry[figure].mean;
  cell.sd = entry[figure].sd;
  cell.digits = info(figure).digits;
  cell.runs = entry[figure].n;
  cell.planned = entry.planned();
  if (cell.runs < cell.planned) cell.marks |= incomplete;
  if (entry.ruined > 0) cell.marks |= ruined;
  return cell;
}

void Builder::mark_best_of(Row& row, std::size_t first, std::span<const Index> methods,
                           int better) const {
  struct Best {
    double value;
    Index ranked = 0;
  };
  std::map<double, Best> at_cost;
  const auto cost = [&](std::size_t i) { return summary.costs[at(methods[i])]; };
  const auto competes = [&](std::size_t i) {
    return is_ranked(row.cells[first + i]) && !std::isnan(cost(i));
  };
  for (std::size_t i = 0; i < methods.size(); ++i) {
    if (!competes(i)) continue;
    const double value = row.cells[first + i].value;
    Best& best = at_cost.try_emplace(cost(i), Best{value}).first->second;
    ++best.ranked;
    if (is_better(value, best.value, better)) best.value = value;
  }
  for (std::size_t i = 0; i < methods.size(); ++i) {
    if (!competes(i)) continue;
    const Best& best = at_cost.at(cost(i));
    TableCell& cell = row.cells[first + i];
    if (best.ranked > 1 && cell.value == best.value) cell.emphasis = Emphasis::best;
  }
}

void Builder::mark_best(Row& row, std::size_t first, Figure figure) const {
  const std::size_t competing = at(summary.competing);
  const int better = info(figure).better;
  mark_best_of(row, first, std::span(summary.columns).first(competing), better);
  std::map<double, double> best;  // at each cost
  for (std::size_t c = 0; c < competing; ++c)
    if (row.cells[first + c].emphasis == Emphasis::best)
      best[summary.costs[at(summary.columns[c])]] = row.cells[first + c].value;
  for (std::size_t c = competing; c < summary.columns.size(); ++c) {
    TableCell& cell = row.cells[first + c];
    const double cost = summary.costs[at(summary.columns[c])];
    if (!is_ranked(cell) || std::isnan(cost)) continue;
    const auto rival = best.find(cost);
    if (rival != best.end() && is_better(cell.value, rival->second, better))
      cell.emphasis = Emphasis::apart;
  }
}

void Builder::explain_best(Table& table) const {
  table.notes.emplace_back(kSpread);
  table.legend = summary.competing < static_cast<Index>(summary.columns.size())
                     ? Legend::best_and_apart
                     : Legend::best;
  table.several_costs = has_several_costs(summary.columns);
}

bool Builder::has_several_costs(std::span<const Index> methods) const {
  return std::ranges::any_of(
      methods, [&](Index m) { return summary.costs[at(m)] != summary.costs[at(methods.front())]; });
}

Table Builder::listing(const std::vector<Figure>& figures, std::string_view name,
                       std::string title) const {
  Table out = table(name, std::move(title), {{.head = "method"}});
  for (const Figure f : figures)
    out.columns.push_back({.head = std::string(info(f).head), .figure = std::string(info(f).name)});
  for (std::size_t g = 0; g < summary.groups.size(); ++g) {
    bool first = true;
    for (const Entry& entry : summary.of_group(static_cast<Index>(g))) {
      const bool any = std::ranges::any_of(figures, [&](Figure f) { return entry[f].n > 0; });
      if (!any) continue;
      Row row = row_of(entry);
      row.rule = std::exchange(first, false);
      for (const Figure f : figures)
        row.cells.push_back(estimate_cell(entry.group, entry.method, f));
      out.rows.push_back(std::move(row));
    }
  }
  out.notes.emplace_back(kSpread);
  return out;
}

Table cells_table(const Builder& make) {
  Table out = make.table("cells", "What has been computed", {{.head = "method"}});
  for (const char* head : {"planned", "done", "failed", "missing", "ruined"})
    out.columns.push_back({.head = head, .figure = head});
  out.columns.push_back({.head = "seconds each", .figure = "seconds"});
  for (std::size_t g = 0; g < make.summary.groups.size(); ++g) {
    bool first = true;
    for (const Entry& entry : make.summary.of_group(static_cast<Index>(g))) {
      Row row = make.row_of(entry);
      row.rule = std::exchange(first, false);
      for (const Index count :
           {entry.planned(), entry.done, entry.failed, entry.missing, entry.ruined})
        row.cells.push_back(TableCell::count(count));
      row.cells.push_back(TableCell::number(entry[Figure::seconds].mean, 1));
      out.rows.push_back(std::move(row));
    }
  }
  out.notes.emplace_back("Seconds of work per cell, the share of a training left out.");
  return out;
}

Table failures_table(const Builder& make) {
  Table out =
      make.table("failures", "Cells that failed",
                 {{.head = "method"}, {.head = "seed"}, {.head = "reason", .figure = "reason"}});
  for (const Entry& entry : make.summary.entries)
    for (const Index c : entry.cells) {
      const study::Cell& cell = make.results.cells[at(c)];
      if (cell.state != CellState::failed) continue;
      Row row = make.row_of(entry);
      row.seed = seed_text(cell);
      row.cells.push_back(TableCell::of(row.seed));
      row.cells.push_back(TableCell::of(cell.reason));
      out.rows.push_back(std::move(row));
    }
  return out;
}

Table warnings_table(const Builder& make) {
  Table out = make.table("warnings", "Warnings",
                         {{.head = "method"},
                          {.head = "warning", .figure = "warning"},
                          {.head = "runs", .figure = "runs"}});
  const auto add = [&](Row row, std::string_view text, const TableCell& runs) {
    row.cells.push_back(TableCell::of(std::string(text)));
    row.cells.push_back(runs);
    out.rows.push_back(std::move(row));
  };
  for (const study::Market& market : make.results.markets) {
    Index item = 0;
    for (const std::string& warning : market.warnings) {
      Row row;
      row.market = market.name;
      row.assets = static_cast<Index>(market.tickers.size());
      row.item = ++item;
      row.cells = {TableCell::of(market_text(market)), TableCell::of(""), TableCell::of("")};
      add(std::move(row), warning, TableCell());
    }
  }
  // The seeds of a method mostly say the same: each text once, with how many say it.
  for (const Entry& entry : make.summary.entries) {
    std::vector<std::pair<std::string_view, Index>> texts;
    std::map<std::string_view, std::size_t> known;
    for (const Index c : entry.cells)
      for (const std::string& warning : make.results.cells[at(c)].warnings) {
        const auto [known_text, is_new] = known.try_emplace(warning, texts.size());
        if (is_new) texts.emplace_back(warning, 0);
        ++texts[known_text->second].second;
      }
    for (std::size_t i = 0; i < texts.size(); ++i) {
      Row row = make.row_of(entry);
      row.item = static_cast<Index>(i) + 1;
      add(std::move(row), texts[i].first, TableCell::count(texts[i].second));
    }
  }
  return out;
}

void add_mark_notes(Table& table) {
  unsigned marks = 0;
  for (const Row& row : table.rows)
    for (const TableCell& cell : row.cells) marks |= cell.marks;
  if ((marks & incomplete) != 0)
    table.notes.emplace_back(
        "† fewer runs than planned have this figure: some are missing, have failed, or it does not "
        "exist for them. The table “cells” counts them.");
  if ((marks & ruined) != 0)
    table.notes.emplace_back(
        "‡ at least one run lost all its wealth. It ends there, and averages over its days "
        "describe no strategy that anyone could have followed.");
  if ((marks & contrary) != 0)
    table.notes.emplace_back(
        "§ the test finds better the one whose mean over the seeds is not the higher one: the "
        "difference of the averaged returns’ Sharpe ratios has not the sign of the difference of "
        "the means. Such a p does not speak for the ranking by means, so it has no stars.");
}

}  // namespace sharpen::report
