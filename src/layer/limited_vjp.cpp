// The derivative of a solution under limits.
#include <algorithm>

#include "base/vec.hpp"
#include "layer/limited_work.hpp"
#include "sharpen/layer/covariance_gradient.hpp"

namespace sharpen::layer {

// Of the direction that the signal gives, of gross 1.
void LimitedSolver::Work::direction_vjp(ConstVec dL_dw, Vec dL_dmu, Vec dL_dmore,
                                        CovarianceSums* sums) {
  path.segment();
  const ConstVec w1 = path.signal_part();
  const double gross = abs_sum(w1);
  const double along = dot(dL_dw, w1) / gross;
  for (std::size_t i = 0; i < g.size(); ++i) {
    const double sign = (w1[i] > 0.0) - (w1[i] < 0.0);
    g[i] = (dL_dw[i] - along * sign) / gross;
  }
  path.project(g);
  if (sums) sums->add(-1.0, g, w1);
  std::copy(g.begin(), g.end(), dL_dmu.begin());
  for (std::size_t i = 0; i < dL_dmore.size(); ++i) dL_dmore[i] = -g[i] * w1[i];
}

// After segment(), whose parts are still there; `along` is dL_dw^T w1.
void LimitedSolver::Work::knots_vjp(const ActivePath::Segment& segment, double along, ConstVec mu,
                                    ConstVec dL_dw, Vec dL_dlower) {
  std::copy(dL_dw.begin(), dL_dw.end(), g.begin());
  const ConstVec w = path.weights(), H0 = path.curved_fixed_part(), w1 = path.signal_part();
  if (objective.kind == Objective::sharpe) {
    const double share = along / segment.return0;
    for (Index i = 0; i < table.n; ++i) {
      const double cost = table.holding_is_knot(i) ? table.costs[at(i)] : 0.0;
      const double earned = mu[at(i)] - cost * upwards(w[at(i)] >= table.holdings[at(i)]);
      g[at(i)] += share * (2.0 * H0[at(i)] - path.theta() * earned);
    }
  } else if (objective.kind == Objective::expected_return) {
    const double share = along / dot(w1, Sw);
    for (std::size_t i = 0; i < g.size(); ++i) g[i] -= share * Sw[i];
  }
  path.pull_of_knots(g);
  for (std::size_t i = 0; i < g.size(); ++i) dL_dlower[i] = w[i] == table.lower[i] ? g[i] : 0.0;
}

void LimitedSolver::vjp(const risk::Risk& risk, Index s, ConstVec mu, ConstVec more,
                        const LimitedState& state, ConstVec dL_dw, Vec dL_dmu, Vec dL_dmore,
                        Vec dL_dlower, CovarianceSums* sums) {
  for (const Vec out : {dL_dmu, dL_dmore, dL_dlower}) std::fill(out.begin(), out.end(), 0.0);
  const bool moves = state.end == LimitedEnd::ok || state.end == LimitedEnd::neutral;
  if (!moves && !(sums && is_solved(state.end))) return;
  Work& work = *work_;
  ActivePath& path = work.path;
  path.reset(work.table);
  path.resume({&risk, s, more}, mu, *state.set);
  if (state.end == LimitedEnd::neutral) return work.direction_vjp(dL_dw, dL_dmu, dL_dmore, sums);
  const double theta = path.theta();
  const ConstVec w = path.weights();
  Vec g = work.g;
  std::copy(dL_dw.begin(), dL_dw.end(), g.begin());
  if (!moves) {
    path.project(g);
    return sums->add(-1.0, g, w);
  }

  double by_w0 = 0.0, along = 0.0;  // what dL_dmu has of w0
  ActivePath::Segment segment;
  if (work.objective.kind != Objective::utility) {
    segment = path.segment();
    const ConstVec w1 = path.signal_part();
    along = dot(dL_dw, w1);
    if (work.objective.kind == Objective::sharpe) {
      by_w0 = along / segment.return0;
    } else {
      const ConstVec H0 = path.curved_fixed_part(), H1 = path.curved_signal_part();
      for (std::size_t i = 0; i < g.size(); ++i)
        work.Sw[i] = H0[i] + theta * H1[i] - (more.empty() ? 0.0 : more[i] * w[i]);
      const double share = along / dot(w1, work.Sw);
      for (std::size_t i = 0; i < g.size(); ++i) g[i] -= share * work.Sw[i];
      if (sums) sums->add(-0.5 * share, w, w);
    }
  }
  path.project(g);
  if (by_w0 != 0.0)
    for (std::size_t i = 0; i < g.size(); ++i) g[i] -= by_w0 * path.fixed_part()[i];
  if (sums) sums->add(-1.0, g, w);
  for (std::size_t i = 0; i < g.size(); ++i) dL_dmu[i] = theta * g[i];
  for (std::size_t i = 0; i < dL_dmore.size(); ++i) dL_dmore[i] = -g[i] * w[i];
  if (!dL_dlower.empty()) work.knots_vjp(segment, along, mu, dL_dw, dL_dlower);
}

}  // namespace sharpen::layer
