#include "learn/objective.hpp"

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"

namespace sharpen::learn {

namespace {

double sum_of_squares(ConstMat a) {
  double sum = 0.0;
  for (Index b = 0; b < a.rows; ++b) sum += dot_in_order(a.row(b), a.row(b));
  return sum;
}

}  // namespace

double prediction_loss(ConstMat mu, ConstMat r, Mat dP_dmu) {
  const auto batch = static_cast<double>(mu.rows);
  double sum = 0.0;
  for (Index b = 0; b < mu.rows; ++b)
    for (Index i = 0; i < mu.cols; ++i) {
      const double error = mu(b, i) - r(b, i);
      sum += error * error;
      dP_dmu(b, i) = 2.0 * error / batch;
    }
  return sum / batch;
}

double decision_loss(DecisionLoss kind, ConstVec q, Vec dD_dq) {
  const auto count = static_cast<double>(q.size());
  double mean = 0.0, square = 0.0;
  for (const double x : q) mean += x;
  mean /= count;
  if (kind == DecisionLoss::mean_return) {
    std::fill(dD_dq.begin(), dD_dq.end(), -1.0 / count);
    return -mean;
  }
  for (const double x : q) square += (x - mean) * (x - mean);
  const double sd = q.size() > 1 ? std::sqrt(square / (count - 1.0)) : 0.0;
  if (!(sd > 1e-12 * std::abs(mean))) {  // also where both are zero
    std::fill(dD_dq.begin(), dD_dq.end(), 0.0);
    return 0.0;
  }
  for (std::size_t b = 0; b < q.size(); ++b)
    dD_dq[b] = -1.0 / (count * sd) + mean * (q[b] - mean) / ((count - 1.0) * sd * sd * sd);
  return -mean / sd;
}

Objective::Objective(const layer::SparseTangent& layer, double alpha, Mixing mixing,
                     DecisionLoss decision, Index max_batch, int max_threads)
    : layer_(&layer),
      alpha_(alpha),
      mixing_(mixing),
      decision_(decision),
      cache_(layer, max_batch, max_threads),
      w_(at(max_batch * layer.n())),
      dD_dmu_(at(max_batch * layer.n())),
      q_(at(max_batch)),
      dD_dq_(at(max_batch)),
      outcomes_(at(max_batch)),
      decided_(at(max_batch)) {}

Loss Objective::evaluate(std::span<const Index> samples, ConstMat mu, ConstMat r, Mat dL_dmu,
                         const Threads& threads, const layer::BatchLimits& own) {
  const Index batch = mu.rows, n = mu.cols;
  const Mat w(w_.data(), batch, n), dD_dmu(dD_dmu_.data(), batch, n);
  const std::span<Outcome> outcomes = std::span(outcomes_).first(at(batch));
  const Vec q = Vec(q_).first(at(batch)), dD_dq = Vec(dD_dq_).first(at(batch));

  Loss loss;
  loss.prediction = prediction_loss(mu, r, dL_dmu);
  layer_->forward(samples, mu, cache_, w, outcomes, threads, own);
  // Weights that are not there are NaN, all of them.
  for (Index b = 0; b < batch; ++b) decided_[at(b)] = !std::isnan(w(b, 0));
  const auto decided = [&](Index b) { return decided_[at(b)]; };
  for (Index b = 0; b < batch; ++b) q[at(b)] = decided(b) ? dot_in_order(r.row(b), w.row(b)) : 0.0;
  loss.decision = decision_loss(decision_, q, dD_dq);
  // w has been used: it now holds dD/dw.
  for (Index b = 0; b < batch; ++b)
    for (Index i = 0; i < n; ++i) w(b, i) = decided(b) ? dD_dq[at(b)] * r(b, i) : 0.0;
  layer_->vjp(cache_, w, dD_dmu, threads);

  if (mixing_ == Mixing::balanced) {
    const double decision = sum_of_squares(dD_dmu);
    loss.balance = decision > 0.0 ? std::sqrt(sum_of_squares(dL_dmu) / decision) : 0.0;
  }
  for (Index b = 0; b < batch; ++b)
    for (Index i = 0; i < n; ++i)
      dL_dmu(b, i) = alpha_ * loss.balance * dD_dmu(b, i) + (1.0 - alpha_) * dL_dmu(b, i);
  loss.total = alpha_ * loss.balance * loss.decision + (1.0 - alpha_) * loss.prediction;
  return loss;
}

}  // namespace sharpen::learn
