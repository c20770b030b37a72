// Why a portfolio holds what it holds: for each name its signal, score and risk, what the
// Sharpe ratio loses without it, and the one name left out that would add most.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sharpen/select/select.hpp"

namespace sharpen::select {

struct Reason {
  Index asset = 0;
  double mu = 0.0;
  // Of s = |L^-1 m| for oscar, |Sigma^(-1/2) m| otherwise, scaled so that s^T s = 1 over all n
  // assets; m = mu, or mu - (B/A) 1 on the t = 0 face.
  double score = 0.0;
  Index score_rank = 0;                 // 1 is the largest score of all n; ties: lower column first
  double risk_contribution = 0.0;       // w_i (Sigma w)_i / w^T Sigma w; they sum to 1
  double sharpe_lost_if_removed = 0.0;  // after solving again on the other names
};

struct LeftOut {
  Index asset = 0;
  double sharpe_gain = 0.0;  // after solving again with this name as well: one name more
};

// A limit that is felt: a bound of a name that is held, a row, gross or turnover.
struct BindingLimit {
  std::string name;  // of the row, "gross", "turnover"; of a bound "lower", "upper", "if held"
  Index asset = -1;  // of a bound
  double value = 0.0, limit = 0.0;
  double multiplier = 0.0;  // what a unit more of it is worth to first order, in return
  // What the objective (the Sharpe ratio, for sharpe) gains on the same names without this limit;
  // infinite if nothing else holds them back.
  double sharpe_cost = 0.0;
};

struct Explanation {
  std::vector<Reason> reasons;           // as Portfolio::support; empty for cash
  std::optional<LeftOut> best_left_out;  // none if no single name would add anything
  std::vector<BindingLimit> binding;     // under limits: bounds by asset, then the rows as given
};

// `portfolio` is what a Selector with these settings gave for (risk, sample, mu). The Risk needs
// Parts::lower for oscar and Parts::root for every other optimizer. A portfolio of invalid input
// has no explanation: the result is empty. Where Sigma_KK needed a jitter, so do the ratios without
// a name. Costs k^2 n beyond one solve, and memory for matrices (k, k) and (k, n - k). Throws
// Interrupted once `stop` says so.
Explanation explain(const SelectSettings& settings, const risk::Risk& risk, Index sample,
                    ConstVec mu, const Portfolio& portfolio, const Stop& stop = {});

// The same of what a LimitedSelector gave under these limits. Scores are of |L^T y| for oscar,
// |Sigma^(1/2) y| otherwise, y the best portfolio of any number of names. Where the limits cannot
// hold without a name, what is lost without it is NaN. A portfolio without weights, or of net
// position zero, has no binding limits, and its reasons have no ratios without a name.
Explanation explain_limited(const SelectSettings& settings, const risk::Risk& risk, Index sample,
                            ConstVec mu, const layer::Limits& limits, const Portfolio& portfolio,
                            const Stop& stop = {});

}  // namespace sharpen::select
