#include "baseline/perspective.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace sharpen::baseline {

namespace {

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2.0;  // of rounding
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kGap = 1e-4;
constexpr int kMostSteps = 300;
constexpr int kMostHalvings = 40;

}  // namespace

Perspective::Perspective(const risk::Risk& risk, Index sample, ConstVec mu, Index k,
                         const Stop& stop)
    : risk_(risk),
      sample_(sample),
      n_(risk.n()),
      k_(k),
      stop_(stop),
      mu_(n_),
      deviation_(n_),
      Gx_(n_) {
  scratch_.resize(static_cast<std::size_t>(risk.scratch_size()));
  const ConstVec variance = risk.diagonal(sample);
  for (Index i = 0; i < n_; ++i) {
    mu_[i] = mu[static_cast<std::size_t>(i)];
    deviation_[i] = std::sqrt(variance[static_cast<std::size_t>(i)]);
  }
  for (Point* point : {&at_, &trial_})
    for (Vector* v : {&point->z, &point->x, &point->r}) v->setZero(n_);
}

// x, r and g at z: one solve over the assets with z_i > 0.
bool Perspective::evaluate(Point& at) {
  ask(stop_);
  support_.clear();
  for (Index i = 0; i < n_; ++i)
    if (at.z[i] > 0.0) support_.push_back(i);
  const auto size = static_cast<Index>(support_.size());
  block_.resize(static_cast<std::size_t>(size * size));
  Eigen::Map<Matrix> block(block_.data(), size, size);
  risk_.submatrix(sample_, support_, {block_.data(), size, size}, scratch_);
  const Vector root = at.z(support_).cwiseSqrt(), d = d_(support_);
  for (Index j = 0; j < size; ++j) block.col(j) *= root[j];
  for (Index j = 0; j < size; ++j) block.col(j).array() *= root.array();
  // Z^(1/2) (Sigma - diag(d)) Z^(1/2) + diag(d).
  block.diagonal().array() += d.array() * (1.0 - at.z(support_).array());

  Vector q = root.cwiseProduct(mu_(support_));
  const int order = static_cast<int>(size);
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', order, block_.data(), order) != 0) return false;
  for (const auto transpose : {CblasNoTrans, CblasTrans})
    cblas_dtrsv(CblasColMajor, CblasLower, transpose, CblasNonUnit, order, block_.data(), order,
                q.data(), 1);
  at.x.setZero();
  at.x(support_) = root.cwiseProduct(q);
  risk_.apply(sample_, {at.x.data(), static_cast<std::size_t>(n_)},
              {Gx_.data(), static_cast<std::size_t>(n_)}, scratch_);
  Gx_ -= d_.cwiseProduct(at.x);
  at.r = (mu_ - Gx_).cwiseAbs2().cwiseQuotient(d_);
  at.g = at.x.dot(Gx_) + at.z.dot(at.r);
  return std::isfinite(at.g);
}

// The bound at x with every rounding error against it: (G x)_i errs by at most a multiple of
// u sigma_i sum_j sigma_j |x_j|, since |Sigma_ij| <= sigma_i sigma_j.
double Perspective::certified(const Point& at) {
  risk_.apply(sample_, {at.x.data(), static_cast<std::size_t>(n_)},
              {Gx_.data(), static_cast<std::size_t>(n_)}, scratch_);
  // The low-rank form goes through windows of any length and their means.
  const double terms = risk_.form() == risk::Form::dense ? static_cast<double>(n_) + 16.0
                                                         : 16.0 * static_cast<double>(n_) + 1e4;
  const double exposure = deviation_.dot(at.x.cwiseAbs());
  double quadratic = 0.0;
  std::vector<double> r(static_cast<std::size_t>(n_));
  for (Index i = 0; i < n_; ++i) {
    const double Gx = Gx_[i] - d_[i] * at.x[i];
    const double error = 4.0 * terms * kUnit *
                         (deviation_[i] * exposure + d_[i] * std::abs(at.x[i]) + std::abs(mu_[i]));
    const double residual = std::abs(mu_[i] - Gx) + error;
    r[static_cast<std::size_t>(i)] = residual * residual / d_[i];
    quadratic += at.x[i] * Gx + std::abs(at.x[i]) * error;
  }
  std::nth_element(r.begin(), r.begin() + (k_ - 1), r.end(), std::greater<>());
  double top = 0.0;
  for (Index i = 0; i < k_; ++i) top += r[static_cast<std::size_t>(i)];
  const double value = (std::max(quadratic, 0.0) + top) * (1.0 + 4.0 * terms * kUnit);
  return std::isfinite(value) ? value : kInfinity;
}

// The nearest point with 0 <= z <= 1 and sum z = k (or less, where all entries fit): z - shift, cut
// to [0, 1]. Halving looks only at entries that some shift left in the bracket makes positive: the
// larger the market, the fewer they are.
void Perspective::project(Vector& z) {
  const auto k = static_cast<double>(k_);
  double low = z.minCoeff() - 1.0, high = z.maxCoeff();  // sums n and 0
  above_.assign(z.begin(), z.end());
  for (int i = 0; i < 200 && high - low > 1e-16 * (std::abs(low) + std::abs(high)); ++i) {
    const double middle = 0.5 * (low + high);
    double sum = 0.0;
    for (const double entry : above_) sum += std::clamp(entry - middle, 0.0, 1.0);
    if (sum > k) {
      low = middle;
      std::erase_if(above_, [low](double entry) { return entry <= low; });
    } else {
      high = middle;
    }
  }
  z = (z.array() - high).max(0.0).min(1.0).matrix();
}

// One step of projected gradients; the step length is Barzilai and Borwein's, halved until g grows
// as much as concavity promises.
bool Perspective::climb() {
  for (int halving = 0; halving < kMostHalvings; ++halving, step_ *= 0.5) {
    trial_.z = at_.z + step_ * at_.r;
    project(trial_.z);
    const Vector move = trial_.z - at_.z;
    const double promised = at_.r.dot(move);
    if (!(promised > 0.0)) return false;
    if (!evaluate(trial_)) continue;
    if (!(trial_.g >= at_.g + 1e-4 * promised)) continue;
    const double curvature = -move.dot(trial_.r - at_.r);
    const double longest = 100.0 * step_;
    step_ = curvature > 0.0 ? std::min(move.squaredNorm() / curvature, longest) : longest;
    std::swap(at_, trial_);
    return true;
  }
  return false;
}

PerspectiveBound Perspective::bound(const Vector& d) {
  d_ = d;
  PerspectiveBound best{.value = kInfinity, .gap = 1.0};
  // From the k largest single ratios: few assets enter the first solve.
  at_.x = mu_.cwiseAbs2().cwiseQuotient(deviation_.cwiseAbs2());
  std::vector<Index> order(static_cast<std::size_t>(n_));
  std::iota(order.begin(), order.end(), Index{0});
  std::nth_element(order.begin(), order.begin() + (k_ - 1), order.end(), [&](Index i, Index j) {
    return at_.x[i] != at_.x[j] ? at_.x[i] > at_.x[j] : i < j;
  });
  at_.z.setZero();
  for (Index i = 0; i < k_; ++i) at_.z[order[static_cast<std::size_t>(i)]] = 1.0;
  if (!evaluate(at_)) return best;
  step_ = 1.0 / std::max(at_.r.maxCoeff(), std::numeric_limits<double>::min());
  for (int i = 0; i < kMostSteps; ++i) {
    best.value = std::min(best.value, certified(at_));
    best.gap = std::max(0.0, 1.0 - at_.g / best.value);
    if (best.gap <= kGap || !climb()) break;
  }
  return best;
}

// In the scale of weights^(-1/2), where diag(d) is a multiple of the identity: the smallest
// eigenvalue, lowered until the Cholesky factor exists despite a margin for its own rounding.
Vector proved_diagonal(const Matrix& Sigma, const Vector& weights, const Stop& stop) {
  const Index n = Sigma.rows();
  const Vector scale = weights.cwiseSqrt().cwiseInverse();
  Matrix scaled = scale.asDiagonal() * Sigma * scale.asDiagonal();
  Matrix work = scaled;
  Spectrum spectrum(n);
  if (!spectrum.values(work)) return {};
  const double trace = scaled.trace();
  // Scaling errs by two roundings in every entry; the factorisation by (n + 3) u of the trace.
  const double margin = 4.0 * (static_cast<double>(n) + 8.0) * kUnit * trace;
  double level = spectrum.value()[0] - 2.0 * margin;
  for (int attempt = 0; attempt < 40 && level > 0.0; ++attempt) {
    ask(stop);
    work = scaled;
    work.diagonal().array() -= level + margin;
    // The roundings of weights and scale, again.
    if (factor_in_place(work)) return (level * (1.0 - 16.0 * kUnit)) * weights;
    level -= std::max(margin, 0.1 * level);
  }
  return {};
}

}  // namespace sharpen::baseline
