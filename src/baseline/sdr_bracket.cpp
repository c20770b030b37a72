#include "baseline/sdr_bracket.hpp"

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"

namespace sharpen::baseline {

namespace {

// Theta is raised by these relative steps until its slack is proved: 1e-14, growing eightfold.
constexpr double kFirstRaise = 1e-14;
constexpr double kRaiseGrowth = 8.0;
constexpr int kMostRaises = 36;
constexpr int kRefinements = 6;

// Whether the lower triangle of A (n, n), by rows, has a Cholesky factor, which replaces it.
bool has_factor(Real* A, Index n, const Stop& stop) {
  for (Index i = 0; i < n; ++i) {
    ask(stop);
    Real* row = A + i * n;
    Real pivot = row[i];
    for (Index j = 0; j < i; ++j) {
      const Real* other = A + j * n;
      // Two sums: the additions of one would wait for each other.
      Real even = row[j], odd = 0.0L;
      Index l = 0;
      for (; l + 1 < j; l += 2) {
        even -= row[l] * other[l];
        odd -= row[l + 1] * other[l + 1];
      }
      if (l < j) even -= row[l] * other[l];
      row[j] = (even + odd) / other[j];
      pivot -= row[j] * row[j];
    }
    if (!(pivot > 0.0L) || !std::isfinite(pivot)) return false;
    row[i] = std::sqrt(pivot);
  }
  return true;
}

}  // namespace

Bracket::Bracket(Index n) : Y_(n, n), V_(n, n), slack_(at(n * n)) {}

void Bracket::begin(const ScaledProblem& problem) {
  problem_ = &problem;
  dual_ = kInfinity;
  nu_ = 0.0;
  V_.setZero();
  primal_ = problem.greedy_value;
  Y_.noalias() = problem.greedy * problem.greedy.transpose();
}

// Balanced by powers of two, so that no asset drowns in the rounding of another: B S B is PSD if
// and only if S is. Forming it errs by at most 4 u (theta |Sigma| + |mu mu^T| + |W|) in every
// entry; a Cholesky factorisation that runs to its end proves the smallest eigenvalue above
// -(n + 3) u trace. Subtracting more than both, and succeeding, proves S. In long double, whose u
// is 2^-64 here: with that of double nothing could be proved about a Sigma that is nearly singular.
bool Bracket::slack_is_positive(double theta, double nu, const Matrix& V) {
  const ScaledProblem& p = *problem_;
  const Index n = p.n();
  Real size_W = 0.0L, size = 0.0L;
  for (Index i = 0; i < n; ++i) {
    Real* row = slack_.data() + i * n;
    for (Index j = 0; j <= i; ++j) {
      const Real W = i == j ? Real(nu) * (Real(p.kappa) - 1.0L) : std::clamp(V(i, j), -nu, nu);
      const Real scale = Real(p.balance[i]) * p.balance[j];
      row[j] = (Real(theta) * p.Sigma(i, j) - Real(p.mu[i]) * p.mu[j] - W) * scale;
      size_W += (i == j ? 1.0L : 2.0L) * (W * scale) * (W * scale);
    }
    const Real b2 = Real(p.balance[i]) * p.balance[i];
    size += b2 * (Real(theta) * p.Sigma(i, i) + Real(p.mu[i]) * p.mu[i]);
  }
  size += std::sqrt(size_W);
  const Real margin = 4.0L * (static_cast<Real>(n) + 8.0L) * kRealUnit * size;
  if (!std::isfinite(margin)) return false;
  for (Index i = 0; i < n; ++i) slack_[at(i * n + i)] -= margin;
  return has_factor(slack_.data(), n, p.stop);
}

bool Bracket::offer_dual(double nu, const Matrix& V, double theta) {
  if (!(nu >= 0.0) || !(theta > 0.0) || !std::isfinite(theta) || !(theta < dual_)) return false;
  double low = theta, raise = 0.0, proved = 0.0;
  for (int attempt = 0; attempt < kMostRaises; ++attempt) {
    const double candidate = theta * (1.0 + raise);
    if (!(candidate < dual_)) return false;
    if (slack_is_positive(candidate, nu, V)) {
      proved = candidate;
      break;
    }
    low = candidate;
    raise = attempt == 0 ? kFirstRaise : kRaiseGrowth * raise;
  }
  if (!(proved > 0.0)) return false;
  // Eightfold steps are coarse once they are visible.
  for (int i = 0; i < kRefinements && proved - low > 1e-9 * proved; ++i) {
    const double middle = 0.5 * (low + proved);
    (slack_is_positive(middle, nu, V) ? proved : low) = middle;
  }
  set_dual(proved, nu, V);
  return true;
}

void Bracket::set_dual(double theta, double nu, const Matrix& V) {
  dual_ = theta;
  nu_ = nu;
  V_ = V.cwiseMax(-nu).cwiseMin(nu);
  V_.diagonal().setConstant(-nu);
  mirror_lower(V_);  // the triangle that was proved
}

}  // namespace sharpen::baseline
