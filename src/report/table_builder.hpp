// What the tables of a report are built from.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sharpen/report/report.hpp"

namespace sharpen::report {

struct Builder {
  const study::Results& results;
  const Summary& summary;

  // market (N) and k.
  std::vector<Column> row_names() const;
  // The row of a group, with the cells that name it.
  Row row_of(Index group) const;
  // A column for each of the summary's columns, ours under a heading of their own.
  void add_method_columns(Table& table, Figure figure) const;
  // Mean and deviation with their marks; none where the study plans no such cell.
  Cell estimate_cell(Index group, Index method, Figure figure) const;
  // Of a row with a cell per method of the summary's columns.
  void mark_best(Row& row, Figure figure) const;
  // Of the cells of these methods, from `first` on: at every cost those with the best mean, if at
  // least two have one. What is ruined does not count.
  void mark_best_of(Row& row, std::size_t first, std::span<const Index> methods, int better) const;
  bool has_several_costs(std::span<const Index> methods) const;
};

Table cells_table(const Builder& make);
Table failures_table(const Builder& make);
Table warnings_table(const Builder& make);

// Says what the marks in the table mean, where it has any.
void add_mark_notes(Table& table);

}  // namespace sharpen::report
