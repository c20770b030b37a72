// The plain reference: S(K) by a dense solve, searches by trying everything.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <numeric>
#include <vector>

#include "sharpen/risk/risk.hpp"
#include "sharpen/select/select.hpp"
#include "support/problems.hpp"

namespace sharpen::select::testing {

using Support = std::vector<Index>;
using Eigen::MatrixXd;
using Eigen::VectorXd;

inline double naive_value(const MatrixXd& Sigma, const VectorXd& mu, const Support& K,
                          layer::Net net) {
  if (K.empty()) return 0.0;
  const MatrixXd S = Sigma(K, K);
  const VectorXd m = mu(K);
  const VectorXd ones = VectorXd::Ones(m.size());
  const Eigen::LLT<MatrixXd> llt(S);
  const VectorXd b = llt.solve(ones);
  const double A = b.sum(), B = b.dot(m);
  const double shift = net == layer::Net::any || B > 0.0 ? 0.0 : B / A;
  const VectorXd shifted = m - shift * ones;
  return shifted.dot(llt.solve(shifted));
}

inline bool holds(const Support& K, Index j) { return std::find(K.begin(), K.end(), j) != K.end(); }

inline Support naive_greedy(const MatrixXd& Sigma, const VectorXd& mu, Index k, layer::Net net) {
  Support K;
  while (static_cast<Index>(K.size()) < k) {
    Index best = -1, steepest = 0;
    double best_value = 0.0;
    for (Index j = 0; j < mu.size(); ++j) {
      if (holds(K, j)) continue;
      Support with = K;
      with.push_back(j);
      // A lone asset with mu <= 0 is worth nothing; say so without rounding.
      const bool nothing = K.empty() && net == layer::Net::positive && mu[j] <= 0.0;
      const double value = nothing ? 0.0 : naive_value(Sigma, mu, with, net);
      if (value > best_value * (1 + 1e-12)) best_value = value, best = j;
      const auto ratio = [&](Index i) { return mu[i] / std::sqrt(Sigma(i, i)); };
      if (ratio(j) > ratio(steepest)) steepest = j;
    }
    K.push_back(best >= 0 ? best : steepest);
  }
  std::sort(K.begin(), K.end());
  return K;
}

// The largest S(K') over all K' that differ from K in one asset, or over every so many of them.
inline double best_neighbour(const MatrixXd& Sigma, const VectorXd& mu, const Support& K,
                             layer::Net net, Index every = 1) {
  double best = 0.0;
  Index pair = 0;
  for (std::size_t i = 0; i < K.size(); ++i)
    for (Index j = 0; j < mu.size(); ++j) {
      if (holds(K, j) || pair++ % every != 0) continue;
      Support other = K;
      other[i] = j;
      best = std::max(best, naive_value(Sigma, mu, other, net));
    }
  return best;
}

// The best of all supports of k assets.
inline double best_of_all(const MatrixXd& Sigma, const VectorXd& mu, Index k, layer::Net net) {
  const Index n = mu.size();
  double best = 0.0;
  for (unsigned bits = 1; bits < 1u << n; ++bits) {
    if (__builtin_popcount(bits) != k) continue;
    Support K;
    for (Index j = 0; j < n; ++j)
      if (bits >> j & 1u) K.push_back(j);
    best = std::max(best, naive_value(Sigma, mu, K, net));
  }
  return best;
}

// Sharpe recomputed from the weights alone.
inline double sharpe_of(const MatrixXd& Sigma, const VectorXd& mu, const Portfolio& portfolio) {
  const Eigen::Map<const VectorXd> w(portfolio.weights.data(), mu.size());
  return mu.dot(w) / std::sqrt(w.dot(Sigma * w));
}

inline std::unique_ptr<risk::Risk> exact_risk(const MatrixXd& Sigma) {
  risk::RiskSettings settings;
  settings.shrinkage = 0.0;
  const sharpen::testing::RowMatrix rows = Sigma;
  return risk::from_covariance(sharpen::testing::view(rows), settings);
}

inline Portfolio run(const risk::Risk& risk, const VectorXd& mu, const SelectSettings& settings) {
  Portfolio out;
  Selector(settings, risk).run(risk, 0, sharpen::testing::view(mu), out);
  return out;
}

inline Portfolio run(const MatrixXd& Sigma, const VectorXd& mu, Index k, Optimizer optimizer,
                     layer::Net net = layer::Net::positive) {
  SelectSettings settings;
  settings.k = k;
  settings.optimizer = optimizer;
  settings.net = net;
  return run(*exact_risk(Sigma), mu, settings);
}

// A factor-model covariance of n assets, mildly shrunk.
inline MatrixXd random_covariance(sharpen::testing::Problems& problems, Index n) {
  return sharpen::testing::naive_covariance(problems.returns(3 * n + 10, n), 0.05);
}

}  // namespace sharpen::select::testing
