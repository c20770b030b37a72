// Limits on the weights w (n) of a portfolio, and what trading costs:
//   lower <= w <= upper               per asset
//   lower_r <= a_r^T w <= upper_r     rows: groups, exposures, the net position
//   |w|_1 <= gross,  |w - h|_1 <= turnover    h the holdings
//   kappa^T |w - h|                   costs, paid out of the return
// and of a choice of names, which has no place in one solve:
//   w_i = 0 or |w_i| >= least_i       if held, at least
//   least_g <= names held of group g <= most_g
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

  bool operator==(const LimitRow&) const = default;
};

// Of the names held, not of their weights.
struct NamesLimit {
  std::string name;            // for messages
  std::vector<Index> members;  // ascending
  Index least = 0;
  Index most = std::numeric_limits<Index>::max();

  bool operator==(const NamesLimit&) const = default;
};

struct Limits {
  std::vector<double> lower, upper;  // (n); empty: none
  std::vector<LimitRow> rows;
  double gross = kUnlimited;
  double turnover = kUnlimited;  // needs holdings
  std::vector<double> holdings;  // (n); empty: nothing is held, and trading is free
  std::vector<double> costs;     // (n), kappa >= 0 per unit traded; empty: none; needs holdings
  std::vector<double> least_if_held;  // (n), >= 0; empty: none
  std::vector<NamesLimit> names;

  // Throws InputError naming the limit, its value and the bound; limits that are each in order but
  // cannot hold together are not its business.
  void validate(Index n) const;
  bool operator==(const Limits&) const = default;
};

// Limits that may differ from sample to sample of a risk model.
struct LimitSchedule {
  std::vector<Limits> limits;
  std::vector<Index> of_sample;  // which of them; empty: the first for all

  const Limits& of(Index sample) const {
    return limits[of_sample.empty() ? 0 : at(of_sample[at(sample)])];
  }
};

}  // namespace sharpen::layer
