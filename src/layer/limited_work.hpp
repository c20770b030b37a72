// What a solver under limits (limited.hpp) works with.
#pragma once

#include <vector>

#include "layer/active_path.hpp"
#include "sharpen/layer/limited.hpp"

namespace sharpen::layer {

struct LimitedSolver::Work {
  Work(const ObjectiveSettings& objective_, const LimitTable& limits)
      : objective(objective_), table(limits), path(table), g(at(limits.n)), Sw(at(limits.n)) {}

  double first_theta(const risk::Risk& risk, Index s, ConstVec mu) const;
  double start_of(LimitedEnd from) const;
  bool usable(const Curvature& H, ConstVec mu) const;
  bool rows_within(ConstVec lower, ConstVec upper) const;
  LimitedEnd reach(double theta, bool finish);
  LimitedEnd maximize_sharpe(bool finish);
  LimitedEnd spend_risk(bool finish);

  double value_at(const ActivePath::Segment& segment, double theta);
  void direction_vjp(ConstVec dL_dw, Vec dL_dmu, Vec dL_dmore, CovarianceSums* sums);
  void knots_vjp(const ActivePath::Segment& segment, double along, ConstVec mu, ConstVec dL_dw,
                 Vec dL_dlower);

  ObjectiveSettings objective;
  LimitTable table;
  ActivePath path;
  LimitedEnd given = LimitedEnd::ok;         // what is wrong with bounds and holdings
  LimitedEnd last = LimitedEnd::infeasible;  // of the last solution
  double value = 0.0, risk_taken = 0.0;
  double alone = 0.0;  // theta of the first name alone
  std::vector<double> g, Sw;
};

}  // namespace sharpen::layer
