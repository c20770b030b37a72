// Portfolios of at most k names that are shown to be the best: branch and bound.
//
// For any u and any d > 0 with Sigma - diag(d) positive definite, every support K of k names has
//   C(K) <= (mu - u)^T (Sigma - diag(d))^-1 (mu - u) + (sum of the k largest u_i^2 / d_i):
// split 2 mu^T y - y^T Sigma y into its (mu - u, Sigma - diag(d)) and its (u, diag(d)) part, and
// maximise each by itself. Limits enter as mu - G lambda, lambda >= 0. The smallest such bound is a
// convex problem, solved anew at every node of the tree (src/select/proof_bound.hpp).
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/named.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/layer/limits.hpp"
#include "sharpen/select/select.hpp"

namespace sharpen::select {

// Why a proof ended.
enum class ProofEnd { optimal, gap, time, nodes, interrupted };
constexpr std::array<std::string_view, 5> names(ProofEnd) {
  return {"optimal", "gap", "time", "nodes", "interrupted"};
}

struct ProofSettings {
  // Relative, on the Sharpe ratio (under other objectives on that one): what is proved to be this
  // near is not looked at. Below kExact: that.
  double gap = 0.0;
  double seconds = 10.0;  // 0: as long as it takes
  Index nodes = 0;        // 0: as many as it takes
  // Whether the problem's `stop` ends the work with what there is, or by Interrupted.
  bool answers_when_stopped = true;

  static constexpr double kExact = 1e-7;

  void validate() const;  // throws InputError naming field, value and bound
};

struct Proof {
  ProofEnd end = ProofEnd::nodes;
  Index nodes = 0;
  // No portfolio of at most k names that the limits allow is better: of the Sharpe ratio, or of
  // another objective. Infinite where nothing could be proved, NaN for invalid input.
  double bound = 0.0;
  double reached = 0.0;              // the same of the portfolio
  bool of_sharpe = true;             // whether these are Sharpe ratios
  std::vector<std::string> dropped;  // limits that the portfolio keeps and the bound leaves out

  // bound / reached - 1; infinite where nothing is reached but something might be, and where the
  // portfolio loses.
  double gap() const;
};

// For n assets and at most k names. Not for several threads at once.
class ExactSelector {
 public:
  // Throws InputError for settings that are not in order.
  ExactSelector(const SelectSettings& settings, const ProofSettings& proof, Index n);
  ~ExactSelector();
  ExactSelector(ExactSelector&&) noexcept;

  // Overwrites `out` and `proof`. Never throws for the values of mu; throws InputError for wrong
  // shapes and for limits that are not in order (null: none but the settings' net). `start`: names
  // to begin from besides those that `swap` finds. A limit of nodes gives the same bits for any
  // number of threads.
  void run(const risk::Risk& risk, Index sample, ConstVec mu, const layer::Limits* limits,
           std::span<const Index> start, const Threads& threads, Portfolio& out, Proof& proof,
           const Stop& stop = {});
  // The search that it begins with, and no proof: what `swap` finds, exchanges of two names for two
  // others, and starts from choices that chance has disturbed. Under limits it is `swap` alone.
  // Interrupted once `stop` says so.
  void find(const risk::Risk& risk, Index sample, ConstVec mu, const layer::Limits* limits,
            Portfolio& out, const Stop& stop = {});

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace sharpen::select
