// One model of a table, and the five ways it is written.
//
// Every string in here is plain text, however it came: a ticker may be called <script> or =1+1.
// Each writer escapes what its format could take for markup, so that names stay names.
//
// A figure keeps its full precision; how many digits are shown belongs to the figure. What is not
// there is shown as an en dash in every format but CSV, where the field is empty.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::report {

// How a cell stands out; each writer has its own look for it.
enum class Emphasis {
  none,
  best,   // of the methods that compete in its row
  apart,  // one of ours that is better than all of those
};

// Signs behind a figure, as bits; the notes of the table explain them.
enum Mark : unsigned {
  incomplete = 1u << 0,   // fewer runs than planned have it
  ruined = 1u << 1,       // at least one run ended in ruin
  one_star = 1u << 2,     // p < 0.05, adjusted
  two_stars = 1u << 3,    // p < 0.01
  three_stars = 1u << 4,  // p < 0.001
  contrary = 1u << 5,     // the test orders two methods otherwise than their means do
};

struct TableCell {
  enum class Kind { none, text, number, estimate };
  Kind kind = Kind::none;
  std::string text = {};  // of Kind::text
  std::string name = {};  // of a method whose label is the text: what CSV and JSON have
  double value = std::numeric_limits<double>::quiet_NaN();
  double sd = std::numeric_limits<double>::quiet_NaN();  // of estimates, over the runs
  int digits = 3;                                        // shown behind the point
  Index runs = 0;                                        // that the estimate rests on
  Index planned = 0;
  Emphasis emphasis = Emphasis::none;
  unsigned marks = 0;

  static TableCell of(std::string text);
  // Words for programs: the name of what people read the label of.
  const std::string& key() const { return name.empty() ? text : name; }
  static TableCell number(double value, int digits);
  static TableCell count(Index value) { return number(static_cast<double>(value), 0); }
};

struct Column {
  std::string head;
  std::string figure = {};  // what its cells are, for CSV; "" for a column that names the row
  std::string method = {};  // that its cells are of, where each method has a column
  std::string group = {};   // neighbours of equal groups share a heading
};

struct Row {
  // What a cell of the row is, in that column.
  const std::string& figure_in(const Column& column) const {
    return figure.empty() ? column.figure : figure;
  }

  // What the row is of, for CSV; "" and 0 where it does not apply.
  std::string market = {}, k_given = {}, method = {}, seed = {};
  std::string against = {};  // the method that a test compares `method` with
  std::string figure = {};   // of its cells, where it is not that of their columns
  Index assets = 0, k = 0;
  Index item = 0;                     // from 1, where all of the above may be alike in several rows
  std::vector<TableCell> cells = {};  // as many as columns
  bool rule = false;                  // a line above: another market begins
};

// Which emphasis the cells of a table may have. Each writer says how it shows it.
enum class Legend { none, best, best_and_apart };

struct Table {
  std::string name;  // "sharpe": what --table takes
  std::string title;
  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<std::string> notes = {};
  Legend legend = Legend::none;
  bool several_costs = false;  // methods compete only with those that trade at the same one
};

// "0.955 ± 0.014", "0.955", "–"; without emphasis and marks.
std::string plain_text(const TableCell& cell);
// "0.955", "1.2e+09", "–" for what is not finite.
std::string number_text(double value, int digits);

// Columns on terminals that characters take: two for wide ones, none for combining ones.
std::size_t terminal_width(std::string_view text);

// Aligned columns; the best has a ▸ before it, and what stands apart a ▹.
std::string to_text(const Table& table);
// GitHub's tables.
std::string to_markdown(const Table& table);
// For booktabs and T1 fonts; ASCII unless names are not.
std::string to_latex(const Table& table);
// RFC 4180, one line per figure of every table, in full precision. Text that a spreadsheet could
// take for a formula has an apostrophe before it.
std::string to_csv(std::span<const Table> tables);
// A <table> with its caption and notes. Numbers are also in data-value, for sorting.
std::string to_html(const Table& table);

// Text as each format needs it.
std::string markdown_escaped(std::string_view text);
std::string latex_escaped(std::string_view text);
std::string csv_field(std::string_view text);
std::string html_escaped(std::string_view text);

}  // namespace sharpen::report
