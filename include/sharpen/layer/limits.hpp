// Limits on the weights w (n) of a portfolio, and what trading costs:
//   lower <= w <= upper               per asset
//   lower_r <= a_r^T w <= upper_r     rows: groups, exposures, the net position
//   |w|_1 <= gross,  |w - h|_1 <= turnover    h the holdings
//   kappa^T |w - h|                   costs, paid out of the return
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::layer {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

struct LimitRow {
  std::string name;                  // for messages
  std::vector<double> coefficients;  // (n)
  double lower = -kUnlimited;
  double upper = kUnlimited;
};

struct Limits {
  std::vector<double> lower, upper;  // (n); empty: none
  std::vector<LimitRow> rows;
  double gross = kUnlimited;
  double turnover = kUnlimited;  // needs holdings
  std::vector<double> holdings;  // (n); empty: nothing is held, and trading is free
  std::vector<double> costs;     // (n), kappa >= 0 per unit traded; empty: none; needs holdings

  // Throws InputError naming the limit, its value and the bound; limits that are each in order but
  // cannot hold together are not its business.
  void validate(Index n) const;
};

}  // namespace sharpen::layer
