#include "select/proof_bound.hpp"

#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/vec.hpp"
#include "select/proof_algebra.hpp"

namespace sharpen::select {

namespace {

constexpr double kShorten = 0.7;
constexpr int kMostShortenings = 40;
constexpr double kToBoundary = 0.95;  // of the way to the boundary of a linear limit
constexpr double kConeKept = 0.02;    // of omega d - q^2 must be left after a step

}  // namespace

ProofBound::ProofBound(const ProofProblem& problem)
    : problem_(problem), capacity_(problem.n), p_(problem.p()) {
  for (ProofMatrix* A : {&S_, &Q_, &P_, &N_, &D_, &L_, &X_}) A->resize(capacity_, capacity_);
  for (ProofMatrix* A : {&Gr_, &Gin_}) A->resize(capacity_, p_);
  for (ProofMatrix* A : {&Rp_, &Rd_, &Yp_, &Yd_, &T_}) A->resize(capacity_, p_ + 2);
  border_.resize(p_ + 1, p_ + 1);
  for (ProofVector* x : {&v_in_, &v_, &m_, &z_, &x_, &A_, &B_, &du_, &dd_, &domega_, &dq_})
    x->resize(capacity_);
  for (ProofVector* x : {&border_gradient_, &border_step_}) x->resize(p_ + 1);
  pivots_.resize(at(p_ + 1));
  s_.resize(at(capacity_));
  sorted_.resize(at(capacity_));
  local_.resize(at(capacity_));
  names_.reserve(at(capacity_));
  in_names_.reserve(at(capacity_));
}

bool ProofBound::begin(std::span<const Index> in, std::span<const Index> open) {
  in_names_.clear();
  names_.clear();
  if (problem_.any_one_sided)
    names_.assign(in.begin(), in.end());
  else
    in_names_.assign(in.begin(), in.end());
  always_ = static_cast<Index>(names_.size());
  names_.insert(names_.end(), open.begin(), open.end());
  n_ = static_cast<Index>(names_.size());
  in_ = static_cast<Index>(in_names_.size());
  choose_ = problem_.k - static_cast<Index>(in.size());
  if (n_ - always_ <= choose_) always_ = n_;
  ranks_ = always_ < n_;
  if (!ranks_) choose_ = 0;

  least_eigenvalue_ = problem_.least_eigenvalue;
  if (!(least_eigenvalue_ > 0.0) && !find_least_eigenvalue()) return false;
  for (Index b = 0; b < in_; ++b)
    for (Index a = b; a < in_; ++a) L_(a, b) = problem_.Sigma(in_names_[at(a)], in_names_[at(b)]);
  if (!factor_lower(L_, in_)) return false;
  for (Index b = 0; b < n_; ++b) {
    const double* column = &problem_.Sigma(0, names_[at(b)]);
    for (Index a = 0; a < in_; ++a) X_(a, b) = column[in_names_[at(a)]];
    for (Index a = 0; a < n_; ++a) S_(a, b) = column[names_[at(a)]];
  }
  const int ld = size_of(capacity_);
  if (in_ > 0 && n_ > 0) {
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, size_of(in_),
                size_of(n_), 1.0, L_.data(), ld, X_.data(), ld);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, size_of(n_), size_of(in_), -1.0, X_.data(),
                ld, 1.0, S_.data(), ld);
    for (Index j = 0; j < n_; ++j)
      for (Index i = j + 1; i < n_; ++i) S_(j, i) = S_(i, j);
  }
  residual_rows();
  set_degree();
  return true;
}

// Few names may be far from singular where all of them are not.
bool ProofBound::find_least_eigenvalue() {
  std::vector<Index> all = in_names_;
  all.insert(all.end(), names_.begin(), names_.end());
  least_eigenvalue_ = select::least_eigenvalue(problem_.Sigma(all, all));
  return least_eigenvalue_ > 0.0;
}

void ProofBound::residual_rows() {
  for (Index r = 0; r < p_; ++r) {
    for (Index a = 0; a < in_; ++a) Gin_(a, r) = problem_.G(in_names_[at(a)], r);
    solve_lower(L_, in_, false, &Gin_(0, r));
    for (Index a = 0; a < n_; ++a) Gr_(a, r) = problem_.G(names_[at(a)], r);
    Gr_.col(r).head(n_).noalias() -= X_.topLeftCorner(in_, n_).transpose() * Gin_.col(r).head(in_);
  }
}

// Of the barrier: what its gap is the 1/t-fold of.
void ProofBound::set_degree() {
  degree_ = 3.0 * static_cast<double>(n_) + static_cast<double>(n_ - always_);
  for (Index r = 0; r < p_; ++r) degree_ += problem_.equality[at(r)] ? 0.0 : 1.0;
  for (const Index name : names_) degree_ += problem_.one_sided[at(name)] ? 1.0 : 0.0;
  degree_ = std::max(degree_, 1.0);  // equalities alone have no barrier, and a path all the same
}

bool ProofBound::factor(const double* d) {
  for (Index j = 0; j < n_; ++j) {
    std::copy_n(&S_(j, j), n_ - j, &Q_(j, j));
    Q_(j, j) -= d[j];
  }
  return factor_lower(Q_, n_);
}

// The bound at the present point, whose factor is in Q_. mu - G lambda - u is rounded, by an e that
// adds at most |e| / sqrt(least eigenvalue) to the root of any V.
void ProofBound::evaluate() {
  double error = 0.0, linear = 0.0, linear_size = 0.0;
  const auto combined = [&](Index name) {
    double value = problem_.mu[name], size = std::abs(value);
    for (Index r = 0; r < p_; ++r) {
      const double term = problem_.G(name, r) * point_.lambda[at(r)];
      value -= term;
      size += std::abs(term);
    }
    error += size * size;
    return value;
  };
  for (Index r = 0; r < p_; ++r) {
    linear += 2.0 * problem_.g[r] * point_.lambda[at(r)];
    linear_size += std::abs(2.0 * problem_.g[r] * point_.lambda[at(r)]);
  }
  for (Index a = 0; a < in_; ++a) v_in_[a] = combined(in_names_[at(a)]);
  solve_lower(L_, in_, false, v_in_.data());
  value_in_ = v_in_.head(in_).squaredNorm();
  for (Index a = 0; a < n_; ++a) v_[a] = combined(names_[at(a)]);
  v_.head(n_).noalias() -= X_.topLeftCorner(in_, n_).transpose() * v_in_.head(in_);
  for (Index a = 0; a < n_; ++a) {
    const double u = point_.u[at(a)];
    m_[a] = v_[a] - u;
    error += u * u;
    const bool helps = u > 0.0 || !problem_.one_sided[at(names_[at(a)])];
    s_[at(a)] = helps && u != 0.0 ? u * u / point_.d[at(a)] : 0.0;
  }
  z_.head(n_) = m_.head(n_);
  solve_lower(Q_, n_, false, z_.data());
  const double quadratic = value_in_ + z_.head(n_).squaredNorm();
  x_.head(n_) = z_.head(n_);
  solve_lower(Q_, n_, true, x_.data());

  top_ = 0.0;
  for (Index a = 0; a < always_; ++a) top_ += s_[at(a)];
  if (ranks_) {
    std::copy(s_.begin() + always_, s_.begin() + n_, sorted_.begin());
    const auto last = sorted_.begin() + (choose_ - 1);
    std::nth_element(sorted_.begin(), last, sorted_.begin() + (n_ - always_), std::greater<>());
    for (Index a = 0; a < choose_; ++a) top_ += sorted_[at(a)];
  }
  const double size = quadratic + top_ + linear_size;
  const double terms = 8.0 * kEps * (static_cast<double>(capacity_) + 16.0);
  const double noise =
      4.0 * kEps * static_cast<double>(p_ + 3) * std::sqrt(error / least_eigenvalue_);
  bound_ = quadratic + linear + top_ + terms * size + noise * (2.0 * std::sqrt(size) + noise);
}

bool ProofBound::start(const ProofPoint& from) {
  point_ = from;
  if (!factor(point_.d.data())) return false;
  evaluate();
  return std::isfinite(bound_);
}

// From a multiple of the identity: u is the best one where every name is held by k / n.
bool ProofBound::cold() {
  for (std::vector<double>* x : {&point_.u, &point_.d, &point_.omega, &point_.q})
    x->assign(at(n_), 0.0);
  point_.lambda.assign(at(p_), 0.0);
  const double size = v_.size() == 0 ? 0.0 : problem_.mu.cwiseAbs().maxCoeff();
  for (Index r = 0; r < p_; ++r)
    if (!problem_.equality[at(r)]) point_.lambda[at(r)] = 1e-3 * size;
  const double z = ranks_ ? static_cast<double>(choose_) / static_cast<double>(n_ - always_) : 0.9;
  const double d = 0.5 * least_eigenvalue_;
  std::fill(point_.d.begin(), point_.d.end(), -d * (1.0 / z - 1.0));
  if (!factor(point_.d.data())) return false;
  std::fill(point_.d.begin(), point_.d.end(), d);
  evaluate();  // x = (Sigma + d (1/z - 1))^-1 (mu - G lambda), as u is zero
  for (Index a = 0; a < n_; ++a) point_.u[at(a)] = d * x_[a] / z;
  if (!factor(point_.d.data())) return false;
  evaluate();
  double mean = 1e-3 * bound_ / static_cast<double>(std::max<Index>(n_, 1));
  for (Index a = 0; a < n_; ++a) mean += s_[at(a)] / static_cast<double>(n_);
  for (Index a = 0; a < n_; ++a) {
    double& q = point_.q[at(a)];
    q = point_.u[at(a)];
    if (problem_.one_sided[at(names_[at(a)])]) q = std::max(q, 0.0) + std::sqrt(d * mean);
    point_.omega[at(a)] = q * q / d + mean;
  }
  point_.tau = 0.0;
  point_.t = degree_ / std::max(bound_, problem_.smallest);
  return std::isfinite(bound_) && std::isfinite(point_.t);
}

double ProofBound::of_all() {
  for (std::vector<double>* x : {&point_.u, &point_.d, &point_.omega, &point_.q})
    x->assign(at(n_), 0.0);
  point_.lambda.assign(at(p_), 0.0);
  if (!factor(point_.d.data())) return kInfinity;
  evaluate();
  double best = bound_;
  if (p_ != 1 || problem_.equality[0] || in_ > 0) return best;
  // One row has its best multiplier in closed form.
  ProofVector row = Gr_.col(0).head(n_);
  const double against = row.dot(x_.head(n_)) - problem_.g[0];
  solve_lower(Q_, n_, false, row.data());
  point_.lambda[0] = std::max(0.0, against / row.squaredNorm());
  evaluate();
  if (bound_ < best) best = bound_;
  return best;
}

double ProofBound::held(Index a) const {
  if (a < always_) return 1.0;
  const double d = point_.d[at(a)], q = point_.q[at(a)];
  return std::clamp(d / (point_.t * (point_.omega[at(a)] * d - q * q)), 0.0, 1.0);
}

ProofBound::Local ProofBound::derivatives(Index a) const {
  const bool ranked = a >= always_, one_sided = problem_.one_sided[at(names_[at(a)])];
  const double q = point_.q[at(a)], d = point_.d[at(a)], omega = point_.omega[at(a)];
  const double v = omega - point_.tau, cone = omega * d - q * q;
  Local to{};
  // omega: curvature d^2 / cone^2 + 1 / v^2, whose inverse is rw.
  to.inv_v2 = ranked ? 1.0 / (v * v) : 0.0;
  const double E = 1.0 / (d * d + to.inv_v2 * cone * cone);
  to.rw = cone * cone * E;
  to.gw = point_.t - d / cone - (ranked ? 1.0 / v : 0.0);
  to.wq = -2.0 * q * d / (cone * cone);
  to.wd = q * q / (cone * cone);
  // Without omega, every difference written as a sum of terms of one sign.
  const double qq = 2.0 / cone + 4.0 * q * q * to.inv_v2 * E;
  const double qd = -2.0 * q * (d / cone + omega * to.inv_v2) * E;
  const double dd = ((omega * d + q * q) / cone + omega * omega * to.inv_v2) * E;
  const double qt = -2.0 * q * d * to.inv_v2 * E, dt = q * q * to.inv_v2 * E;
  const double gq = 2.0 * q / cone - to.wq * to.gw * to.rw;
  const double gd = -omega / cone - to.wd * to.gw * to.rw;
  if (!one_sided) {
    to.uu = qq, to.ud = qd, to.dd = dd, to.ut = qt, to.dt = dt, to.gu = gq, to.gd = gd;
    return to;
  }
  const double e = q - point_.u[at(a)];
  to.inv_e2 = 1.0 / (e * e);
  to.rq = 1.0 / (qq + to.inv_e2);
  to.gq = gq - 1.0 / e;
  to.qd = qd, to.qt = qt;
  const double through = to.inv_e2 * to.rq;
  to.uu = through * qq;
  to.ud = through * qd;
  to.dd = dd - qd * qd * to.rq;
  to.ut = through * qt;
  to.dt = dt - qd * qt * to.rq;
  to.gu = 1.0 / e + through * to.gq;
  to.gd = gd - qd * to.gq * to.rq;
  return to;
}

// Newton's matrix in (p, dd) with du = p + x dd - G dlambda, in which the curvature of m^T Q^-1 m
// is 2 t P in p alone:  [2 t P + diag(A), diag(B); diag(B), P o P + diag(C)].
bool ProofBound::assemble() {
  const double t = point_.t;
  P_.topLeftCorner(n_, n_).triangularView<Eigen::Lower>() = Q_.topLeftCorner(n_, n_);
  if (!invert_lower(P_, n_)) return false;
  tau_gradient_ = ranks_ ? t * static_cast<double>(choose_ - (n_ - always_)) : 0.0;
  tau_curvature_ = 0.0;
  decrement_ = 0.0;
  for (Index a = 0; a < n_; ++a) {
    const Local& to = local_[at(a)] = derivatives(a);
    const double x = x_[a], d = point_.d[at(a)], v = point_.omega[at(a)] - point_.tau;
    if (a >= always_) {
      tau_gradient_ += 1.0 / v + to.inv_v2 * to.gw * to.rw;
      tau_curvature_ += to.inv_v2 * d * d * to.rw /
                        std::pow(point_.omega[at(a)] * d - point_.q[at(a)] * point_.q[at(a)], 2);
    }
    if (to.inv_e2 > 0.0) {
      tau_gradient_ -= to.qt * to.gq * to.rq;
      tau_curvature_ -= to.qt * to.qt * to.rq;
    }
    decrement_ += to.gw * to.gw * to.rw + to.gq * to.gq * to.rq;
    A_[a] = to.uu;
    B_[a] = to.uu * x + to.ud;
    Rp_(a, 0) = -2.0 * t * x + to.gu;
    Rd_(a, 0) = -t * x * x + P_(a, a) + to.gd + x * to.gu;
    Rp_(a, 1) = to.ut;
    Rd_(a, 1) = to.dt + x * to.ut;
    for (Index r = 0; r < p_; ++r) {
      Rp_(a, 2 + r) = -A_[a] * Gr_(a, r);
      Rd_(a, 2 + r) = -B_[a] * Gr_(a, r);
    }
  }
  for (Index b = 0; b < n_; ++b) {
    for (Index a = b; a < n_; ++a) N_(a, b) = 2.0 * t * P_(a, b);
    N_(b, b) += A_[b];
  }
  if (!factor_lower(N_, n_) || !invert_lower(N_, n_)) return false;
  for (Index b = 0; b < n_; ++b) {
    const Local& to = local_[at(b)];
    const double x = x_[b];
    for (Index a = b; a < n_; ++a) D_(a, b) = P_(a, b) * P_(a, b) - B_[a] * N_(a, b) * B_[b];
    D_(b, b) += to.uu * x * x + 2.0 * to.ud * x + to.dd;
  }
  return factor_lower(D_, n_);
}

// Block elimination for every right-hand side, then the small system in tau and lambda.
bool ProofBound::solve_border() {
  const Index sides = p_ + 2, small = p_ + 1;
  const auto Rp = Rp_.topLeftCorner(n_, sides), Rd = Rd_.topLeftCorner(n_, sides);
  auto Yp = Yp_.topLeftCorner(n_, sides), Yd = Yd_.topLeftCorner(n_, sides);
  const auto B = B_.head(n_).asDiagonal();
  const int ld = size_of(capacity_);
  if (n_ > 0) {
    multiply_symmetric(N_, n_, Rp_, sides, Yp_);
    Yd = Rd - B * Yp;
    if (LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', size_of(n_), size_of(sides), D_.data(), ld,
                            Yd_.data(), ld) != 0)
      return false;
    T_.topLeftCorner(n_, sides) = Rp - B * Yd;
    multiply_symmetric(N_, n_, T_, sides, Yp_);
  }
  border_.setZero();
  border_(0, 0) = ranks_ ? tau_curvature_ : 1.0;
  border_gradient_[0] = ranks_ ? tau_gradient_ : 0.0;
  for (Index r = 0; r < p_; ++r) {
    double gradient = 2.0 * point_.t * problem_.g[r];
    for (Index a = 0; a < in_; ++a) gradient -= 2.0 * point_.t * Gin_(a, r) * v_in_[a];
    for (Index a = 0; a < n_; ++a) gradient -= Gr_(a, r) * local_[at(a)].gu;
    for (Index l = 0; l < p_; ++l) {
      double curvature = 2.0 * point_.t * Gin_.col(r).head(in_).dot(Gin_.col(l).head(in_));
      for (Index a = 0; a < n_; ++a) curvature += Gr_(a, r) * A_[a] * Gr_(a, l);
      border_(1 + r, 1 + l) = curvature;
    }
    if (!problem_.equality[at(r)]) {
      const double lambda = point_.lambda[at(r)];
      gradient -= 1.0 / lambda;
      border_(1 + r, 1 + r) += 1.0 / (lambda * lambda);
    }
    border_gradient_[1 + r] = gradient;
    double with_tau = 0.0;
    for (Index a = 0; a < n_; ++a) with_tau -= Gr_(a, r) * local_[at(a)].ut;
    border_(0, 1 + r) = border_(1 + r, 0) = with_tau;
  }
  for (Index r = 0; r < small; ++r) {
    for (Index l = 0; l < small; ++l)
      border_(r, l) -= Rp.col(1 + r).dot(Yp.col(1 + l)) + Rd.col(1 + r).dot(Yd.col(1 + l));
    border_step_[r] =
        Rp.col(1 + r).dot(Yp.col(0)) + Rd.col(1 + r).dot(Yd.col(0)) - border_gradient_[r];
  }
  return LAPACKE_dgesv_work(LAPACK_COL_MAJOR, size_of(small), 1, border_.data(), size_of(small),
                            pivots_.data(), border_step_.data(), size_of(small)) == 0;
}

// How far the step may go by the limits that are linear.
double ProofBound::longest() const {
  double length = 1.0;
  const auto keep = [&](double value, double change) {
    if (change < 0.0) length = std::min(length, -kToBoundary * value / change);
  };
  const double dtau = ranks_ ? border_step_[0] : 0.0;
  for (Index a = 0; a < n_; ++a) {
    keep(point_.d[at(a)], dd_[a]);
    keep(point_.omega[at(a)], domega_[a]);
    if (a >= always_) keep(point_.omega[at(a)] - point_.tau, domega_[a] - dtau);
    if (local_[at(a)].inv_e2 > 0.0) keep(point_.q[at(a)] - point_.u[at(a)], dq_[a] - du_[a]);
  }
  for (Index r = 0; r < p_; ++r)
    if (!problem_.equality[at(r)]) keep(point_.lambda[at(r)], border_step_[1 + r]);
  return length;
}

bool ProofBound::inside(double length) const {
  for (Index a = 0; a < n_; ++a) {
    const double q0 = point_.q[at(a)], q = q0 + length * dq_[a];
    const double omega = point_.omega[at(a)], d = point_.d[at(a)];
    const double cone = (omega + length * domega_[a]) * (d + length * dd_[a]) - q * q;
    if (!(cone > kConeKept * (omega * d - q0 * q0))) return false;
  }
  return true;
}

bool ProofBound::move() {
  double length = longest();
  trial_ = point_;
  for (int attempt = 0; attempt < kMostShortenings; ++attempt, length *= kShorten) {
    if (!inside(length)) continue;
    for (Index a = 0; a < n_; ++a) trial_.d[at(a)] = point_.d[at(a)] + length * dd_[a];
    if (!factor(trial_.d.data())) continue;
    for (Index a = 0; a < n_; ++a) {
      trial_.u[at(a)] = point_.u[at(a)] + length * du_[a];
      trial_.omega[at(a)] = point_.omega[at(a)] + length * domega_[a];
      trial_.q[at(a)] = point_.q[at(a)] + length * dq_[a];
    }
    for (Index r = 0; r < p_; ++r) trial_.lambda[at(r)] += length * border_step_[1 + r];
    if (ranks_) trial_.tau += length * border_step_[0];
    std::swap(point_, trial_);
    return true;
  }
  return false;
}

bool ProofBound::step() {
  if (!assemble() || !solve_border()) return false;
  const double dtau = ranks_ ? border_step_[0] : 0.0;
  du_.head(n_) = -Yp_.col(0).head(n_);
  dd_.head(n_) = -Yd_.col(0).head(n_);
  for (Index r = 0; r <= p_; ++r) {
    du_.head(n_) -= border_step_[r] * Yp_.col(1 + r).head(n_);
    dd_.head(n_) -= border_step_[r] * Yd_.col(1 + r).head(n_);
    decrement_ -= border_gradient_[r] * border_step_[r];
  }
  for (Index a = 0; a < n_; ++a) {
    decrement_ -= Rp_(a, 0) * du_[a] + Rd_(a, 0) * dd_[a];
    du_[a] += x_[a] * dd_[a];
  }
  for (Index r = 0; r < p_; ++r) du_.head(n_) -= border_step_[1 + r] * Gr_.col(r).head(n_);
  for (Index a = 0; a < n_; ++a) {
    const Local& to = local_[at(a)];
    dq_[a] = du_[a];
    if (to.inv_e2 > 0.0)
      dq_[a] = -to.rq * (to.gq + to.qd * dd_[a] - to.inv_e2 * du_[a] + to.qt * dtau);
    domega_[a] = -to.rw * (to.gw + to.wq * dq_[a] + to.wd * dd_[a] - to.inv_v2 * dtau);
  }
  if (!std::isfinite(decrement_)) return false;
  const double before = point_.t;
  if (!move()) {
    if (factor(point_.d.data())) evaluate();
    return false;
  }
  point_.t = before;
  evaluate();
  return std::isfinite(bound_);
}

}  // namespace sharpen::select
