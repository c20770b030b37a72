// Decision time: portfolios of at most k assets.
//
// Choose a support K, |K| <= k; solve the tangent problem on (mu_K, Sigma_KK), deciding the
// face again; size; zeros elsewhere. With A, B, C the scalars of tangent.hpp on K, the value
// of a support is
//   S(K) = C            if B > 0 or net == any,
//          C - B^2 / A  otherwise (the t = 0 face),
// the square of the best Sharpe ratio K can reach. Values and scores that differ only by rounding
// are ties, and ties go to the lower column.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sharpen/base/control.hpp"
#include "sharpen/base/status.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/layer/mandate.hpp"
#include "sharpen/layer/score.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen {
class Threads;
}

namespace sharpen::select {

enum class Optimizer {
  oscar,      // the k largest of the Cholesky score |L^-1 m|: depends on the column order
  symmetric,  // the k largest of |Sigma^(-1/2) m|
  greedy,     // forward selection by S(K)
  swap,       // greedy, then best single exchanges while S(K) grows
};

std::string_view name(Optimizer optimizer);
// The one that takes the k largest of that score.
Optimizer ranking_by(layer::Score score);

struct SelectSettings : layer::Mandate {
  Optimizer optimizer = Optimizer::swap;

  void validate(Index n) const;  // throws InputError naming field, value and bound
};

struct Portfolio {
  Outcome outcome;
  std::vector<Index> support;   // held assets, ascending; empty for cash
  std::vector<double> weights;  // (n); zero off the support, NaN if outcome is invalid_input
  // S(K), which may over- or underflow; under limits the objective (limited.hpp). None for
  // invalid_input, and where only weights are found.
  std::optional<double> value = 0.0;
  double sharpe = 0.0;  // mu^T w / sqrt(w^T Sigma w) from `weights`; 0 for cash
  // Under limits, of the optimum of theta (mu^T w - costs) - 1/2 w^T Sigma w that it is: 1 / theta
  // is its risk aversion. 0 where only the risk counts. None without limits.
  std::optional<double> theta = {};
};

// Selects and solves with memory set up once for n assets and at most k names.
class Selector {
 public:
  Selector(const SelectSettings& settings, const risk::Risk& risk);
  ~Selector();
  Selector(Selector&&) noexcept;

  // Overwrites `out`, reusing its memory: nothing is allocated after the first run. Never throws
  // for the values of mu; throws InputError for wrong shapes, a sample out of range, and a risk
  // model of another size or without the parts the score needs.
  // outcome.neutral_first: the problem of all n assets is on the t = 0 face. outcome.jitter: the
  // larger of the sample's and of what Sigma_KK needed. not_converged: `swap` stopped early.
  // Throws Interrupted once `stop` says so.
  void run(const risk::Risk& risk, Index sample, ConstVec mu, Portfolio& out,
           const Stop& stop = {});
  // The exact portfolio on a support given by the caller (any order, no repeats, |K| <= k).
  void run_on(const risk::Risk& risk, Index sample, ConstVec mu, std::span<const Index> K,
              Portfolio& out, const Stop& stop = {});

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

// (B, n) signals against samples[i] of `risk`; portfolio i has the bits of a Selector run alone, or
// of a LimitedSelector (limited.hpp) where the settings have limits.
std::vector<Portfolio> select_batch(const SelectSettings& settings, const risk::Risk& risk,
                                    std::span<const Index> samples, ConstMat mu,
                                    const Threads& threads);

// The Sharpe ratio of the same problem without a bound on the number of names (k = n); 0 where
// no direction exists, NaN for invalid input.
double full_sharpe(const risk::Risk& risk, Index sample, ConstVec mu, layer::Net net);

}  // namespace sharpen::select
