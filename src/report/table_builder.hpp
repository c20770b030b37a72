// What the tables of a report are built from, and what their writers share.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/report/report.hpp"
#include "sharpen/report/table.hpp"

namespace sharpen::report {

constexpr std::size_t kRowNames = 2;  // columns that name the row of a group

// What a method learns from, if it learns.
enum class Learning { none, prediction, decision };
Learning learning_of(const study::Method& method);

struct Builder {
  const study::Results& results;
  const Summary& summary;

  // One without rows, whose first columns name market (N) and k, and then what `more` say.
  Table table(std::string_view name, std::string title, std::vector<Column> more = {}) const;
  // The row of a group, with the cells that name it; of an entry: with its method's label too.
  Row row_of(Index group) const;
  Row row_of(const Entry& entry) const;
  // A column for each of the summary's columns, ours under a heading of their own.
  void add_method_columns(Table& table, Figure figure) const;
  // Mean and deviation with their marks; none where the study plans no such cell.
  TableCell estimate_cell(Index group, Index method, Figure figure) const;
  // Of a row with a cell per method of the summary's columns, from `first` on; and what that means.
  void mark_best(Row& row, std::size_t first, Figure figure) const;
  void explain_best(Table& table) const;
  // Of the cells of these methods, from `first` on: at every cost those with the best mean, if at
  // least two have one. What is ruined does not count.
  void mark_best_of(Row& row, std::size_t first, std::span<const Index> methods, int better) const;
  bool has_several_costs(std::span<const Index> methods) const;
  // A row per method, a column per figure.
  Table listing(const std::vector<Figure>& figures, std::string_view name, std::string title) const;
};

constexpr std::string_view kSpread =
    "Mean ± standard deviation (divisor n − 1) over the seeds; without ± there is one run.";

// What is left after costs: what they were, against equal weights, and at other costs.
Table costs_table(const Builder& make);
Table equal_table(const Builder& make);
Table at_cost_table(const Builder& make);
Table cells_table(const Builder& make);
Table failures_table(const Builder& make);
Table warnings_table(const Builder& make);

// The sentences on who is above zero, and above equal weights, after costs.
void add_after_costs(const study::Results& results, const Summary& summary,
                     std::vector<std::string>& out);
// How far the volatility is from the one that was aimed at, where it is far.
void add_aims(const study::Results& results, const Summary& summary, std::vector<std::string>& out);

// Says what the marks in the table mean, where it has any.
void add_mark_notes(Table& table);

// Text whose control characters and broken bytes are spelled out, in full length.
std::string clean(std::string_view text);

// The notes of a table, before them what its emphasis means, given how it looks.
std::vector<std::string> notes_of(const Table& table, const std::string& best,
                                  const std::string& apart);

// The signs of a cell's marks: "***†‡§".
std::string marks_text(unsigned marks);

// The end of the columns that share the heading of column `first`.
std::size_t group_end(const Table& table, std::size_t first);
bool has_groups(const Table& table);

// Columns that name the row and columns of words are set left, figures right.
bool is_left(const Table& table, std::size_t column);

}  // namespace sharpen::report
