#include "baseline/sdr_interior.hpp"

#include <algorithm>

#include "base/vec.hpp"

namespace sharpen::baseline {

namespace {

constexpr double kToBoundary = 0.95;    // share of the way to the boundary that a step goes
constexpr double kShortestStep = 1e-7;  // both steps below: rounding has taken over

// The largest t with x + t dx >= 0.
double room(double x, double dx) { return dx < 0.0 ? -x / dx : kInfinity; }

// The largest t with L L^T + t D PSD; D is destroyed.
double room(const Matrix& L, Matrix& D, Spectrum& spectrum) {
  divide_by_factor(L, D);
  if (!spectrum.values(D)) return 0.0;
  return room(1.0, spectrum.value()[0]);
}

}  // namespace

InteriorPoint::InteriorPoint(Index n)
    : n_(n),
      pairs_(n * (n - 1) / 2),
      system_(pairs_ + 2, pairs_ + 2),
      rhs_(pairs_ + 2),
      spectrum_(n) {
  for (Primal* x : {&x_, &dx_, &second_})
    for (Matrix* m : {&x->Y, &x->P, &x->N}) m->setZero(n, n);
  for (Dual* y : {&y_, &dy_})
    for (Matrix* m : {&y->V, &y->S}) m->setZero(n, n);
  for (Matrix* m : {&L_Y_, &L_S_, &S_inverse_, &product_, &K_Sigma_, &K_I_, &scratch_})
    m->setZero(n, n);
}

// Y = I / tr Sigma with room in the l1 constraint; V = 0, nu small against Sigma, theta beyond
// mu^T Sigma^-1 mu: S = theta Sigma - mu mu^T - nu (kappa - 1) I is then positive definite.
void InteriorPoint::start() {
  const ScaledProblem& p = *problem_;
  const double trace = p.Sigma.trace(), n = static_cast<double>(n_);
  x_.Y.setIdentity();
  x_.Y /= trace;
  const double free = (p.kappa - 1.0) * n / trace;  // (kappa - 1) tr Y
  x_.P.setConstant(0.25 * free / (n * (n - 1.0)));
  x_.P.diagonal().setZero();
  x_.N = x_.P;
  x_.s = 0.5 * free;

  scratch_ = p.Sigma;
  spectrum_.values(scratch_);
  const double smallest = std::max(spectrum_.value()[0], 1e-14 * trace);
  const double full = p.mu.dot(p.full);
  y_.theta = 1.5 * full;
  y_.nu = 0.3 * full * smallest / (p.kappa - 1.0);
  y_.V.setZero();
  slack_change(y_.theta, y_.nu, y_.V, y_.S);
  y_.S.noalias() -= p.mu * p.mu.transpose();
}

void InteriorPoint::slack_change(double dtheta, double dnu, const Matrix& dV, Matrix& dS) const {
  dS = dtheta * problem_->Sigma - dV;
  dS.diagonal().array() -= dnu * (problem_->kappa - 1.0);
}

void InteriorPoint::apply(const Matrix& Y, const Matrix& M, Matrix& out) {
  multiply(M, S_inverse_, product_);
  multiply(Y, product_, out);
  symmetrize(out);
}

bool InteriorPoint::factor_iterates() {
  L_Y_ = x_.Y;
  L_S_ = y_.S;
  if (!factor_in_place(L_Y_) || !factor_in_place(L_S_)) return false;
  invert_factor(L_S_, S_inverse_);
  return S_inverse_.allFinite();
}

// The matrix of the equations for (dtheta, dnu, dV), V by its lower triangle, column by column:
//   <Sigma, K(dS)>, -(kappa - 1) tr K(dS) + box terms, 2 (-K(dS) + box terms)_ij,
// K(M) = sym(Y M S^-1), dS = dtheta Sigma - dnu (kappa - 1) I - dV. Only its lower triangle.
bool InteriorPoint::assemble() {
  const ScaledProblem& p = *problem_;
  const double k1 = p.kappa - 1.0;
  const Matrix &Y = x_.Y, &Z = S_inverse_;
  apply(Y, p.Sigma, K_Sigma_);
  scratch_.setIdentity();
  apply(Y, scratch_, K_I_);

  system_(0, 0) = p.Sigma.cwiseProduct(K_Sigma_).sum();
  system_(1, 0) = -k1 * K_Sigma_.trace();
  system_(1, 1) = k1 * k1 * K_I_.trace() + x_.s / y_.nu;
  Index column = 2;
  for (Index i = 0; i < n_; ++i) {
    for (Index j = i + 1; j < n_; ++j, ++column) {
      const double up = x_.P(j, i) / (y_.nu + y_.V(j, i)), down = x_.N(j, i) / (y_.nu - y_.V(j, i));
      system_(1, 1) += 2.0 * (up + down);
      system_(column, 0) = -2.0 * K_Sigma_(j, i);
      system_(column, 1) = 2.0 * (k1 * K_I_(j, i) + up - down);
      // Rows (l, k), l > k >= i: Y_ik Z_jl + Y_il Z_jk + Y_jk Z_il + Y_jl Z_ik.
      double* out = &system_(column, column);
      for (Index k = i; k < n_; ++k) {
        const Index first = k == i ? j : k + 1;
        const double Y_ik = Y(k, i), Z_jk = Z(k, j), Y_jk = Y(k, j), Z_ik = Z(k, i);
        const double *Y_i = &Y(0, i), *Y_j = &Y(0, j), *Z_i = &Z(0, i), *Z_j = &Z(0, j);
        for (Index l = first; l < n_; ++l)
          *out++ = Y_ik * Z_j[l] + Y_i[l] * Z_jk + Y_jk * Z_i[l] + Y_j[l] * Z_ik;
      }
      system_(column, column) += 2.0 * (up + down);
    }
  }
  return factor_in_place(system_);
}

// The step towards complementarity products of size c; `correct` includes the second-order terms
// in second_.
void InteriorPoint::direction(double c, bool correct) {
  const ScaledProblem& p = *problem_;
  const double k1 = p.kappa - 1.0;
  // What the pairs would be if S, a, b, nu stayed.
  dx_.Y = c * S_inverse_;
  dx_.P = c * (y_.nu + y_.V.array()).inverse().matrix();
  dx_.N = c * (y_.nu - y_.V.array()).inverse().matrix();
  dx_.s = c / y_.nu;
  if (correct) {
    dx_.Y -= second_.Y;
    dx_.P -= second_.P;
    dx_.N -= second_.N;
    dx_.s -= second_.s;
  }
  dx_.P.diagonal().setZero();
  dx_.N.diagonal().setZero();

  rhs_[0] = p.Sigma.cwiseProduct(dx_.Y).sum() - 1.0;
  rhs_[1] = -(k1 * dx_.Y.trace() - (dx_.P + dx_.N).sum() - dx_.s);
  Index row = 2;
  for (Index i = 0; i < n_; ++i)
    for (Index j = i + 1; j < n_; ++j)
      rhs_[row++] = -2.0 * (dx_.Y(j, i) - dx_.P(j, i) + dx_.N(j, i));
  const int order = order_of(system_);
  for (const auto transpose : {CblasNoTrans, CblasTrans})
    cblas_dtrsv(CblasColMajor, CblasLower, transpose, CblasNonUnit, order, system_.data(), order,
                rhs_.data(), 1);

  dy_.theta = rhs_[0];
  dy_.nu = rhs_[1];
  row = 2;
  for (Index i = 0; i < n_; ++i)
    for (Index j = i + 1; j < n_; ++j) dy_.V(j, i) = dy_.V(i, j) = rhs_[row++];
  slack_change(dy_.theta, dy_.nu, dy_.V, dy_.S);

  apply(x_.Y, dy_.S, scratch_);
  dx_.Y -= x_.Y + scratch_;
  dx_.P.array() -= x_.P.array() * (1.0 + (dy_.nu + dy_.V.array()) / (y_.nu + y_.V.array()));
  dx_.N.array() -= x_.N.array() * (1.0 + (dy_.nu - dy_.V.array()) / (y_.nu - y_.V.array()));
  dx_.s -= x_.s * (1.0 + dy_.nu / y_.nu);
}

double InteriorPoint::primal_step() const {
  scratch_ = dx_.Y;
  double t = std::min(room(L_Y_, scratch_, spectrum_), room(x_.s, dx_.s));
  for (Index j = 0; j < n_; ++j)
    for (Index i = j + 1; i < n_; ++i)
      t = std::min({t, room(x_.P(i, j), dx_.P(i, j)), room(x_.N(i, j), dx_.N(i, j))});
  return std::min(1.0, kToBoundary * t);
}

double InteriorPoint::dual_step() const {
  scratch_ = dy_.S;
  double t = std::min(room(L_S_, scratch_, spectrum_), room(y_.nu, dy_.nu));
  for (Index j = 0; j < n_; ++j)
    for (Index i = j + 1; i < n_; ++i)
      t = std::min({t, room(y_.nu + y_.V(i, j), dy_.nu + dy_.V(i, j)),
                    room(y_.nu - y_.V(i, j), dy_.nu - dy_.V(i, j))});
  return std::min(1.0, kToBoundary * t);
}

// <Y, S> + <P, a> + <N, b> + s nu after steps of these lengths: the gap in theta.
double InteriorPoint::complementarity(double tp, double td) const {
  double sum = (x_.s + tp * dx_.s) * (y_.nu + td * dy_.nu);
  for (Index j = 0; j < n_; ++j) {
    for (Index i = 0; i < n_; ++i) {
      sum += (x_.Y(i, j) + tp * dx_.Y(i, j)) * (y_.S(i, j) + td * dy_.S(i, j));
      if (i == j) continue;
      const double nu = y_.nu + td * dy_.nu, V = y_.V(i, j) + td * dy_.V(i, j);
      sum += (x_.P(i, j) + tp * dx_.P(i, j)) * (nu + V);
      sum += (x_.N(i, j) + tp * dx_.N(i, j)) * (nu - V);
    }
  }
  return sum;
}

void InteriorPoint::advance(double tp, double td) {
  x_.Y += tp * dx_.Y;
  x_.P += tp * dx_.P;
  x_.N += tp * dx_.N;
  x_.s += tp * dx_.s;
  y_.theta += td * dy_.theta;
  y_.nu += td * dy_.nu;
  y_.V += td * dy_.V;
  y_.S += td * dy_.S;
}

Index InteriorPoint::run(const ScaledProblem& problem, double gap, Index max_iterations,
                         Bracket& bracket) {
  problem_ = &problem;
  const double products = static_cast<double>(n_ + 2 * n_ * (n_ - 1) + 1);
  start();
  Index steps = 0;
  for (; steps < max_iterations; ++steps) {
    ask(problem.stop);
    const double total = complementarity(0.0, 0.0);
    if (!(total > 0.0) || !factor_iterates()) break;
    bracket.offer_primal(x_.Y);  // its factor proves it PSD
    if (total <= 0.5 * gap * y_.theta) bracket.offer_dual(y_.nu, y_.V, y_.theta);
    if (bracket.gap() <= gap || !assemble()) break;

    direction(0.0, false);
    double tp = primal_step(), td = dual_step();
    const double ratio = std::max(0.0, complementarity(tp, td)) / total;
    const double centring = std::clamp(ratio * ratio, 1e-6, 0.8);
    apply(dx_.Y, dy_.S, second_.Y);
    second_.P = (dx_.P.array() * (dy_.nu + dy_.V.array()) / (y_.nu + y_.V.array())).matrix();
    second_.N = (dx_.N.array() * (dy_.nu - dy_.V.array()) / (y_.nu - y_.V.array())).matrix();
    second_.s = dx_.s * dy_.nu / y_.nu;

    direction(centring * total / products, true);
    tp = primal_step();
    td = dual_step();
    if (!(std::max(tp, td) > kShortestStep)) break;  // NaN stops too
    advance(tp, td);
  }
  bracket.offer_dual(y_.nu, y_.V, y_.theta);
  return steps;
}

}  // namespace sharpen::baseline
