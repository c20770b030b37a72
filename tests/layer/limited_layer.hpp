// Batches for tests of the layer under limits.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sharpen/layer/sparse_tangent.hpp"
#include "support/problems.hpp"

namespace sharpen::layer::limited_layer {
using sharpen::testing::Problems;
using sharpen::testing::RowMatrix;
using sharpen::testing::view;

inline std::shared_ptr<const LimitSchedule> always(Limits limits) {
  LimitSchedule schedule;
  schedule.limits.push_back(std::move(limits));
  return std::make_shared<const LimitSchedule>(std::move(schedule));
}

inline bool same_bits(const RowMatrix& a, const RowMatrix& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * 8) == 0;
}

struct Passes {
  std::vector<Index> samples;
  RowMatrix mu, dL_dw, w, dL_dmu;
  std::vector<Outcome> outcomes;

  void run(const SparseTangent& layer, LayerCache& cache, const Threads& threads,
           const BatchLimits& own = {}) {
    w.resize(mu.rows(), mu.cols());
    dL_dmu.resize(mu.rows(), mu.cols());
    outcomes.resize(samples.size());
    layer.forward(samples, view(std::as_const(mu)), cache, view(w), outcomes, threads, own);
    layer.vjp(cache, view(std::as_const(dL_dw)), view(dL_dmu), threads);
  }
  Passes part(Index i) const {
    Passes one;
    one.samples = {samples[at(i)]};
    one.mu = mu.row(i);
    one.dL_dw = dL_dw.row(i);
    return one;
  }
};

// Windows of a market of n names, signals of either sign, and settings of every kind.
class LimitedLayer : public ::testing::Test {
 protected:
  static constexpr Index n = 12, T = 25, S = 6, B = 24;
  static constexpr double kSigma = 0.012;
  Problems random{77};
  RowMatrix returns = random.returns(T + S, n);
  std::vector<Index> ends;
  Passes batch;

  void SetUp() override {
    for (Index s = 0; s < S; ++s) ends.push_back(T + s);
    batch.mu = 0.001 * random.matrix(B, n);
    batch.dL_dw = random.matrix(B, n);
    for (Index i = 0; i < B; ++i) batch.samples.push_back((5 * i) % S);
  }

  std::unique_ptr<risk::Risk> risk(risk::Form form = risk::Form::dense) const {
    return risk::from_windows(view(returns), T, ends, {.shrinkage = 0.2, .form = form, .parts = {}},
                              Threads(1));
  }

  static LayerSettings settings(Objective objective, Score score, Reoptimization reoptimization,
                                Limits limits) {
    LayerSettings out;
    out.k = 5;
    out.beta = 2.0;
    out.score = score;
    out.reoptimization = reoptimization;
    out.limits = always(std::move(limits));
    out.objective = {.kind = objective, .volatility = kSigma, .risk_aversion = 6.0};
    return out;
  }

  static Limits long_only() {
    Limits limits;
    limits.lower.assign(at(n), 0.0);
    return limits;
  }
  static Limits loose() {
    Limits limits;
    limits.lower.assign(at(n), -1e6);
    limits.upper.assign(at(n), 1e6);
    limits.gross = 1e7;
    limits.rows.push_back({"some", std::vector<double>(at(n), 0.5), -1e6, 1e6});
    return limits;
  }
  static std::vector<std::pair<std::string, Limits>> kinds();

  static void each_mode(const std::function<void(Objective, Score, Reoptimization)>& call) {
    for (const Objective objective :
         {Objective::sharpe, Objective::expected_return, Objective::utility})
      for (const Score score : {Score::cholesky, Score::symmetric})
        for (const Reoptimization again : {Reoptimization::masked, Reoptimization::restricted}) {
          SCOPED_TRACE(std::string(name_of(objective)) + ", " + std::string(name_of(score)) + ", " +
                       std::string(name_of(again)));
          call(objective, score, again);
        }
  }
};

// One kind of limit each, tight enough to have a say, then all of them.
inline std::vector<std::pair<std::string, Limits>> LimitedLayer::kinds() {
  std::vector<std::pair<std::string, Limits>> all;
  const auto half = [] {
    std::vector<double> row(at(n));
    for (Index i = 0; i < n; i += 2) row[at(i)] = 1.0 + 0.1 * static_cast<double>(i);
    return row;
  };
  Limits caps;
  caps.lower.assign(at(n), -0.1);
  caps.upper.assign(at(n), 0.3);
  all.emplace_back("bounds", caps);
  all.emplace_back("long-only", long_only());
  Limits rows;
  rows.rows.push_back({"half", half(), -0.1, 0.2});
  all.emplace_back("rows", rows);
  Limits gross;
  gross.gross = 1.4;
  all.emplace_back("gross", gross);
  Limits trading;
  trading.holdings.assign(at(n), 1.0 / static_cast<double>(n));
  trading.costs.assign(at(n), 2e-5);
  trading.turnover = 0.8;
  all.emplace_back("trading", trading);
  Limits held = long_only();
  held.upper.assign(at(n), 0.6);
  held.least_if_held.assign(at(n), 0.08);
  all.emplace_back("if held", held);
  Limits everything = held;
  everything.rows = rows.rows;
  everything.rows[0].upper = 0.6;
  everything.gross = 1.2;
  everything.holdings = trading.holdings;
  everything.costs = trading.costs;
  everything.turnover = 1.1;
  all.emplace_back("everything", everything);
  return all;
}

}  // namespace sharpen::layer::limited_layer
