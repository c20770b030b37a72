// Point-in-time universes: who belongs to it on which day. Two layouts are told apart by their
// values:
//
//   date,ticker,member        changes: a line counts from its date on, until the next one of its
//   2015-03-23,AAA,in         ticker. Columns and lines in any order; before its first line a
//   2019-12-23,AAA,out        ticker is no member.
//
//   date,AAA,BBB              states, as a panel (panel.hpp), wide or long: 1 for members, 0 for
//   2015-03-31,1,0            others. A row counts from its date on, until the next row.
//
// Whoever decides at the end of a day goes by what the file says of that day, and no later line
// changes it. Dates need not be those of any panel; of two precisions the coarser is compared, and
// a line dated by a month counts in a panel of days when that month is over.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::market {

// A name that joins or leaves.
struct MemberChange {
  std::string ticker, from;
  bool joins = true;
};

class MemberBook {
 public:
  // `file` may also be its text: anything with a line break. Throws InputError with file, line and
  // remedy for one that cannot be read, a ticker that joins while it is a member or leaves while it
  // is none, one with two lines on a date, values that are neither in nor out, 0 nor 1.
  explicit MemberBook(const std::string& file);

  const std::string& name() const { return name_; }  // of the file, for messages

  // (rows + 1, n), not 0: the ticker is a member before the first date (row 0), and at the end of
  // each (row t + 1 for date t). Throws InputError if none of the file's tickers is among `tickers`
  // or `known` (names of a panel that were left out of it).
  std::vector<char> states(std::span<const std::string> dates, std::span<const std::string> tickers,
                           std::span<const std::string> known) const;

  // What a user should know: members without a column, columns that are never members, a panel of
  // states that ended before the dates do; and members that a universe of complete assets leaves
  // out.
  std::vector<std::string> warnings(std::span<const std::string> dates,
                                    std::span<const std::string> tickers,
                                    std::span<const std::string> known,
                                    bool complete = false) const;

  // Throws InputError if the file says nothing of `date` yet, or nobody is a member then.
  void check_first(std::string_view date, std::span<const char> states_then) const;

 private:
  void read_changes(std::string_view text);
  void read_states(std::string_view text);
  void check_order();

  std::string name_, first_;
  std::string last_;  // row of a panel of states; "": changes
  std::vector<MemberChange> changes_;
  std::vector<std::string> where_;  // (changes) file and line, for messages
};

}  // namespace sharpen::market
