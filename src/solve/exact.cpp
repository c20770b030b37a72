// Branch and bound (select/proof.hpp), and the search that it begins with, as optimizers.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "sharpen/base/error.hpp"
#include "sharpen/baseline/bounds.hpp"
#include "solve/optimizers.hpp"

namespace sharpen::solve {

namespace {

void check_size(std::string_view optimizer, Index n) {
  constexpr Index kMost = baseline::BoundSettings::kMostForBranch;
  if (n > kMost)
    throw InputError(
        fmt::format("optimizer = {} takes at most {} assets, and there are {}; use optimizer swap",
                    optimizer, kMost, n));
}

// Each decision starts from the names of the one before, as long as later decisions over the same
// assets come.
class ExactOptimizer : public Optimizer {
 public:
  explicit ExactOptimizer(const OptimizerSettings& settings) : settings_(settings), one_thread_(1) {
    settings_.proof.validate();
  }

  void decide(const Problem& problem, Answer& out) override {
    const bool follows = selector_ && k_ == problem.k && n_ == problem.n && problem.row > row_ &&
                         std::ranges::equal(assets_, problem.assets);
    if (!follows) {
      selector_.emplace(select::SelectSettings{settings_.mandate(problem.k)}, settings_.proof,
                        problem.n);
      n_ = problem.n;
      k_ = problem.k;
      assets_.assign(problem.assets.begin(), problem.assets.end());
      names_.clear();
    }
    row_ = problem.row;
    check_size("exact", problem.n);
    const auto begin = std::chrono::steady_clock::now();
    if (!out.proof) out.proof.emplace();
    select::Proof& proof = *out.proof;
    selector_->run(*problem.risk, problem.sample, problem.mu, problem.limits, names_,
                   problem.threads != nullptr ? *problem.threads : one_thread_, out.portfolio,
                   proof, problem.stop);
    names_ = out.portfolio.support;
    out.certified = proof.end == select::ProofEnd::optimal;
    out.bound = baseline::bound_of(proof);
    if (settings_.proof.seconds == 0.0) return;
    const auto end = begin + std::chrono::duration<double>(settings_.proof.seconds);
    compare_bounds(
        problem, [&] { return std::chrono::steady_clock::now() >= end; }, out);
  }

 private:
  // Where the tree has not come far another bound may be smaller, one that takes no time to speak
  // of. Not for what is repeated day by day, of which only proofs count.
  void compare_bounds(const Problem& problem, const Stop& is_over, Answer& out) const {
    constexpr Index kQuick = 1000, kQuickSdp = 200;
    select::Proof& proof = *out.proof;
    const bool some = std::isfinite(proof.bound);
    if (!out.bound || std::isnan(proof.bound) || proof.bound == 0.0 || problem.n > kQuick ||
        proof.gap() <= std::max(settings_.proof.gap, 1e-6))
      return;
    baseline::BoundSettings bound{
        .k = problem.k, .bound = baseline::Bound::perspective, .sdr = {}, .stop = problem.stop};
    const auto take = [&](baseline::Bound which) {
      bound.bound = which;
      const baseline::SharpeBound other = baseline::net_upper_bound(
          *problem.risk, problem.sample, problem.mu, settings_.net, bound);
      if (!(other.sharpe < proof.bound)) return;
      out.bound = other;
      proof.bound = std::max(other.sharpe, proof.reached);
      out.bound->sharpe = proof.bound;
    };
    try {
      take(baseline::Bound::perspective);
      bound.stop = [&] { return is_over() || (problem.stop && problem.stop()); };
      if (!some && !is_over() && problem.n <= kQuickSdp) take(baseline::Bound::sdp);
    } catch (const Interrupted&) {
      if (!settings_.proof.answers_when_stopped && problem.stop && problem.stop()) throw;
    }
  }

  OptimizerSettings settings_;
  const Threads one_thread_;
  std::optional<select::ExactSelector> selector_;
  std::vector<Index> assets_, names_;
  Index n_ = 0, k_ = 0, row_ = 0;  // of the last decision
};

class PairsOptimizer : public Optimizer {
 public:
  explicit PairsOptimizer(const OptimizerSettings& settings) : settings_(settings) {}

  void decide(const Problem& problem, Answer& out) override {
    check_size("pairs", problem.n);
    if (!selector_ || k_ != problem.k || n_ != problem.n)
      selector_.emplace(select::SelectSettings{settings_.mandate(problem.k)},
                        select::ProofSettings{}, problem.n);
    n_ = problem.n;
    k_ = problem.k;
    selector_->find(*problem.risk, problem.sample, problem.mu, problem.limits, out.portfolio,
                    problem.stop);
  }

 private:
  const OptimizerSettings settings_;
  std::optional<select::ExactSelector> selector_;
  Index n_ = 0, k_ = 0;
};

}  // namespace

std::unique_ptr<Optimizer> make_pairs(const OptimizerSettings& settings) {
  return std::make_unique<PairsOptimizer>(settings);
}

std::unique_ptr<Optimizer> make_exact(const OptimizerSettings& settings) {
  return std::make_unique<ExactOptimizer>(settings);
}

}  // namespace sharpen::solve
