// The sparse-tangent layer over (B, n) batches: signal in, weights out, exact gradients back.
//
//   mu -> score x -> soft top-k p -> re-optimised direction y, t -> weights w
//
// (the paper's optimise, score, soft top-k, re-optimise). Instance i of a batch meets sample
// samples[i] of the risk model. Every instance has a defined answer and an Outcome: no_signal
// gives zero weights and zero gradient, invalid_input gives NaN weights and zero gradient, and
// neither disturbs the others. Results have the same bits for any thread count and batch.
#pragma once

#include <memory>
#include <vector>

#include "sharpen/base/status.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/layer/reoptimize.hpp"
#include "sharpen/layer/score.hpp"
#include "sharpen/layer/sizing.hpp"
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

class LayerCache;

class SparseTangent {
 public:
  // `risk` must outlive the layer and have the parts that the score needs.
  SparseTangent(const LayerSettings& settings, const risk::Risk& risk);
  ~SparseTangent();
  SparseTangent(SparseTangent&&) noexcept;

  const LayerSettings& settings() const { return settings_; }
  Index n() const { return risk_->n(); }

  // w (B, n) and outcomes (B) from mu (B, n) and samples (B). Keeps in `cache` what vjp needs.
  // Allocates nothing. Throws InputError for shapes that do not fit, never for values.
  void forward(std::span<const Index> samples, ConstMat mu, LayerCache& cache, Mat w,
               std::span<Outcome> outcomes, const Threads& threads) const;

  // dL_dmu (B, n) from dL_dw (B, n), for the batch that `cache` saw last.
  void vjp(LayerCache& cache, ConstMat dL_dw, Mat dL_dmu, const Threads& threads) const;

 private:
  friend class LayerCache;
  struct Instance;
  void forward_one(Instance& instance, LayerCache& cache, ConstVec mu, Vec w, Vec scratch) const;
  void vjp_one(const Instance& instance, LayerCache& cache, ConstVec dL_dw, Vec dL_dmu,
               Vec scratch) const;
  void check_cache(const LayerCache& cache, Index batch, const Threads& threads) const;
  Index kept_size() const;
  Index scratch_size() const;

  LayerSettings settings_;
  ScoreSettings score_;
  TopKSettings topk_;
  const risk::Risk* risk_;
  std::unique_ptr<Reoptimizer> reoptimizer_;
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

 private:
  friend class SparseTangent;
  Vec kept(Index i);
  Vec scratch(int slot);

  const SparseTangent* layer_ = nullptr;  // whose forward filled it
  Index n_, batch_ = 0, max_batch_, kept_size_, scratch_size_;
  int max_threads_;
  std::vector<SparseTangent::Instance> instances_;
  std::vector<double> kept_, scratch_;
};

}  // namespace sharpen::layer
