// What an account holds, as a broker lists it: a CSV of `asset,shares` or `asset,weight`, with one
// row `cash` for money, or its share of the wealth. Two more columns may stand there, which our own
// files have: `date`, the day whose close the list is of (without it, the day of the decision), and
// `cost`, in the row of cash what the trades of that day have cost, which cash is without.
//
// From then on, per period of returns r with risk-free rate f, fee and spread as in account.hpp, in
// money x_i of name i, cash c and cost q of the day before:
//   c next = c + (c + q) f - fee sum_i max(0, -x_i) - spread max(0, -(c + q)),  x next = x (1 + r)
// which is what Account does in shares of wealth.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/view.hpp"
#include "sharpen/trade/account.hpp"

namespace sharpen::trade {

// The name of the row of money.
inline constexpr std::string_view kCash = "cash";

struct Holding {
  std::string asset;
  double amount = 0.0;     // shares, or a share of the wealth
  std::string where = {};  // FILE:LINE
};

struct Positions {
  std::string name = {};  // of the file, for messages
  bool in_shares = false;
  std::vector<Holding> holdings = {};  // none twice
  double cash = 0.0;
  double cost = 0.0;      // of the trades of its day
  std::string date = {};  // "": of the day of the decision
};

// Throws InputError with file, line and remedy for a column that is missing, a name that is there
// twice, a number that is none, no row for cash, several dates, and weights that do not add up.
Positions read_positions(const std::filesystem::path& file);
Positions parse_positions(std::string_view text, std::string_view name);
// asset,shares,date,cost or asset,weight,date,cost; what is not held is left out, cash comes last.
// Read back to the same bits.
std::string positions_csv(const Positions& positions);

// As shortest() has it, but whole numbers in full: 100000, not 1e+05.
std::string plain_number(double value);

// Money in an account from day to day.
struct Balance {
  std::vector<double> values;  // (n) x
  double cash = 0.0;           // c
  double cost = 0.0;           // q

  double wealth() const;
  // `returns` (n): NaN for none.
  void live(ConstVec returns, const Rates& rates);
};

}  // namespace sharpen::trade
