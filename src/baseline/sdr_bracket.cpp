#include "baseline/sdr_bracket.hpp"

#include <algorithm>
#include <cmath>

namespace sharpen::baseline {

namespace {

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2.0;  // of rounding
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A primal point must clear its constraint by more than the rounding of the sums over n^2 terms.
constexpr double kInside = 1e-13;
// Theta is raised by these relative steps until its slack is proved: 1e-14, growing eightfold.
constexpr double kFirstRaise = 1e-14;
constexpr double kRaiseGrowth = 8.0;
constexpr int kMostRaises = 36;
constexpr int kRefinements = 6;

double sum_of_absolutes(const Matrix& Y) { return Y.cwiseAbs().sum(); }

}  // namespace

Bracket::Bracket(Index n) : Y_(n, n), V_(n, n), slack_(n, n) {}

void Bracket::begin(const ScaledProblem& problem) {
  problem_ = &problem;
  dual_ = kInfinity;
  nu_ = 0.0;
  V_.setZero();
  primal_ = problem.greedy_value;
  Y_.noalias() = problem.greedy * problem.greedy.transpose();
}

void Bracket::offer_primal(const Matrix& Y) {
  const ScaledProblem& p = *problem_;
  const Vector diagonal = Y.diagonal();
  const double trace = diagonal.sum();
  const double off = sum_of_absolutes(Y) - trace;
  double value = 0.0;
  for (Index j = 0; j < p.n(); ++j) value += p.mu[j] * p.mu.dot(Y.col(j));
  const double risk = p.Sigma.cwiseProduct(Y).sum();
  if (!(risk > 0.0) || !std::isfinite(value) || !std::isfinite(risk)) return;

  const double room = (p.kappa - 1.0) * trace * (1.0 - kInside);
  const double value_diagonal = diagonal.cwiseProduct(p.mu.cwiseAbs2()).sum();
  const double risk_diagonal = diagonal.cwiseProduct(p.Sigma.diagonal()).sum();
  const double keep = off > room ? room / off : 1.0;  // of the entries off the diagonal
  const double shrunk = (value_diagonal + keep * (value - value_diagonal)) /
                        (risk_diagonal + keep * (risk - risk_diagonal));

  // Linear in the share of the greedy portfolio, whose own excess is negative: convexity makes
  // the mixture feasible.
  const double l1 = p.greedy.lpNorm<1>();
  const double excess = (off - room) / risk;
  const double greedy_excess = l1 * l1 - (p.kappa - kInside) * p.greedy.squaredNorm();
  double share = 0.0;
  if (excess > 0.0) share = greedy_excess < 0.0 ? excess / (excess - greedy_excess) : 1.0;
  const double mixed = (1.0 - share) * value / risk + share * p.greedy_value;

  if (!(std::max(shrunk, mixed) > primal_)) return;
  if (shrunk >= mixed) {
    const double scale = 1.0 / (risk_diagonal + keep * (risk - risk_diagonal));
    Y_ = (keep * scale) * Y;
    Y_.diagonal() = scale * diagonal;
    primal_ = shrunk;
  } else {
    Y_ = ((1.0 - share) / risk) * Y;
    Y_.noalias() += share * p.greedy * p.greedy.transpose();
    primal_ = mixed;
  }
}

// Balanced by powers of two, so that no asset drowns in the rounding of another: B S B is PSD if
// and only if S is. Forming it errs by at most 4 u (theta |Sigma| + |mu mu^T| + |W|) in every
// entry; a Cholesky factorisation that runs to its end proves the smallest eigenvalue above
// -(n + 3) u trace. Subtracting more than both, and succeeding, proves S.
bool Bracket::slack_is_positive(double theta, double nu, const Matrix& V) {
  const ScaledProblem& p = *problem_;
  const Index n = p.n();
  double size_W = 0.0;
  for (Index j = 0; j < n; ++j) {
    for (Index i = j; i < n; ++i) {
      const double W = i == j ? nu * (p.kappa - 1.0) : std::clamp(V(i, j), -nu, nu);
      const double scale = p.balance[i] * p.balance[j];
      slack_(i, j) = (theta * p.Sigma(i, j) - p.mu[i] * p.mu[j] - W) * scale;
      size_W += (i == j ? 1.0 : 2.0) * (W * scale) * (W * scale);
    }
  }
  double size = std::sqrt(size_W);
  for (Index i = 0; i < n; ++i) {
    const double b2 = p.balance[i] * p.balance[i];
    size += b2 * (theta * p.Sigma(i, i) + p.mu[i] * p.mu[i]);
  }
  const double margin = 4.0 * (static_cast<double>(n) + 8.0) * kUnit * size;
  if (!std::isfinite(margin)) return false;
  slack_.diagonal().array() -= margin;
  return factor_in_place(slack_);
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
}

}  // namespace sharpen::baseline
