#include "baseline/sdr_first_order.hpp"

#include <algorithm>
#include <cmath>

namespace sharpen::baseline {

namespace {

constexpr double kRelaxation = 1.8;  // rho in (0, 2)
constexpr Index kCheckEvery = 10;    // steps between looks at the gap
constexpr Index kFirstRebalance = 20;
constexpr double kPrimalShare = 0.7;  // feasible primal points come last: favour their constraint

// C = F F^T, F (n, r).
void gram(const Matrix& F, Index r, Matrix& C) {
  const int n = order_of(F);
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, n, static_cast<int>(r), 1.0, F.data(), n,
              0.0, C.data(), n);
  mirror_lower(C);
}

}  // namespace

FirstOrder::FirstOrder(Index n) : n_(n), m_(n), spectrum_(n) {
  for (Matrix* matrix : {&R_, &root_, &X_, &W_, &A_, &G_, &next_X_, &next_W_, &next_A_, &next_G_,
                         &best_W_, &scratch_, &factor_, &image_, &warm_Y_, &warm_W_})
    matrix->setZero(n, n);
  projected_.resize(at(n));
}

void FirstOrder::whitened(const Matrix& M, Matrix& out) {
  multiply(M, R_, image_);
  multiply(R_, image_, out);
}

bool FirstOrder::whiten() {
  factor_ = problem_->Sigma;
  if (!spectrum_.vectors(factor_)) return false;
  const Vector& e = spectrum_.value();
  smallest_ = e[0];
  if (!(smallest_ > 0.0)) return false;
  // Q diag(e^(-1/2)) Q^T and Q diag(e^(1/2)) Q^T as Gram matrices.
  for (Index j = 0; j < n_; ++j) image_.col(j) = factor_.col(j) / std::sqrt(std::sqrt(e[j]));
  gram(image_, n_, R_);
  for (Index j = 0; j < n_; ++j) image_.col(j) = factor_.col(j) * std::sqrt(std::sqrt(e[j]));
  gram(image_, n_, root_);
  m_.noalias() = R_ * problem_->mu;
  return true;
}

void FirstOrder::start() {
  const ScaledProblem& p = *problem_;
  kappa1_ = p.kappa - 1.0;
  if (warm_) {
    multiply(warm_Y_, root_, image_);
    multiply(root_, image_, X_);
    symmetrize(X_);
    W_ = (p.greedy_value * p.Sigma.trace()) * warm_W_;
    omega_ = warm_omega_;
  } else {
    X_.noalias() = m_ * m_.transpose();
    W_.setZero();
    omega_ = 1.0;
  }
  X_ /= X_.trace();
  whitened(X_, G_);
  whitened(W_, A_);
  nu_ = W_(1, 0);
  rank_ = 1;
  best_theta_ = std::numeric_limits<double>::infinity();
}

// W+ minimises |W+ - (W - sigma G)| over C. The derivative in nu is concave and increasing, so
// Newton's iteration approaches its root from the left, after at most one step from the right.
void FirstOrder::project_dual() {
  const double sigma = smallest_ / omega_;
  next_W_ = W_ - sigma * G_;
  const double n = static_cast<double>(n_), trace = next_W_.trace();
  const double* entries = next_W_.data();
  double nu = std::max(nu_, 0.0);
  for (int iteration = 0; iteration < 100; ++iteration) {
    double excess = 0.0, count = 0.0;
    for (Index j = 0; j < n_; ++j) {
      const double* column = entries + j * n_;
      for (Index i = j + 1; i < n_; ++i) {
        const double over = std::abs(column[i]) - nu;
        excess += over > 0.0 ? over : 0.0;
        count += over > 0.0 ? 1.0 : 0.0;
      }
    }
    const double value = -2.0 * excess + kappa1_ * (n * nu * kappa1_ - trace);
    const double next = std::max(0.0, nu - value / (2.0 * count + n * kappa1_ * kappa1_));
    const bool settled = std::abs(next - nu) <= 1e-15 * nu || (next == 0.0 && nu == 0.0);
    nu = next;
    if (settled) break;
  }
  nu_ = nu;
  next_W_ = next_W_.cwiseMax(-nu).cwiseMin(nu);
  next_W_.diagonal().setConstant(nu * kappa1_);
}

// X+ = the projection of X + tau (m m^T + R (2 W+ - W) R) onto the spectraplex, by a low-rank
// factor; its image R X+ R comes from the same factor.
bool FirstOrder::project_primal() {
  const double tau = omega_ * smallest_;
  scratch_ = X_ + tau * (2.0 * next_A_ - A_);
  cblas_dsyr(CblasColMajor, CblasLower, order_of(scratch_), tau, m_.data(), 1, scratch_.data(),
             order_of(scratch_));
  if (!spectrum_.reduce(scratch_, rank_)) return false;
  const Vector& e = spectrum_.value();  // ascending
  Index rank = 0;
  double sum = 0.0, shift = 0.0;
  for (Index i = n_ - 1; i >= 0; --i) {
    sum += e[i];
    const double candidate = (sum - 1.0) / static_cast<double>(n_ - i);
    if (e[i] <= candidate) break;
    shift = candidate;
    rank = n_ - i;
  }
  rank_ = rank;
  if (!spectrum_.top_vectors(scratch_, rank)) return false;
  for (Index j = 0; j < rank; ++j)
    factor_.col(j) = std::sqrt(e[n_ - rank + j] - shift) * scratch_.col(j);
  gram(factor_, rank, next_X_);
  const int n = order_of(R_), r = static_cast<int>(rank);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, r, n, 1.0, R_.data(), n, factor_.data(),
              n, 0.0, image_.data(), n);
  gram(image_, rank, next_G_);
  return true;
}

bool FirstOrder::step() {
  ask(problem_->stop);
  project_dual();
  whitened(next_W_, next_A_);
  ask(problem_->stop);
  return project_primal();
}

void FirstOrder::relax() {
  X_ += kRelaxation * (next_X_ - X_);
  W_ += kRelaxation * (next_W_ - W_);
  A_ += kRelaxation * (next_A_ - A_);
  G_ += kRelaxation * (next_G_ - G_);
}

// Steps in proportion to the distances still to go, as far as the sizes of X (near 1) and W tell.
void FirstOrder::rebalance() {
  const double target = kPrimalShare / std::max(next_W_.norm(), 1e-6);
  omega_ = std::sqrt(omega_ * target);
}

// Bounds theta by the largest eigenvalue, which is a proof only up to rounding: the bracket has
// the last word, and is asked when the gap looks closed.
bool FirstOrder::check(double gap, Bracket& bracket) {
  scratch_ = next_A_;
  cblas_dsyr(CblasColMajor, CblasLower, order_of(scratch_), 1.0, m_.data(), 1, scratch_.data(),
             order_of(scratch_));
  double theta = 0.0;
  if (!spectrum_.largest(scratch_, theta)) return false;
  if (theta < best_theta_) {
    best_theta_ = theta;
    best_nu_ = nu_;
    best_W_ = next_W_;
  }
  bracket.offer_primal(next_G_);
  if (best_theta_ - bracket.primal() <= gap * best_theta_)
    bracket.offer_dual(best_nu_, best_W_, best_theta_);
  return bracket.gap() <= gap;
}

void FirstOrder::remember() {
  const ScaledProblem& p = *problem_;
  warm_Y_ = next_G_;
  warm_W_ = next_W_ / (p.greedy_value * p.Sigma.trace());
  warm_omega_ = omega_;
  warm_ = warm_Y_.allFinite() && warm_W_.allFinite();
}

Index FirstOrder::run(const ScaledProblem& problem, double gap, Index max_iterations,
                      Bracket& bracket) {
  problem_ = &problem;
  if (!whiten()) return 0;
  start();
  Index rebalance_at = warm_ ? max_iterations : kFirstRebalance;
  Index steps = 0;
  while (steps < max_iterations) {
    if (!step()) break;
    ++steps;
    if ((steps % kCheckEvery == 0 || steps == max_iterations) && check(gap, bracket)) break;
    relax();
    if (steps == rebalance_at) {
      rebalance();
      rebalance_at *= 2;
    }
  }
  if (std::isfinite(best_theta_)) bracket.offer_dual(best_nu_, best_W_, best_theta_);
  if (steps > 0) remember();
  return steps;
}

}  // namespace sharpen::baseline
