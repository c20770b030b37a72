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

double prediction_loss(const risk::Risk& risk, std::span<const Index> samples, double unit,
                       ConstMat mu, ConstMat r, Mat dP_dmu, Vec scratch, const Threads& threads) {
  const Index batch = mu.rows, n = mu.cols, size = risk.scratch_size() + n;
  threads.for_each(batch, [&](Index b, int slot) {
    const Vec own = scratch.subspan(at(slot * size), at(size));
    const Vec error = own.first(at(n)), slope = dP_dmu.row(b);
    for (Index i = 0; i < n; ++i) error[at(i)] = mu(b, i) - r(b, i);
    const bool risky = risk.status(samples[at(b)]) == Status::ok;
    if (risky) risk.solve(samples[at(b)], error, slope, own.subspan(at(n)));
    const double factor = 2.0 * (risky ? unit * unit : 1.0) / static_cast<double>(batch);
    for (Index i = 0; i < n; ++i) slope[at(i)] = factor * (risky ? slope[at(i)] : error[at(i)]);
  });
  double loss = 0.0;  // a quadratic form is half of its slope along the error
  for (Index b = 0; b < batch; ++b)
    for (Index i = 0; i < n; ++i) loss += 0.5 * (mu(b, i) - r(b, i)) * dP_dmu(b, i);
  return loss;
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

void mix(const LossSettings& settings, ConstMat dD_dmu, Mat dL_dmu, Loss& loss) {
  const double alpha = settings.alpha;
  if (settings.mixing == Mixing::balanced) {
    const double decision = sum_of_squares(dD_dmu);
    loss.balance = decision > 0.0 ? std::sqrt(sum_of_squares(dL_dmu) / decision) : 0.0;
  }
  for (Index b = 0; b < dL_dmu.rows; ++b)
    for (Index i = 0; i < dL_dmu.cols; ++i)
      dL_dmu(b, i) = alpha * loss.balance * dD_dmu(b, i) + (1.0 - alpha) * dL_dmu(b, i);
  loss.total = alpha * loss.balance * loss.decision + (1.0 - alpha) * loss.prediction;
}

Objective::Objective(const layer::SparseTangent& layer, const LossSettings& settings,
                     Index max_batch, int max_threads)
    : Objective(decisions_of(layer, max_batch, max_threads), settings, max_batch, max_threads) {}

Objective::Objective(std::unique_ptr<Decisions> decisions, const LossSettings& settings,
                     Index max_batch, int max_threads)
    : decisions_(std::move(decisions)),
      settings_(settings),
      w_(at(max_batch * decisions_->n())),
      dD_dmu_(at(max_batch * decisions_->n())),
      q_(at(max_batch)),
      dD_dq_(at(max_batch)),
      outcomes_(at(max_batch)),
      decided_(at(max_batch)),
      scratch_(at(static_cast<Index>(max_threads) *
                  (decisions_->risk().scratch_size() + decisions_->n()))) {}

Loss Objective::evaluate(std::span<const Index> samples, ConstMat mu, ConstMat r, Mat dL_dmu,
                         const Threads& threads, const layer::BatchLimits& own) {
  const Index batch = mu.rows, n = mu.cols;
  const Mat w(w_.data(), batch, n), dD_dmu(dD_dmu_.data(), batch, n);
  const std::span<Outcome> outcomes = std::span(outcomes_).first(at(batch));
  const Vec q = Vec(q_).first(at(batch)), dD_dq = Vec(dD_dq_).first(at(batch));

  Loss loss;
  loss.prediction = settings_.prediction == PredictionLoss::squared
                        ? prediction_loss(mu, r, dL_dmu)
                        : prediction_loss(decisions_->risk(), samples, settings_.unit, mu, r,
                                          dL_dmu, scratch_, threads);
  decisions_->forward(samples, mu, w, outcomes, threads, own);
  // Weights that are not there are NaN, all of them.
  for (Index b = 0; b < batch; ++b) decided_[at(b)] = !std::isnan(w(b, 0));
  const auto decided = [&](Index b) { return decided_[at(b)]; };
  for (Index b = 0; b < batch; ++b) q[at(b)] = decided(b) ? dot_in_order(r.row(b), w.row(b)) : 0.0;
  loss.decision = decision_loss(settings_.decision, q, dD_dq);
  // w has been used: it now holds dD/dw.
  for (Index b = 0; b < batch; ++b)
    for (Index i = 0; i < n; ++i) w(b, i) = decided(b) ? dD_dq[at(b)] * r(b, i) : 0.0;
  decisions_->vjp(w, dD_dmu, threads);

  mix(settings_, dD_dmu, dL_dmu, loss);
  return loss;
}

}  // namespace sharpen::learn
