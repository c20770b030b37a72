// Whether limits can hold together, and a proof where they cannot.
//
// A proof are multipliers y of the rows, gross and turnover by which every w between its bounds
// makes the sum of rows larger than the limits allow:
//   gap(y) = sum_i min over [lower_i, upper_i] of phi_i
//            - sum over y_r > 0 of y_r upper_r - sum over y_r < 0 of y_r lower_r
//            - y_gross gross - y_turnover turnover  >  0,
//   phi_i(w) = (sum_r y_r a_ri) w + y_gross |w| + y_turnover |w - h_i|.
#pragma once

#include <optional>
#include <vector>

#include "sharpen/base/view.hpp"
#include "sharpen/layer/limits.hpp"
#include "sharpen/layer/objective.hpp"

namespace sharpen::layer {

struct Feasibility {
  enum class Answer { yes, no, unknown } answer = Answer::unknown;
  std::vector<double> w;      // yes: (n) weights under these limits
  std::vector<double> proof;  // no: (rows + 2) multipliers, gross and turnover last
};
// By the kernel, at an optimum of its own choice.
Feasibility feasibility(const Limits& limits, Index n);

// Weights (n) between their bounds, as alike as these allow, whose sum is as near to `net` as they
// allow: mostly under the other limits, too, and found at once.
std::vector<double> even_weights(const Limits& limits, Index n, double net);

// Whether weights w (n) are under these limits, to rounding; not what counts names.
bool holds(const Limits& limits, ConstVec w);

// The row that the kernel adds for the Sharpe ratio is the last one then.
Limits with_net_row(Limits limits, Index n, Objective objective);

// How fast a gap falls per unit by which each limit is widened: what a proof rests on.
struct ProofParts {
  double gap = 0.0;
  std::vector<double> lower, upper;  // (n) of the bounds
  std::vector<double> rows;          // (rows + 2) of the side that y_r is of
};
ProofParts parts_of(const Limits& limits, Index n, ConstVec proof);

}  // namespace sharpen::layer
