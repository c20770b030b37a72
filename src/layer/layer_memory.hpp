// What the sparse-tangent layer keeps of an instance between forward and vjp, with limits
// (limited_tangent.cpp) and without (sparse_tangent.cpp).
#pragma once

#include <memory>
#include <vector>

#include "sharpen/layer/limited.hpp"
#include "sharpen/layer/sparse_tangent.hpp"

namespace sharpen::layer {

struct SparseTangent::Instance {
  Index index = 0;
  Index sample = 0;
  Outcome outcome;
  double t = 0.0;
  ScoreCache score;
  Reoptimizer::Cache reoptimized;
  // Under limits: its solutions, whether they are the closed form's, and whether there are both.
  LayerStarts::Place* place = nullptr;
  bool first_closed = false, second_closed = false, decided = false;
};

// mu, z, p, v, y, w (n each); under limits lower, upper and holdings of its own; then what the
// re-optimiser keeps.
struct LayerMemory {
  static constexpr Index kVectors = 6, kUnderLimits = 3;
  Vec mu, z, p, v, y, w, own, rest;

  LayerMemory(Vec memory, std::size_t n, bool limited)
      : mu(memory.first(n)),
        z(memory.subspan(n, n)),
        p(memory.subspan(2 * n, n)),
        v(memory.subspan(3 * n, n)),
        y(memory.subspan(4 * n, n)),
        w(memory.subspan(5 * n, n)),
        own(memory.subspan(6 * n, limited ? kUnderLimits * n : 0)),
        rest(memory.subspan(6 * n + own.size())) {}
};

// The layer under the limits of its settings.
struct SparseTangent::Limited {
  static constexpr Index kScratchVectors = 6;

  Limited(const LayerSettings& settings, const risk::Risk& risk);

  void begin(LayerCache& cache, const BatchLimits& own) const;
  void forward_one(const SparseTangent& layer, Instance& instance, LayerCache& cache,
                   const BatchLimits& own, ConstVec mu, Vec w, int slot) const;
  void vjp_one(const SparseTangent& layer, Instance& instance, LayerCache& cache, ConstVec dL_dw,
               Vec dL_dmu, int slot, CovarianceSums* sums) const;

  std::size_t which(Index sample) const {
    return schedule->of_sample.empty() ? 0 : at(schedule->of_sample[at(sample)]);
  }
  struct Problem;  // one instance and its solver
  bool is_closed(const SparseTangent& layer, const Problem& problem, LimitedEnd end) const;
  bool score(const SparseTangent& layer, Problem& problem, Vec x, Vec scratch) const;
  bool decide(const SparseTangent& layer, Problem& problem, Vec scratch) const;
  bool give_way(const SparseTangent& layer, Problem& problem, Vec w) const;
  bool decide_closed(const SparseTangent& layer, Problem& problem, Vec scratch) const;
  void decision_vjp(const SparseTangent& layer, Problem& problem, ConstVec dL_dw, Vec dL_dmu,
                    Vec dL_dp, Vec scratch, CovarianceSums* sums) const;
  void score_vjp_of(const SparseTangent& layer, Problem& problem, Vec dL_dx, Vec dL_dmu,
                    Vec scratch, CovarianceSums* sums) const;

  std::shared_ptr<const LimitSchedule> schedule;
  std::vector<PreparedLimits> prepared;  // of schedule->limits
  ObjectiveSettings objective;
  SizingSettings sizing, neutral_sizing;  // of the closed form, and of it on the face
};

// What a cache has for limits: a solver for each thread, and states for instances that are given
// no place.
struct LayerCache::Limited {
  Limited(const SparseTangent::Limited& limits, Index max_batch, int max_threads);

  const SparseTangent::Limited* made_for;
  std::vector<LimitedSolver> solvers;
  LayerStarts states;
  bool own_lower = false, own_upper = false, own_holdings = false;  // of the last batch
};

}  // namespace sharpen::layer
