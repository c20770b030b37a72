// Random problems under limits, for tests of their solver.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "sharpen/layer/limited.hpp"
#include "support/problems.hpp"

namespace sharpen::layer::limited {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using sharpen::testing::RowMatrix;
using sharpen::testing::view;

constexpr double kInf = std::numeric_limits<double>::infinity();

inline std::unique_ptr<risk::Risk> risk_of(const RowMatrix& Sigma) {
  risk::RiskSettings settings;
  settings.shrinkage = 0.0;
  return risk::from_covariance(view(Sigma), settings);
}

// Factor models of one to five factors, some with twins, under limits of every kind.
struct Instance {
  explicit Instance(std::uint64_t seed, Index most = 40);

  double uniform() { return std::uniform_real_distribution<double>()(engine); }
  double normal() { return std::normal_distribution<double>()(engine); }
  bool chance(double p) { return uniform() < p; }
  Index below(Index m) { return std::uniform_int_distribution<Index>(0, m - 1)(engine); }
  void make_twins();
  void set_bounds();
  void set_rows();
  void set_trading();

  std::mt19937_64 engine;
  Index n;
  RowMatrix Sigma;
  VectorXd mu;
  Limits limits;
};

inline Instance::Instance(std::uint64_t seed, Index most) : engine(seed), n(2 + below(most - 1)) {
  const Index factors = 1 + below(5);
  const double size = std::pow(10.0, -4.0 * uniform());
  RowMatrix B(n, factors);
  for (Index i = 0; i < n; ++i)
    for (Index f = 0; f < factors; ++f) B(i, f) = normal();
  Sigma = size * B * B.transpose();
  mu = VectorXd(n);
  const double drift = 2.0 * uniform() - 1.0;
  for (Index i = 0; i < n; ++i) mu(i) = 0.01 * (normal() + drift);
  if (chance(0.2)) make_twins();
  if (chance(0.05)) mu = -mu.cwiseAbs();
  const double own = size * std::pow(10.0, -3.0 * uniform());
  for (Index i = 0; i < n; ++i) Sigma(i, i) += own * (chance(0.5) ? 1.0 : 0.5 + uniform());
  set_bounds();
  set_rows();
  set_trading();
}

inline void Instance::make_twins() {
  for (Index i = 1; i < n; i += 2) {
    mu(i) = mu(i - 1);
    Sigma.row(i) = Sigma.row(i - 1);
    Sigma.col(i) = Sigma.col(i - 1);
  }
}

inline void Instance::set_bounds() {
  const Index kind = below(4);
  if (kind == 3) return;
  limits.lower.assign(at(n), kind == 1 ? -0.1 : 0.0);
  if (kind == 0 && chance(0.5)) return;
  limits.upper.assign(at(n), kind == 1 ? 0.2 : std::max(0.1, 2.0 / static_cast<double>(n)));
}

inline void Instance::set_rows() {
  const std::vector<double> ones(at(n), 1.0);
  if (chance(0.5)) limits.rows.push_back({"net", ones, chance(0.5) ? 0.0 : -kInf, 1.0});
  if (chance(0.5)) return;
  const Index groups = 1 + below(10);
  for (Index group = 0; group < groups; ++group) {
    LimitRow row{"group", std::vector<double>(at(n)), chance(0.3) ? -0.05 : -kInf,
                 0.1 + 0.5 * uniform() + 1.0 / static_cast<double>(groups)};
    for (Index i = group; i < n; i += groups) row.coefficients[at(i)] = 1.0;
    limits.rows.push_back(row);
  }
  if (chance(0.3)) limits.rows.push_back(limits.rows.back());
  if (chance(0.5)) {
    LimitRow row{"beta", std::vector<double>(at(n)), -0.2, 0.2};
    for (double& x : row.coefficients) x = normal();
    limits.rows.push_back(row);
  }
}

inline void Instance::set_trading() {
  if (chance(0.5)) limits.gross = 1.0 + 1.5 * uniform();
  if (chance(0.5)) return;
  limits.holdings.assign(at(n), 0.0);
  for (Index i = 0; i < n; ++i) {
    const double low = limits.lower.empty() ? -1.0 : limits.lower[at(i)];
    const double high = limits.upper.empty() ? 1.0 : limits.upper[at(i)];
    if (chance(0.4)) limits.holdings[at(i)] = std::clamp(0.1 * normal(), low, high);
  }
  if (chance(0.7)) {
    limits.costs.assign(at(n), 0.0);
    for (double& cost : limits.costs) cost = 0.002 * uniform();
  }
  if (chance(0.5)) limits.turnover = 0.3 + uniform();
}

inline ObjectiveSettings some_objective(Instance& instance, int kind) {
  const double variance = instance.Sigma.diagonal().mean();
  ObjectiveSettings objective;
  objective.kind = static_cast<Objective>(kind);
  objective.volatility = std::sqrt(variance) * std::pow(10.0, -2.0 * instance.uniform());
  objective.risk_aversion = std::pow(10.0, 0.0 - 3.0 * instance.uniform()) / variance;
  return objective;
}

}  // namespace sharpen::layer::limited
