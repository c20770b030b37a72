// The sparse-tangent layer over (B, n) batches: signal in, weights out, exact gradients back.
//
//   mu -> score x -> soft top-k p -> re-optimised direction y, t -> weights w
//
// (the paper's optimise, score, soft top-k, re-optimise). Instance i of a batch meets sample
// samples[i] of the risk model. Every instance has a defined answer and an Outcome: no_signal
// gives zero weights and zero gradient, invalid_input gives NaN weights and zero gradient, and
// neither disturbs the others. Results have the same bits for any thread count and batch.
//
// Under limits (limited.hpp), the first solve is the optimum under them, and the score is that of
// its portfolio. So is the second one, of p * mu (masked), or with (1 / p^2 - 1) diag(Sigma) more
// risk (restricted); a name that must not be sold short and, if held, has to weigh l at least
// weighs l p or more in it. Its weights are the answer: the objective stands in the place of
// sizing. Where no limit has a say in a solve it is the closed form's, to the bit.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sharpen/base/status.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/layer/limited.hpp"
#include "sharpen/layer/mandate.hpp"
#include "sharpen/layer/reoptimize.hpp"
#include "sharpen/layer/score.hpp"
#include "sharpen/layer/soft_topk.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::layer {

// How the layer selects and solves again.
struct SoftSettings {
  double beta = 5.0;
  Score score = Score::symmetric;
  bool raw_score = false;  // keep the paper's scale of the score
  Reoptimization reoptimization = Reoptimization::restricted;
  TopKSolver topk = TopKSolver::newton;
};

struct LayerSettings : Mandate, SoftSettings {
  void validate(Index n) const;  // throws InputError naming field, value and bound
};

class CovarianceSums;
class LayerCache;

// Where the solutions of a layer under limits start: at those that were found for the same places
// the last time, which saves most of the way if the signal is like that of then. The answers are
// the same from anywhere, but for ties.
class LayerStarts {
 public:
  explicit LayerStarts(Index places) : places_(at(places)) {}

  Index places() const { return static_cast<Index>(places_.size()); }

 private:
  friend class SparseTangent;
  struct Place {
    LimitedState first, second;
  };
  std::vector<Place> places_;
};

// What the instances of a batch have of their own, under limits.
struct BatchLimits {
  // (B, n), in the place of those of the limits; no rows: those. Crossed bounds are infeasible.
  ConstMat lower = {}, upper = {}, holdings = {};
  // Where they start: places (B) in `starts`, each at most once. Must live until the vjp.
  LayerStarts* starts = nullptr;
  std::span<const Index> places = {};
};

class SparseTangent {
 public:
  // `risk` must outlive the layer and have the parts that the score needs.
  SparseTangent(const LayerSettings& settings, const risk::Risk& risk);
  ~SparseTangent();
  SparseTangent(SparseTangent&&) noexcept;

  const LayerSettings& settings() const { return settings_; }
  void set_beta(double beta);  // of the soft top-k from now on
  const risk::Risk& risk() const { return *risk_; }
  Index n() const { return risk_->n(); }

  // w (B, n) and outcomes (B) from mu (B, n) and samples (B). Keeps in `cache` what vjp needs.
  // Allocates nothing, but under limits while solutions grow larger than any before. Throws
  // InputError for shapes that do not fit, never for values.
  void forward(std::span<const Index> samples, ConstMat mu, LayerCache& cache, Mat w,
               std::span<Outcome> outcomes, const Threads& threads,
               const BatchLimits& own = {}) const;

  // dL_dmu (B, n) from dL_dw (B, n), for the batch that `cache` saw last.
  void vjp(LayerCache& cache, ConstMat dL_dw, Mat dL_dmu, const Threads& threads) const;

 private:
  friend class CovarianceGradient;
  friend class LayerCache;
  struct Instance;
  struct Limited;
  // The closed form takes the place of solutions under limits: of the net position that they allow.
  static LayerSettings with_net_of_limits(LayerSettings settings);
  void check_batch(const LayerCache& cache, Index batch, const BatchLimits& own) const;
  void forward_one(Instance& instance, LayerCache& cache, ConstVec mu, Vec w, Vec scratch) const;
  void vjp_one(const Instance& instance, LayerCache& cache, ConstVec dL_dw, Vec dL_dmu, Vec scratch,
               CovarianceSums* sums) const;
  // Of instance i; with `sums`, its part of dL_dSigma, too.
  void vjp_of(Index i, LayerCache& cache, ConstVec dL_dw, Vec dL_dmu, int slot,
              CovarianceSums* sums) const;
  void check_cache(const LayerCache& cache, Index batch, const Threads& threads) const;
  void check_vjp(const LayerCache& cache, ConstMat dL_dw, const Threads& threads) const;
  Index kept_size() const;
  Index scratch_size() const;

  LayerSettings settings_;
  ScoreSettings score_;
  TopKSettings topk_;
  const risk::Risk* risk_;
  std::unique_ptr<Reoptimizer> reoptimizer_;
  std::unique_ptr<const Limited> limited_;  // null: no limits
};

// The memory of one batch of at most max_batch instances on at most max_threads threads.
class LayerCache {
 public:
  LayerCache(const SparseTangent& layer, Index max_batch, int max_threads);
  ~LayerCache();
  LayerCache(LayerCache&&) noexcept;

  // Of instance i of the last batch: the mask p (n), the direction y (n) and t.
  ConstVec mask(Index i) const;
  ConstVec direction(Index i) const;
  double net(Index i) const;
  Index batch() const { return batch_; }
  Index sample(Index i) const;

 private:
  friend class SparseTangent;
  struct Limited;
  Vec kept(Index i);
  Vec scratch(int slot);

  const SparseTangent* layer_ = nullptr;  // whose forward filled it
  Index n_, batch_ = 0, max_batch_, kept_size_, scratch_size_;
  int max_threads_;
  std::vector<SparseTangent::Instance> instances_;
  std::vector<double> kept_, scratch_;
  std::unique_ptr<Limited> limited_;  // null: no limits
};

}  // namespace sharpen::layer
