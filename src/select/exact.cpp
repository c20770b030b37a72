#include "select/exact.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "risk/factor.hpp"
#include "sharpen/layer/tangent.hpp"

namespace sharpen::select {

namespace {

constexpr double kSmallest = 0x1p-960;
constexpr double kCancelled = 1e-11;  // share of a variance that rounding may be

// A sum of products in twice the working precision (Ogita, Rump and Oishi 2005, Dot2).
struct Compensated {
  double sum = 0.0, rest = 0.0;

  void add_product(double a, double b) {
    const double product = a * b, total = sum + product, part = total - sum;
    rest += (sum - (total - part)) + (product - part) + std::fma(a, b, -product);
    sum = total;
  }
  double value() const { return sum + rest; }
};

// x = L^-1 x or L^-T x, L (k, k) column-major.
void substitute(const std::vector<double>& L, Index k, bool transposed, double* x) {
  const auto size = static_cast<int>(k);
  cblas_dtrsv(CblasColMajor, CblasLower, transposed ? CblasTrans : CblasNoTrans, CblasNonUnit, size,
              L.data(), size, x, 1);
}

}  // namespace

int exponent_of(ConstVec values) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest < kSmallest ? kSilent : std::ilogb(largest);
}

ExactSolver::ExactSolver(Index n, Index k, layer::Net net, const layer::SizingSettings& sizing)
    : n_(n), net_(net), sizing_(sizing) {
  for (std::vector<double>* x : {&mu_, &m_, &b_, &y_, &w_}) x->reserve(at(k));
  // The full support goes through the risk model, without a matrix (n, n).
  if (k == n) return;
  for (std::vector<double>* X : {&Sigma_, &L_}) X->reserve(at(k * k));
}

void ExactSolver::run(const risk::Risk& risk, Index sample, ConstVec mu, std::span<const Index> K,
                      Vec scratch, Portfolio& out, const Stop& stop) {
  const std::size_t count = K.size();
  for (std::vector<double>* x : {&mu_, &m_, &b_, &y_, &w_}) x->resize(count);
  out.support.clear();
  out.outcome.status = Status::no_signal;
  out.value = 0.0;
  out.sharpe = 0.0;
  for (std::size_t s = 0; s < count; ++s) mu_[s] = mu[at(K[s])];
  const int exponent = exponent_of(mu_);
  if (exponent == kSilent) return;
  for (double& mu_s : mu_) mu_s = std::ldexp(mu_s, -exponent);

  const bool full = static_cast<Index>(count) == n_;
  const Direction direction = full ? solve_full(risk, sample, scratch)
                                   : solve_support(risk, sample, K, scratch, out.outcome, stop);
  if (direction.exists) {
    layer::sizing_forward(sizing_, y_, direction.t, w_);
    const double mean = dot_in_order(mu_, w_);
    const double risk_squared = variance(risk, sample, K, scratch);
    out.sharpe = std::ldexp(mean / std::sqrt(risk_squared), exponent);
    out.value = std::ldexp(direction.C, 2 * exponent);
    out.outcome.status = direction.neutral ? Status::neutral_face : Status::ok;
    out.support.assign(K.begin(), K.end());
    for (std::size_t s = 0; s < count; ++s) out.weights[at(K[s])] = w_[s];
    if (std::isfinite(out.sharpe) && risk_squared > 0.0) return;
  } else if (direction.solved) {
    return;
  }
  // Sigma_KK cannot be factored, or the weights leave the range of doubles.
  out.outcome.status = Status::invalid_input;
  out.support.clear();
  std::fill(out.weights.begin(), out.weights.end(), kNaN);
  out.value.reset();
  out.sharpe = kNaN;
}

// m = mu on B > 0 (or net any), else mu - (B/A) 1: the shift comes before the solve, because
// C - B^2/A would cancel.
void ExactSolver::choose_face(double A, double B, Direction& direction) {
  direction.neutral = net_ == layer::Net::positive && !(B > 0.0);
  const double shift = direction.neutral ? B / A : 0.0;
  for (std::size_t s = 0; s < mu_.size(); ++s) m_[s] = mu_[s] - shift;
}

// y_ holds Sigma^-1 m; scale it to unit risk, unless nothing but rounding is left of the signal.
void ExactSolver::finish(ConstVec b, double A, double B, double C, Direction& direction) {
  direction.C = C;
  direction.solved = std::isfinite(C);
  const layer::Face face{direction.neutral, A, B};
  direction.exists =
      direction.solved && layer::has_direction(face, C, static_cast<Index>(mu_.size()));
  if (!direction.exists) return;
  if (direction.neutral) layer::net_zero(b, A, y_);
  const double scale = 1.0 / std::sqrt(C);
  for (double& y : y_) y *= scale;
  direction.t = direction.neutral ? 0.0 : B * scale;
}

ExactSolver::Direction ExactSolver::solve_full(const risk::Risk& risk, Index sample, Vec scratch) {
  Direction direction;
  const double A = risk.ones_norm2(sample);
  const double B = dot_in_order(risk.ones_solution(sample), mu_);
  choose_face(A, B, direction);
  const double C = risk.solve(sample, m_, y_, scratch);
  finish(risk.ones_solution(sample), A, B, C, direction);
  return direction;
}

ExactSolver::Direction ExactSolver::solve_support(const risk::Risk& risk, Index sample,
                                                  std::span<const Index> K, Vec scratch,
                                                  Outcome& outcome, const Stop& stop) {
  Direction direction;
  const auto k = static_cast<Index>(K.size());
  for (std::vector<double>* X : {&Sigma_, &L_}) X->resize(K.size() * K.size());
  const Mat Sigma{Sigma_.data(), k, k};
  risk.submatrix(sample, K, Sigma, scratch);
  const std::optional<double> jitter = risk::cholesky_with_jitter(Sigma, L_.data(), false, stop);
  if (!jitter) return direction;
  outcome.jitter = std::max(outcome.jitter, *jitter);

  std::fill(b_.begin(), b_.end(), 1.0);
  substitute(L_, k, false, b_.data());
  const double A = dot_in_order(b_, b_);
  substitute(L_, k, true, b_.data());
  const double B = dot_in_order(b_, mu_);
  choose_face(A, B, direction);
  std::copy(m_.begin(), m_.end(), y_.begin());
  substitute(L_, k, false, y_.data());
  const double C = dot_in_order(y_, y_);
  substitute(L_, k, true, y_.data());
  finish(b_, A, B, C, direction);
  return direction;
}

// w^T Sigma w, without the jitter of the support's own factorisation. Where long and short
// positions cancel nearly all of it, rounding is more than the rest, and the sum is made again with
// the digits that products and sums lose: a Sharpe ratio must not pass a bound that is proved.
double ExactSolver::variance(const risk::Risk& risk, Index sample, std::span<const Index> K,
                             Vec scratch) {
  const std::size_t k = w_.size();
  const bool full = static_cast<Index>(k) == n_;
  if (full) {
    risk.apply(sample, w_, m_, scratch);
  } else {
    for (std::size_t i = 0; i < k; ++i) m_[i] = dot_in_order({Sigma_.data() + i * k, k}, w_);
  }
  const double plain = dot_in_order(w_, m_);
  double largest = 0.0;  // |Sigma_ij| <= sigma_i sigma_j
  const ConstVec D = risk.diagonal(sample);
  for (std::size_t i = 0; i < k; ++i) largest += std::abs(w_[i]) * std::sqrt(D[at(K[i])]);
  const double rounding = (static_cast<double>(k) + 2.0) * kEps * largest * largest;
  if (!(rounding > kCancelled * plain) || risk.form() == risk::Form::low_rank) return plain;
  Compensated sum;
  for (std::size_t i = 0; i < k; ++i) {
    if (full) risk.column(sample, K[i], m_, scratch);
    const double* row = full ? m_.data() : Sigma_.data() + i * k;
    Compensated inner;
    for (std::size_t j = 0; j < k; ++j) inner.add_product(row[j], w_[j]);
    sum.add_product(inner.sum, w_[i]);
    sum.add_product(inner.rest, w_[i]);
  }
  return sum.value();
}

}  // namespace sharpen::select
