// All supports of at most k names, one after the other: what proofs are compared with.
#pragma once

#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "select/naive.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/select/proof.hpp"

namespace sharpen::select::testing {

// S(K) of every support with |K| = k that has all of `in` and otherwise names of `open`, by a
// factor that grows name by name. Plain loops: tests are not optimised.
class AllSupports {
 public:
  AllSupports(const MatrixXd& Sigma, const VectorXd& mu, bool net_positive)
      : n_(mu.size()), Sigma_(Sigma.data()), mu_(mu.data()), net_positive_(net_positive) {}

  double best(Index k, std::span<const Index> in, std::span<const Index> open) {
    best_ = 0.0;
    best_support.clear();
    rows_.clear();
    K_.clear();
    z_.clear();
    one_.clear();
    for (const Index j : in) add(j);
    descend(k, open, 0);
    return best_;
  }
  double best(Index k) {
    Support all(static_cast<std::size_t>(n_));
    std::iota(all.begin(), all.end(), Index{0});
    return best(k, {}, all);
  }

  Support best_support;

 private:
  void add(Index j) {
    const std::size_t k = K_.size();
    std::vector<double> row(k + 1);
    double variance = Sigma_[j * n_ + j], z = mu_[j], one = 1.0;
    for (std::size_t a = 0; a < k; ++a) {
      double c = Sigma_[j * n_ + K_[a]];
      for (std::size_t b = 0; b < a; ++b) c -= row[b] * rows_[a][b];
      row[a] = c / rows_[a][a];
      variance -= row[a] * row[a];
      z -= row[a] * z_[a];
      one -= row[a] * one_[a];
    }
    row[k] = std::sqrt(variance);
    K_.push_back(j);
    rows_.push_back(row);
    z_.push_back(z / row[k]);
    one_.push_back(one / row[k]);
  }
  void drop() { K_.pop_back(), rows_.pop_back(), z_.pop_back(), one_.pop_back(); }
  void descend(Index k, std::span<const Index> open, std::size_t from) {
    if (static_cast<Index>(K_.size()) == k || from == open.size()) return judge();
    const std::size_t missing = static_cast<std::size_t>(k) - K_.size();
    if (open.size() - from > missing) descend(k, open, from + 1);
    add(open[from]);
    descend(k, open, from + 1);
    drop();
  }
  void judge() {
    double A = 0.0, B = 0.0, C = 0.0;
    for (std::size_t a = 0; a < K_.size(); ++a)
      A += one_[a] * one_[a], B += one_[a] * z_[a], C += z_[a] * z_[a];
    const double face = A > 0.0 ? C - B * B / A : 0.0;
    // What is left of C by rounding is nothing.
    const double value = !net_positive_ || B > 0.0 ? C : face > 1e-13 * C ? face : 0.0;
    if (value > best_) best_ = value, best_support = K_;
  }

  Index n_;
  const double *Sigma_, *mu_;
  bool net_positive_;
  double best_ = 0.0;
  Support K_;
  std::vector<std::vector<double>> rows_;
  std::vector<double> z_, one_;
};

struct Proved {
  Portfolio portfolio;
  Proof proof;
};

inline SelectSettings at_most(Index k, layer::Net net) {
  SelectSettings select;
  select.k = k;
  select.net = net;
  select.sizing.kind = layer::Sizing::gross;
  return select;
}

inline Proved prove(const risk::Risk& risk, const VectorXd& mu, Index k, layer::Net net,
                    const ProofSettings& settings, int threads = 1,
                    const layer::Limits* limits = nullptr, const Stop& stop = {},
                    layer::ObjectiveSettings objective = {}) {
  SelectSettings select = at_most(k, net);
  select.objective = objective;
  Proved out;
  ExactSelector(select, settings, risk.n())
      .run(risk, 0, sharpen::testing::view(mu), limits, {}, Threads(threads), out.portfolio,
           out.proof, stop);
  return out;
}

// Without a clock, so that nothing depends on it.
inline ProofSettings unhurried(Index nodes = 0) {
  return {.gap = 0.0, .seconds = 0.0, .nodes = nodes};
}

}  // namespace sharpen::select::testing
