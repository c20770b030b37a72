#include "report/table_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

bool is_ranked(const Cell& cell) { return std::isfinite(cell.value) && (cell.marks & ruined) == 0; }

}  // namespace

std::vector<Column> Builder::row_names() const { return {{.head = "market"}, {.head = "k"}}; }

Row Builder::row_of(Index group) const {
  const Group& of = summary.groups[at(group)];
  const study::Market& market = results.markets[at(of.market)];
  Row row;
  row.market = market.name;
  row.assets = static_cast<Index>(market.tickers.size());
  row.k = of.k;
  row.k_given = of.k_given;
  row.rule = group > 0 && summary.groups[at(group - 1)].market != of.market;
  row.cells = {Cell::of(market_text(market)), Cell::of(k_text(of))};
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

Cell Builder::estimate_cell(Index group, Index method, Figure figure) const {
  const Entry& entry = summary.entry(group, method);
  Cell cell;
  if (entry.planned() == 0) return cell;
  cell.kind = Cell::Kind::estimate;
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
  for (std::size_t i = 0; i < methods.size(); ++i) {
    Cell& cell = row.cells[first + i];
    if (!is_ranked(cell)) continue;
    bool rivals = false, beaten = false;
    for (std::size_t j = 0; j < methods.size(); ++j) {
      const Cell& other = row.cells[first + j];
      const bool fair = summary.costs[at(methods[i])] == summary.costs[at(methods[j])];
      if (i == j || !fair || !is_ranked(other)) continue;
      rivals = true;
      beaten = beaten || is_better(other.value, cell.value, better);
    }
    if (rivals && !beaten) cell.emphasis = Emphasis::best;
  }
}

void Builder::mark_best(Row& row, Figure figure) const {
  const std::size_t first = row_names().size(), competing = at(summary.competing);
  const int better = info(figure).better;
  mark_best_of(row, first, std::span(summary.columns).first(competing), better);
  for (std::size_t c = competing; c < summary.columns.size(); ++c) {
    Cell& cell = row.cells[first + c];
    bool above = false;
    for (std::size_t d = 0; d < competing; ++d) {
      const Cell& other = row.cells[first + d];
      const bool fair =
          summary.costs[at(summary.columns[c])] == summary.costs[at(summary.columns[d])];
      if (fair && other.emphasis == Emphasis::best)
        above = is_better(cell.value, other.value, better);
    }
    if (above && is_ranked(cell)) cell.emphasis = Emphasis::apart;
  }
}

Table cells_table(const Builder& make) {
  Table out{
      .name = "cells", .title = "What has been computed", .columns = make.row_names(), .rows = {}};
  out.columns.push_back({.head = "method"});
  for (const char* head : {"planned", "done", "failed", "missing", "ruined"})
    out.columns.push_back({.head = head, .figure = head});
  out.columns.push_back({.head = "seconds each", .figure = "seconds"});
  for (std::size_t g = 0; g < make.summary.groups.size(); ++g) {
    bool first = true;
    for (std::size_t m = 0; m < make.results.methods.size(); ++m) {
      const Entry& entry = make.summary.entry(static_cast<Index>(g), static_cast<Index>(m));
      if (entry.planned() == 0) continue;
      Row row = make.row_of(static_cast<Index>(g));
      row.method = make.results.methods[m].name;
      row.rule = first;
      first = false;
      row.cells.push_back(Cell::of(make.results.methods[m].label));
      for (const Index count :
           {entry.planned(), entry.done, entry.failed, entry.missing, entry.ruined})
        row.cells.push_back(Cell::count(count));
      row.cells.push_back(Cell::number(entry[Figure::seconds].mean, 1));
      out.rows.push_back(std::move(row));
    }
  }
  out.notes.emplace_back("Seconds of work per cell, the share of a training left out.");
  return out;
}

Table failures_table(const Builder& make) {
  Table out{
      .name = "failures", .title = "Cells that failed", .columns = make.row_names(), .rows = {}};
  out.columns.push_back({.head = "method"});
  out.columns.push_back({.head = "seed"});
  out.columns.push_back({.head = "reason", .figure = "reason"});
  for (std::size_t g = 0; g < make.summary.groups.size(); ++g)
    for (std::size_t m = 0; m < make.results.methods.size(); ++m)
      for (const Index c : make.summary.entry(static_cast<Index>(g), static_cast<Index>(m)).cells) {
        const study::Cell& cell = make.results.cells[at(c)];
        if (cell.state != CellState::failed) continue;
        Row row = make.row_of(static_cast<Index>(g));
        row.rule = false;
        row.method = make.results.methods[m].name;
        row.seed = seed_text(cell);
        row.cells.push_back(Cell::of(make.results.methods[m].label));
        row.cells.push_back(Cell::of(row.seed));
        row.cells.push_back(Cell::of(cell.reason));
        out.rows.push_back(std::move(row));
      }
  return out;
}

Table warnings_table(const Builder& make) {
  Table out{.name = "warnings", .title = "Warnings", .columns = make.row_names(), .rows = {}};
  out.columns.push_back({.head = "method"});
  out.columns.push_back({.head = "warning", .figure = "warning"});
  out.columns.push_back({.head = "runs", .figure = "runs"});
  const auto add = [&](Row row, std::string label, const std::string& text, Index runs) {
    row.rule = false;
    row.cells.push_back(Cell::of(std::move(label)));
    row.cells.push_back(Cell::of(text));
    row.cells.push_back(runs > 0 ? Cell::count(runs) : Cell());
    out.rows.push_back(std::move(row));
  };
  for (const study::Market& market : make.results.markets)
    for (const std::string& warning : market.warnings) {
      Row row;
      row.market = market.name;
      row.assets = static_cast<Index>(market.tickers.size());
      row.cells = {Cell::of(market_text(market)), Cell::of("")};
      add(std::move(row), "", warning, 0);
    }
  // The seeds of a method mostly say the same: each text once, with how many say it.
  for (std::size_t g = 0; g < make.summary.groups.size(); ++g)
    for (std::size_t m = 0; m < make.results.methods.size(); ++m) {
      std::vector<std::pair<std::string, Index>> texts;
      for (const Index c : make.summary.entry(static_cast<Index>(g), static_cast<Index>(m)).cells)
        for (const std::string& warning : make.results.cells[at(c)].warnings) {
          const auto known =
              std::ranges::find(texts, warning, &std::pair<std::string, Index>::first);
          if (known == texts.end()) {
            texts.emplace_back(warning, 1);
          } else {
            ++known->second;
          }
        }
      for (const auto& [text, runs] : texts) {
        Row row = make.row_of(static_cast<Index>(g));
        row.method = make.results.methods[m].name;
        add(std::move(row), make.results.methods[m].label, text, runs);
      }
    }
  return out;
}

void add_mark_notes(Table& table) {
  unsigned marks = 0;
  for (const Row& row : table.rows)
    for (const Cell& cell : row.cells) marks |= cell.marks;
  if ((marks & incomplete) != 0)
    table.notes.emplace_back(
        "† fewer runs than planned have this figure: some are missing, have failed, or it does not "
        "exist for them. The table “cells” counts them.");
  if ((marks & ruined) != 0)
    table.notes.emplace_back(
        "‡ at least one run lost all its wealth. It ends there, and averages over its days "
        "describe "
        "no strategy that anyone could have followed.");
  if ((marks & contrary) != 0)
    table.notes.emplace_back(
        "§ the test finds better the one whose mean over the seeds is not the higher one: the "
        "difference of the averaged returns’ Sharpe ratios has not the sign of the difference of "
        "the means. Such a p does not speak for the ranking by means, so it has no stars.");
}

}  // namespace sharpen::report
