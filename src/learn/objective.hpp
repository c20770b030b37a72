// The loss of a batch and its gradient at the expected returns mu (B, n), targets r (B, n):
//   P = mean_b |mu_b - r_b|^2                        prediction
//   D = -mean_b q_b,  or  -mean(q) / sd(q)           decision, q_b = r_b' w(mu_b; Sigma_b)
//   loss = alpha c D + (1 - alpha) P
// with c = 1 (literal), or such that c dD/dmu has the root mean square of dP/dmu (balanced; c is
// a constant of the batch, not differentiated). A decision that cannot be made has q_b = 0 and no
// gradient.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "learn/decisions.hpp"
#include "sharpen/base/status.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/layer/sparse_tangent.hpp"
#include "sharpen/learn/settings.hpp"

namespace sharpen::learn {

struct Loss {
  double prediction = 0.0, decision = 0.0;
  double balance = 1.0;  // c
  double total = 0.0;
};

struct LossSettings {
  double alpha = 0.5;
  Mixing mixing = Mixing::literal;
  DecisionLoss decision = DecisionLoss::mean_return;
  PredictionLoss prediction = PredictionLoss::squared;
  double unit = 1.0;  // of the returns
};

// The prediction loss P, and its gradient.
double prediction_loss(ConstMat mu, ConstMat r, Mat dP_dmu);
// e' Sigma^-1 e unit^2 in the place of |e|^2, but where a sample has no risk. scratch: as the risk
// model needs it, for every thread.
double prediction_loss(const risk::Risk& risk, std::span<const Index> samples, double unit,
                       ConstMat mu, ConstMat r, Mat dP_dmu, Vec scratch, const Threads& threads);

// D of returns q, and dD_dq; both zero for a Sharpe ratio of returns that do not vary.
double decision_loss(DecisionLoss kind, ConstVec q, Vec dD_dq);

// The loss and its gradient: dL_dmu holds dP_dmu before; loss.prediction and loss.decision are
// there.
void mix(const LossSettings& settings, ConstMat dD_dmu, Mat dL_dmu, Loss& loss);

class Objective {
 public:
  // `layer` must outlive the objective.
  Objective(const layer::SparseTangent& layer, const LossSettings& settings, Index max_batch,
            int max_threads);
  Objective(std::unique_ptr<Decisions> decisions, const LossSettings& settings, Index max_batch,
            int max_threads);

  // samples (B): of the layer's risk model. own: what the instances have of their own, under
  // limits.
  Loss evaluate(std::span<const Index> samples, ConstMat mu, ConstMat r, Mat dL_dmu,
                const Threads& threads, const layer::BatchLimits& own = {});

 private:
  std::unique_ptr<Decisions> decisions_;
  LossSettings settings_;
  std::vector<double> w_, dD_dmu_, q_, dD_dq_;
  std::vector<Outcome> outcomes_;
  std::vector<bool> decided_;
  std::vector<double> scratch_;
};

}  // namespace sharpen::learn
