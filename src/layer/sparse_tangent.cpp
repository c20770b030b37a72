#include "sharpen/layer/sparse_tangent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/vec.hpp"
#include "layer/layer_memory.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/layer/covariance_gradient.hpp"

namespace sharpen::layer {

namespace {

void check_shape(const char* what, Index rows, Index cols, Index want_rows, Index want_cols) {
  if (rows != want_rows || cols != want_cols)
    throw InputError(
        fmt::format("{} is {} x {}; it must be {} x {}", what, rows, cols, want_rows, want_cols));
}

}  // namespace

void LayerSettings::validate(Index n) const {
  TopKSettings{k, beta, topk}.validate(n);
  if (limits) {
    objective.validate();
    if (raw_score)
      throw InputError(
          "‹raw-score› = true is the scale of budget sizing, which limits have no place for; leave "
          "out one of them");
    if (limits->limits.empty()) throw InputError("a schedule of limits is without any");
    for (const Limits& each : limits->limits) each.validate(n);
    return;
  }
  sizing.validate();
  ScoreSettings{score, raw_score, sizing.offset, net}.validate();
  if (net == Net::any && sizing.kind == Sizing::budget)
    throw InputError("net = any does not go with sizing = budget; use volatility or gross");
}

SparseTangent::SparseTangent(const LayerSettings& settings, const risk::Risk& risk)
    : settings_(with_net_of_limits(settings)),
      score_{settings.score, settings.raw_score, settings.sizing.offset, settings_.net},
      topk_{settings.k, settings.beta, settings.topk},
      risk_(&risk) {
  settings.validate(risk.n());
  if (settings.score == Score::cholesky && !risk.parts().lower)
    throw InputError("score = cholesky needs a risk model set up with parts.lower");
  if (settings.score == Score::symmetric && !risk.parts().root)
    throw InputError("score = symmetric needs a risk model set up with parts.root");
  reoptimizer_ = make_reoptimizer(settings.reoptimization, risk, settings_.net);
  if (settings.limits) limited_ = std::make_unique<const Limited>(settings_, risk);
}

SparseTangent::~SparseTangent() = default;
SparseTangent::SparseTangent(SparseTangent&&) noexcept = default;

void SparseTangent::set_beta(double beta) {
  TopKSettings changed = topk_;
  changed.beta = beta;
  changed.validate(n());
  settings_.beta = beta;
  topk_ = changed;
}

Index SparseTangent::kept_size() const {
  const Index vectors = LayerMemory::kVectors + (limited_ ? LayerMemory::kUnderLimits : 0);
  return vectors * n() + reoptimizer_->kept_size();
}

Index SparseTangent::scratch_size() const {
  // Three vectors of the layer's own, one more for the score, and the larger of what follows.
  const Index vectors = 4 + (limited_ ? Limited::kScratchVectors : 0);
  return vectors * n() + std::max(risk_->scratch_size(), reoptimizer_->scratch_size());
}

void SparseTangent::check_cache(const LayerCache& cache, Index batch,
                                const Threads& threads) const {
  if (cache.n_ != n() || cache.kept_size_ != kept_size() || cache.scratch_size_ != scratch_size())
    throw InputError("the cache was made for a layer of another size or mode; make one for this");
  if (batch > cache.max_batch_ || threads.count() > cache.max_threads_)
    throw InputError(
        fmt::format("a batch of {} on {} threads does not fit a cache made for {} on {}", batch,
                    threads.count(), cache.max_batch_, cache.max_threads_));
}

void SparseTangent::forward(std::span<const Index> samples, ConstMat mu, LayerCache& cache, Mat w,
                            std::span<Outcome> outcomes, const Threads& threads,
                            const BatchLimits& own) const {
  const auto batch = static_cast<Index>(samples.size());
  check_shape("mu", mu.rows, mu.cols, batch, n());
  check_shape("w", w.rows, w.cols, batch, n());
  check_shape("outcomes", static_cast<Index>(outcomes.size()), 1, batch, 1);
  check_cache(cache, batch, threads);
  for (const Index s : samples)
    if (s < 0 || s >= risk_->samples())
      throw InputError(
          fmt::format("sample {} is outside [0, {}] of the risk model", s, risk_->samples() - 1));

  check_batch(cache, batch, own);
  cache.layer_ = this;
  cache.batch_ = batch;
  if (limited_) limited_->begin(cache, own);
  threads.for_each(batch, [&](Index i, int slot) {
    Instance& instance = cache.instances_[at(i)];
    instance = {};
    instance.index = i;
    instance.sample = samples[at(i)];
    if (limited_)
      limited_->forward_one(*this, instance, cache, own, mu.row(i), w.row(i), slot);
    else
      forward_one(instance, cache, mu.row(i), w.row(i), cache.scratch(slot));
    outcomes[at(i)] = instance.outcome;
  });
}

void SparseTangent::forward_one(Instance& instance, LayerCache& cache, ConstVec mu, Vec w,
                                Vec scratch) const {
  const auto size = at(n());
  const Index s = instance.sample;
  const LayerMemory kept(cache.kept(instance.index), size, false);
  const Vec x = scratch.first(size), m = scratch.subspan(size, size);
  const Vec rest = scratch.subspan(2 * size);
  Outcome& outcome = instance.outcome;
  std::copy(mu.begin(), mu.end(), kept.mu.begin());

  outcome.status = score_forward(score_, *risk_, s, mu, instance.score, kept.z, x, m, rest);
  if (outcome.status != Status::invalid_input) outcome.jitter = risk_->jitter(s);
  if (outcome.solved()) {
    outcome.neutral_first = outcome.status == Status::neutral_face;
    const TopKResult topk = soft_topk_forward(topk_, x, kept.p, kept.v, rest);
    outcome.status = reoptimizer_->forward(s, mu, kept.p, instance.reoptimized, kept.y, instance.t,
                                           kept.rest, rest);
    if (outcome.solved()) {
      sizing_forward(settings_.sizing, kept.y, instance.t, kept.w);
      if (all_finite(kept.w)) {
        std::copy(kept.w.begin(), kept.w.end(), w.begin());
        // The paper's fixed number of halvings makes no promise that could be broken.
        if (!topk.converged && settings_.topk == TopKSolver::newton)
          outcome.status = Status::not_converged;
        return;
      }
      outcome.status = Status::invalid_input;  // beyond the range of doubles
      instance.reoptimized = {};
    }
  }
  // Cash for no_signal; what was not computed is NaN.
  const double fill =
      outcome.status == Status::no_signal ? 0.0 : std::numeric_limits<double>::quiet_NaN();
  for (const Vec v : {kept.p, kept.y, w}) std::fill(v.begin(), v.end(), fill);
  instance.t = fill;
}

void SparseTangent::check_vjp(const LayerCache& cache, ConstMat dL_dw,
                              const Threads& threads) const {
  check_cache(cache, cache.batch_, threads);
  if (cache.layer_ != this)
    throw InputError("vjp was given a cache that another layer filled; run forward first");
  check_shape("dL_dw", dL_dw.rows, dL_dw.cols, cache.batch_, n());
}

void SparseTangent::vjp(LayerCache& cache, ConstMat dL_dw, Mat dL_dmu,
                        const Threads& threads) const {
  check_vjp(cache, dL_dw, threads);
  check_shape("dL_dmu", dL_dmu.rows, dL_dmu.cols, cache.batch_, n());
  threads.for_each(cache.batch_, [&](Index i, int slot) {
    vjp_of(i, cache, dL_dw.row(i), dL_dmu.row(i), slot, nullptr);
  });
}

void SparseTangent::vjp_of(Index i, LayerCache& cache, ConstVec dL_dw, Vec dL_dmu, int slot,
                           CovarianceSums* sums) const {
  Instance& instance = cache.instances_[at(i)];
  if (limited_)
    limited_->vjp_one(*this, instance, cache, dL_dw, dL_dmu, slot, sums);
  else
    vjp_one(instance, cache, dL_dw, dL_dmu, cache.scratch(slot), sums);
}

void SparseTangent::vjp_one(const Instance& instance, LayerCache& cache, ConstVec dL_dw, Vec dL_dmu,
                            Vec scratch, CovarianceSums* sums) const {
  const auto size = at(n());
  const Index s = instance.sample;
  const bool differentiable = instance.reoptimized.tangent.root_C > 0.0;
  if (!differentiable) {
    std::fill(dL_dmu.begin(), dL_dmu.end(), 0.0);
    return;
  }
  const LayerMemory kept(cache.kept(instance.index), size, false);
  const Vec dL_dy = scratch.first(size), dL_dp = scratch.subspan(size, size),
            through_score = scratch.subspan(2 * size, size), rest = scratch.subspan(3 * size);

  double dL_dt = 0.0;
  sizing_vjp(settings_.sizing, kept.y, instance.t, kept.w, dL_dw, dL_dy, dL_dt);
  if (sums)
    reoptimizer_->covariance_vjp(kept.p, instance.reoptimized, kept.y, dL_dy, dL_dt, *sums,
                                 kept.rest, rest);
  reoptimizer_->vjp(s, kept.mu, kept.p, instance.reoptimized, kept.y, dL_dy, dL_dt, dL_dmu, dL_dp,
                    kept.rest, rest);
  if (settings_.k == n()) return;  // p = 1 whatever the score

  const Vec dL_dx = dL_dy;
  soft_topk_vjp(kept.v, dL_dp, dL_dx);
  if (sums)
    score_covariance_vjp(score_, *risk_, instance.score, kept.z, dL_dx, *sums,
                         scratch.subspan(size));
  score_vjp(score_, *risk_, s, instance.score, kept.z, dL_dx, through_score, rest.first(size),
            rest.subspan(size));
  for (std::size_t i = 0; i < size; ++i) dL_dmu[i] += through_score[i];
}

LayerCache::LayerCache(const SparseTangent& layer, Index max_batch, int max_threads)
    : n_(layer.n()),
      max_batch_(max_batch),
      kept_size_(layer.kept_size()),
      scratch_size_(layer.scratch_size()),
      max_threads_(max_threads),
      instances_(at(max_batch)),
      kept_(at(max_batch * kept_size_)),
      scratch_(at(max_threads * scratch_size_)) {
  if (layer.limited_) limited_ = std::make_unique<Limited>(*layer.limited_, max_batch, max_threads);
}

LayerCache::~LayerCache() = default;
LayerCache::LayerCache(LayerCache&&) noexcept = default;

Vec LayerCache::kept(Index i) { return Vec(kept_).subspan(at(i * kept_size_), at(kept_size_)); }

Vec LayerCache::scratch(int slot) {
  return Vec(scratch_).subspan(at(slot * scratch_size_), at(scratch_size_));
}

ConstVec LayerCache::mask(Index i) const {
  return ConstVec(kept_).subspan(at(i * kept_size_ + 2 * n_), at(n_));
}

ConstVec LayerCache::direction(Index i) const {
  return ConstVec(kept_).subspan(at(i * kept_size_ + 4 * n_), at(n_));
}

double LayerCache::net(Index i) const { return instances_[at(i)].t; }

Index LayerCache::sample(Index i) const { return instances_[at(i)].sample; }

}  // namespace sharpen::layer
