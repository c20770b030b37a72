// A CSV with a line for each asset: columns in any order, among them `asset` and perhaps `date`,
// from which on a line counts.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::market {

// One line of a table: its fields, and where it is.
struct TableLine {
  std::vector<std::string> fields;
  Index number = 0;
};

struct AssetTable {
  std::string_view name;  // of the file, for messages
  std::vector<std::string> header;
  std::vector<TableLine> lines;  // of as many fields as the header
  Index asset = -1, date = -1;   // columns; a date of -1: there is none

  Index column(std::string_view title) const;  // -1: there is none
  const std::string& asset_of(const TableLine& line) const { return line.fields[at(asset)]; }
  // "": the line counts always.
  std::string date_of(const TableLine& line) const;

  std::string where(const TableLine& line) const;  // FILE:LINE
  [[noreturn]] void fail(const TableLine& line, const std::string& what) const;
  // About a field that is no number.
  [[noreturn]] void fail_number(const TableLine& line, std::size_t column) const;
  // Throws InputError if the line's asset is among `seen` with that date already; then it is.
  void refuse_twice(const TableLine& line, const std::string& date,
                    std::map<std::pair<std::string, std::string>, Index>& seen) const;
};

// Throws InputError with the line for text that is no such table. `example`: of a first line.
AssetTable read_asset_table(std::string_view text, std::string_view name, std::string_view example);

// Throws InputError: nothing is called so.
[[noreturn]] void fail_unknown_asset(const std::string& where, std::string_view asset,
                                     std::span<const std::string_view> known);

}  // namespace sharpen::market
