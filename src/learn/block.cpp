#include "learn/block.hpp"

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "sharpen/layer/tangent.hpp"

namespace sharpen::learn {

namespace {

// What is left of an account that lost nearly everything is no measure of the next trade.
constexpr double kLeastGrowth = 0.01;

double sign_of(double value) { return value > 0.0 ? 1.0 : value < 0.0 ? -1.0 : 0.0; }

}  // namespace

BlockObjective::BlockObjective(const layer::SparseTangent& layer, const LossSettings& settings,
                               Index memory, double cost, Index max_days, int max_threads)
    : BlockObjective(decisions_of(layer, max_days - trade::Memory(memory).rows() + 1, max_threads),
                     settings, memory, cost, max_days, max_threads) {}

BlockObjective::BlockObjective(std::unique_ptr<Decisions> decisions, const LossSettings& settings,
                               Index memory, double cost, Index max_days, int max_threads)
    : decisions_(std::move(decisions)),
      settings_(settings),
      memory_(memory),
      cost_(cost),
      n_(decisions_->n()),
      x_(at(max_days * n_)),
      solved_(x_.size()),
      root_(at(max_days)),
      dD_dmu_(x_.size()),
      s_(at((max_days - warm()) * n_)),
      w_(s_.size()),
      drifted_(s_.size()),
      dD_dw_(s_.size()),
      dD_ds_(s_.size()),
      net_(at(max_days - warm())),
      dD_dnet_(net_.size()),
      growth_(net_.size()),
      decided_(net_.size()),
      charged_(net_.size()),
      outcomes_(net_.size()),
      scratch_(at(static_cast<Index>(max_threads) * (decisions_->risk().scratch_size() + n_))) {}

bool BlockObjective::missing(Index day) const { return std::isnan(root_[at(day)]); }

// x, solved and root of one day. The scale is a power of two: no square leaves the range.
void BlockObjective::normalize(Index sample, ConstVec mu, Index day, Vec scratch) {
  const risk::Risk& risk = decisions_->risk();
  const Vec x = Vec(x_).subspan(at(day * n_), at(n_));
  const Vec solved = Vec(solved_).subspan(at(day * n_), at(n_));
  const double scale = layer::signal_scale(mu);
  if (risk.status(sample) != Status::ok || !(scale > 0.0)) {
    const double value = risk.status(sample) != Status::ok ? kNaN : scale;  // 0 for mu = 0
    std::ranges::fill(x, value);
    std::ranges::fill(solved, value);
    root_[at(day)] = value;
    return;
  }
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = scale * mu[i];
  const double root = std::sqrt(risk.solve(sample, x, solved, scratch));
  const ConstVec variances = risk.diagonal(sample);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = variances[i] > 0.0 ? x[i] / (root * std::sqrt(variances[i])) : 0.0;
    solved[i] /= root;
  }
  root_[at(day)] = root / scale;
}

// The signals of the days in the loss.
void BlockObjective::remember(std::span<const Index> samples, Index scored,
                              const Threads& threads) {
  const auto days = static_cast<Index>(samples.size());
  const Mat s(s_.data(), scored, n_);
  threads.for_each(scored, [&](Index t, int) {
    const Index day = days - scored + t, first = std::max<Index>(0, day - memory_.rows() + 1);
    memory_.signal(x(days).middle_rows(first, day - first + 1),
                   decisions_->risk().diagonal(samples[at(day)]), s.row(t));
  });
}

// Fills net; returns D and fills dD_dnet.
double BlockObjective::charge(ConstMat w, ConstMat r, ConstMat rho) {
  for (Index t = 0; t < w.rows; ++t) {
    decided_[at(t)] = !std::isnan(w(t, 0));  // weights that are not there are NaN, all of them
    charged_[at(t)] =
        t > 0 && decided_[at(t)] && decided_[at(t - 1)] && growth_[at(t - 1)] > kLeastGrowth;
    net_[at(t)] = decided_[at(t)] ? dot_in_order(r.row(t), w.row(t)) : 0.0;
    if (charged_[at(t)]) {
      double traded = 0.0;
      for (Index i = 0; i < n_; ++i) traded += std::abs(w(t, i) - drifted_[at((t - 1) * n_ + i)]);
      net_[at(t)] -= cost_ * traded;
    }
    growth_[at(t)] = 1.0 + dot_in_order(w.row(t), rho.row(t));
    for (Index i = 0; i < n_; ++i)
      drifted_[at(t * n_ + i)] = w(t, i) * (1.0 + rho(t, i)) / growth_[at(t)];
  }
  return decision_loss(settings_.decision, ConstVec(net_).first(at(w.rows)),
                       Vec(dD_dnet_).first(at(w.rows)));
}

// dD_dw: what day t earned and paid, and what its drifted weights cost the day after.
void BlockObjective::charge_vjp(ConstMat w, ConstMat r, ConstMat rho) {
  std::ranges::fill(dD_dw_, 0.0);
  const Mat dD_dw(dD_dw_.data(), w.rows, n_);
  for (Index t = 0; t < w.rows; ++t) {
    if (!decided_[at(t)]) continue;
    for (Index i = 0; i < n_; ++i) dD_dw(t, i) += dD_dnet_[at(t)] * r(t, i);
    if (!charged_[at(t)]) continue;
    const ConstVec before = ConstVec(drifted_).subspan(at((t - 1) * n_), at(n_));
    const double price = cost_ * dD_dnet_[at(t)];  // of |w - w+|, with its sign turned
    double along = 0.0;                            // dD/dw+ ' w+
    for (Index i = 0; i < n_; ++i)
      along += price * sign_of(w(t, i) - before[at(i)]) * before[at(i)];
    for (Index i = 0; i < n_; ++i) {
      const double paid = price * sign_of(w(t, i) - before[at(i)]);
      dD_dw(t, i) -= paid;
      dD_dw(t - 1, i) +=
          (paid * (1.0 + rho(t - 1, i)) - along * rho(t - 1, i)) / growth_[at(t - 1)];
    }
  }
}

// dD_dmu of one day, from dD_ds of the days in the loss that remember it:
//   dx = sum_t omega_(t-day) / Omega_t sqrt(D_t) ds_t,  dq = dx / sqrt(D_day),
//   dmu = (dq - (dq' q) Sigma^-1 q) / sqrt(C).
void BlockObjective::remember_vjp(std::span<const Index> samples, Index scored, Index day,
                                  Vec dD_dmu) const {
  std::ranges::fill(dD_dmu, 0.0);
  const double root = root_[at(day)];
  if (!(root > 0.0)) return;
  const risk::Risk& risk = decisions_->risk();
  const auto days = static_cast<Index>(samples.size());
  const Index warm_days = days - scored;
  for (Index t = std::max(day, warm_days); t < std::min(days, day + memory_.rows()); ++t) {
    if (!decided_[at(t - warm_days)]) continue;
    double total = 0.0;
    for (Index j = 0; j < std::min(memory_.rows(), t + 1); ++j)
      if (!missing(t - j)) total += memory_.weight(j);
    const double weight = memory_.weight(t - day) / total;
    const ConstVec variances = risk.diagonal(samples[at(t)]);
    const double* dD_ds = dD_ds_.data() + (t - warm_days) * n_;
    for (Index i = 0; i < n_; ++i) dD_dmu[at(i)] += weight * std::sqrt(variances[at(i)]) * dD_ds[i];
  }
  const ConstVec variances = risk.diagonal(samples[at(day)]);
  const ConstVec x = ConstVec(x_).subspan(at(day * n_), at(n_));
  const ConstVec solved = ConstVec(solved_).subspan(at(day * n_), at(n_));
  const double along = dot_in_order(dD_dmu, x);  // dq' q
  for (std::size_t i = 0; i < x.size(); ++i)
    dD_dmu[i] =
        variances[i] > 0.0 ? (dD_dmu[i] / std::sqrt(variances[i]) - along * solved[i]) / root : 0.0;
}

Loss BlockObjective::evaluate(std::span<const Index> samples, ConstMat mu, ConstMat r, ConstMat rho,
                              Mat dL_dmu, const Threads& threads, const layer::BatchLimits& own) {
  const Index days = mu.rows, scored = r.rows, warm_days = days - scored;
  const Mat s(s_.data(), scored, n_), w(w_.data(), scored, n_), dD_ds(dD_ds_.data(), scored, n_),
      dD_dmu(dD_dmu_.data(), days, n_);
  const Index scratch = decisions_->risk().scratch_size();

  Loss loss;
  for (Index day = 0; day < warm_days; ++day) std::ranges::fill(dL_dmu.row(day), 0.0);
  loss.prediction = settings_.prediction == PredictionLoss::squared
                        ? prediction_loss(mu.middle_rows(warm_days, scored), r,
                                          dL_dmu.middle_rows(warm_days, scored))
                        : prediction_loss(decisions_->risk(), samples.subspan(at(warm_days)),
                                          settings_.unit, mu.middle_rows(warm_days, scored), r,
                                          dL_dmu.middle_rows(warm_days, scored), scratch_, threads);
  threads.for_each(days, [&](Index day, int slot) {
    normalize(samples[at(day)], mu.row(day), day,
              Vec(scratch_).subspan(at(slot * scratch), at(scratch)));
  });
  remember(samples, scored, threads);
  decisions_->forward(samples.subspan(at(warm_days)), s, w, std::span(outcomes_).first(at(scored)),
                      threads, own);
  loss.decision = charge(w, r, rho);
  charge_vjp(w, r, rho);
  decisions_->vjp(ConstMat(dD_dw_.data(), scored, n_), dD_ds, threads);
  threads.for_each(days,
                   [&](Index day, int) { remember_vjp(samples, scored, day, dD_dmu.row(day)); });
  mix(settings_, dD_dmu, dL_dmu, loss);
  return loss;
}

}  // namespace sharpen::learn
