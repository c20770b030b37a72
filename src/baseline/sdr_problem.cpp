#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "baseline/sdr_bracket.hpp"

namespace sharpen::baseline {

namespace {

// What an asset adds is rounding where less than this share of its variance is its own.
constexpr double kOwnVariance = 1e-14;

double power_of_two_near(double x) { return std::ldexp(1.0, std::ilogb(x)); }

}  // namespace

bool ScaledProblem::set(ConstMat Sigma_given, ConstVec mu_given, double kappa_given) {
  kappa = kappa_given;
  if (!choose_units(Sigma_given, mu_given)) return false;
  L = Sigma;
  if (!factor_in_place(L)) return false;

  select_greedily();
  const double size = power_of_two_near(std::sqrt(greedy_value));
  mu /= size;
  mu_unit *= size;
  greedy_value /= size * size;
  unit = mu_unit / sigma_unit * mu_unit;

  full = mu;
  const int order = static_cast<int>(n());
  cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, order, L.data(), order,
              full.data(), 1);
  cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, order, L.data(), order,
              full.data(), 1);
  return full.allFinite();
}

bool ScaledProblem::choose_units(ConstMat Sigma_given, ConstVec mu_given) {
  double largest_variance = 0.0, largest_mean = 0.0;
  for (Index i = 0; i < n(); ++i) {
    const double mean = mu_given[at(i)];
    if (!std::isfinite(mean) || !std::isfinite(Sigma_given(i, i)) || !(Sigma_given(i, i) > 0.0))
      return false;
    largest_variance = std::max(largest_variance, Sigma_given(i, i));
    largest_mean = std::max(largest_mean, std::abs(mean));
  }
  if (!(largest_mean > 0.0)) return false;
  const int variance_power = std::ilogb(largest_variance), mean_power = std::ilogb(largest_mean);
  double trace = 0.0;
  for (Index j = 0; j < n(); ++j) {
    mu[j] = std::ldexp(mu_given[at(j)], -mean_power);
    for (Index i = 0; i < n(); ++i) Sigma(i, j) = std::ldexp(Sigma_given(j, i), -variance_power);
    trace += Sigma(j, j);
  }
  const double mean_variance = power_of_two_near(trace / static_cast<double>(n()));
  Sigma /= mean_variance;
  symmetrize(Sigma);
  sigma_unit = std::ldexp(mean_variance, variance_power);
  mu_unit = std::ldexp(1.0, mean_power);
  for (Index i = 0; i < n(); ++i) balance[i] = 1.0 / power_of_two_near(std::sqrt(Sigma(i, i)));
  return Sigma.allFinite() && balance.allFinite();
}

// Forward selection by C = mu_K^T Sigma_KK^-1 mu_K: one column of a Cholesky factor per name.
void ScaledProblem::select_greedily() {
  const Index most = std::min<Index>(n(), static_cast<Index>(kappa));
  Vector residual = mu, variance = Sigma.diagonal();
  Matrix columns(n(), most);
  std::vector<Index> K;
  for (Index step = 0; step < most; ++step) {
    Index best = -1;
    double gain = 0.0;
    for (Index j = 0; j < n(); ++j) {
      if (!(variance[j] > kOwnVariance * Sigma(j, j))) continue;
      const double g = residual[j] * residual[j] / variance[j];
      if (g > gain) gain = g, best = j;
    }
    if (step == 0) best_single = best < 0 ? 0 : best;
    if (best < 0) break;
    K.push_back(best);
    const double pivot = std::sqrt(variance[best]);
    Vector w = Sigma.col(best);
    for (Index s = 0; s < step; ++s) w -= columns(best, s) * columns.col(s);
    w /= pivot;
    columns.col(step) = w;
    residual -= (residual[best] / pivot) * w;
    variance -= w.cwiseAbs2();
    for (const Index held : K) variance[held] = 0.0;
  }

  const Index held = static_cast<Index>(K.size());
  Matrix block = Sigma(K, K);
  Vector y = mu(K);
  greedy.setZero();
  if (factor_in_place(block)) {
    const int order = static_cast<int>(held);
    for (const auto transpose : {CblasNoTrans, CblasTrans})
      cblas_dtrsv(CblasColMajor, CblasLower, transpose, CblasNonUnit, order, block.data(), order,
                  y.data(), 1);
    for (Index s = 0; s < held; ++s) greedy[K[at(s)]] = y[s];
  } else {
    greedy[best_single] = mu[best_single];
  }
  // The value of what was found, not of what the recursion promises.
  long double risk = 0.0L, reward = 0.0L, size = 0.0L;
  for (const Index i : K) {
    const long double y_i = greedy[i];
    reward += y_i * mu[i];
    for (const Index j : K) {
      const long double term = y_i * Sigma(i, j) * greedy[j];
      risk += term;
      size += std::abs(term);
    }
  }
  const auto terms = static_cast<long double>(held * held + 16);
  risk += terms * std::numeric_limits<long double>::epsilon() * size;
  greedy_value = static_cast<double>(reward * reward / risk) * (1.0 - 1e-15);
  greedy /= static_cast<double>(std::sqrt(risk));
}

}  // namespace sharpen::baseline
