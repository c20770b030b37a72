#include "sharpen/baseline/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "base/vec.hpp"
#include "baseline/sdr_algebra.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"

namespace sharpen::baseline {

namespace {

constexpr Index kMostForSdp = 600;          // a step of the relaxation costs some 10 n^3
constexpr Index kMostForSpectrum = 2000;    // finding d costs some 2 n^3
constexpr double kProved = 1e-6;            // relative: no relaxation is tighter by more
constexpr double kBelowDelta = 1.0 - 1e-9;  // for the rounding of the window's products

constexpr double kUnit = kEps / 2.0;  // of rounding
constexpr double kGap = 1e-4;
constexpr int kMostSteps = 300;
constexpr int kMostHalvings = 40;

struct PerspectiveBound {
  double value = 0.0;  // Sharpe^2; +infinity if nothing was proved
  double gap = 0.0;    // relative: how much another x could gain at most
};

// Sigma = diag(d) + G, d > 0, G PSD.
//
//   max over K, |K| <= k, of C_K  <=  min over x of  x^T G x + top_k (mu_i - (G x)_i)^2 / d_i
//                                  =  max over z in [0, 1]^n, sum z <= k, of g(z),
//   g(z) = mu^T Z^(1/2) (diag(d) + Z^(1/2) G Z^(1/2))^-1 Z^(1/2) mu, Z = diag(z),
// concave, with gradient r_i = (mu_i - (G x)_i)^2 / d_i at x = Z^(1/2) (...)^-1 Z^(1/2) mu. Every
// x on the way gives a valid bound; g(z) says how far it is from the best one. Only the assets with
// z_i > 0 enter the solve, and they are soon few.
class Perspective {
 public:
  // Throws Interrupted once `stop`, which must outlive it, says so.
  Perspective(const risk::Risk& risk, Index sample, ConstVec mu, Index k, const Stop& stop)
      : risk_(risk), sample_(sample), n_(risk.n()), k_(k), stop_(stop), mu_(n_), deviation_(n_) {
    scratch_.resize(static_cast<std::size_t>(risk.scratch_size()));
    const ConstVec variance = risk.diagonal(sample);
    for (Index i = 0; i < n_; ++i) {
      mu_[i] = mu[static_cast<std::size_t>(i)];
      deviation_[i] = std::sqrt(variance[static_cast<std::size_t>(i)]);
    }
    for (Point* point : {&at_, &trial_})
      for (Vector* v : {&point->z, &point->x, &point->Gx, &point->r}) v->setZero(n_);
  }

  // The bound with this d (n), for which G must be known to be PSD.
  PerspectiveBound bound(const Vector& d) {
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

 private:
  struct Point {
    Vector z, x, Gx, r;
    double g = 0.0;
  };

  // x, G x, r and g at z: one solve over the assets with z_i > 0.
  bool evaluate(Point& at) {
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
                {at.Gx.data(), static_cast<std::size_t>(n_)}, scratch_);
    at.Gx -= d_.cwiseProduct(at.x);
    at.r = (mu_ - at.Gx).cwiseAbs2().cwiseQuotient(d_);
    at.g = at.x.dot(at.Gx) + at.z.dot(at.r);
    return std::isfinite(at.g);
  }

  // The bound at x with every rounding error against it: (G x)_i errs by at most a multiple of
  // u sigma_i sum_j sigma_j |x_j|, since |Sigma_ij| <= sigma_i sigma_j.
  double certified(const Point& at) const {
    // The low-rank form goes through windows of any length and their means.
    const double terms = risk_.form() == risk::Form::dense ? static_cast<double>(n_) + 16.0
                                                           : 16.0 * static_cast<double>(n_) + 1e4;
    const double exposure = deviation_.dot(at.x.cwiseAbs());
    double quadratic = 0.0;
    std::vector<double> r(static_cast<std::size_t>(n_));
    for (Index i = 0; i < n_; ++i) {
      const double Gx = at.Gx[i];
      const double error =
          4.0 * terms * kUnit *
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

  // The nearest point with 0 <= z <= 1 and sum z = k (or less, where all entries fit): z - shift,
  // cut to [0, 1]. Halving looks only at entries that some shift left in the bracket makes
  // positive: the larger the market, the fewer they are.
  void project(Vector& z) {
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

  // One step of projected gradients; the step length is Barzilai and Borwein's, halved until g
  // grows as much as concavity promises.
  bool climb() {
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

  const risk::Risk& risk_;
  Index sample_, n_, k_;
  const Stop& stop_;
  Vector mu_, deviation_;  // deviation: sqrt(Sigma_ii)
  Vector d_;
  Point at_, trial_;
  double step_ = 1.0;
  std::vector<double> scratch_, block_, above_;
  std::vector<Index> support_;
};

// A diagonal d with Sigma - diag(d) PSD, proved by a Cholesky factor: scale * weights with the
// largest scale that can be proved, weights > 0. Empty if none can.
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

std::vector<double> dense_covariance(const risk::Risk& risk, Index sample) {
  const Index n = risk.n();
  std::vector<double> Sigma(static_cast<std::size_t>(n * n));
  std::vector<double> scratch(static_cast<std::size_t>(risk.scratch_size()));
  std::vector<Index> everything(static_cast<std::size_t>(n));
  std::iota(everything.begin(), everything.end(), Index{0});
  risk.submatrix(sample, everything, {Sigma.data(), n, n}, scratch);
  return Sigma;
}

// The largest |mu_i| / sigma_i, as a power of two: mu is divided by it, exactly, so that squares
// neither over- nor underflow.
double unit_of(const risk::Risk& risk, Index sample, ConstVec mu) {
  const ConstVec variance = risk.diagonal(sample);
  double largest = 0.0;
  for (std::size_t i = 0; i < mu.size(); ++i)
    largest = std::max(largest, std::abs(mu[i]) / std::sqrt(variance[i]));
  return largest > 0.0 && std::isfinite(largest) ? std::ldexp(1.0, std::ilogb(largest)) : 1.0;
}

SharpeBound sdp_bound(const risk::Risk& risk, Index sample, ConstVec mu,
                      const BoundSettings& settings) {
  const Index n = risk.n();
  const std::vector<double> Sigma = dense_covariance(risk, sample);
  Sdr sdr(settings.sdr, n);
  Relaxation relaxation;
  sdr.solve({Sigma.data(), n, n}, mu, static_cast<double>(settings.k), relaxation, settings.stop);
  return {.status = relaxation.status,
          .sharpe = relaxation.sharpe,
          .from = Bound::sdp,
          .gap = relaxation.gap};
}

// delta of the low-rank form where it is known; otherwise multiples of the identity and of the
// variances, each as large as can be proved.
std::vector<Vector> diagonals(const risk::Risk& risk, Index sample, const BoundSettings& settings) {
  const Index n = risk.n();
  const ConstVec variance = risk.diagonal(sample);
  const Vector variances = Eigen::Map<const Vector>(variance.data(), n);
  std::vector<Vector> result;
  if (n > kMostForSpectrum && settings.shrinkage > 0.0 && risk.form() == risk::Form::low_rank) {
    result.push_back(Vector::Constant(n, settings.shrinkage * variances.mean() * kBelowDelta));
    return result;
  }
  const std::vector<double> entries = dense_covariance(risk, sample);
  const Matrix Sigma = Eigen::Map<const Matrix>(entries.data(), n, n);
  for (const Vector& weights : {Vector(Vector::Constant(n, variances.mean())), variances}) {
    Vector d = proved_diagonal(Sigma, weights, settings.stop);
    if (d.size() > 0) result.push_back(std::move(d));
  }
  return result;
}

SharpeBound perspective_bound(const risk::Risk& risk, Index sample, ConstVec mu,
                              const BoundSettings& settings) {
  const double unit = unit_of(risk, sample, mu);
  std::vector<double> scaled(mu.begin(), mu.end());
  for (double& m : scaled) m /= unit;
  Perspective perspective(risk, sample, scaled, settings.k, settings.stop);
  PerspectiveBound best{.value = kInfinity, .gap = 1.0};
  for (const Vector& d : diagonals(risk, sample, settings)) {
    const PerspectiveBound bound = perspective.bound(d);
    if (bound.value < best.value) best = bound;
  }
  return {.status = std::isfinite(best.value) ? Status::ok : Status::not_converged,
          .sharpe = root_above(best.value) * unit,
          .from = Bound::perspective,
          .gap = best.gap};
}

constexpr Index kMost = 600;  // the trace of Sigma^-1 takes n solves

// s = -B/A if that is positive, else 0.
double shift_of(const risk::Risk& risk, Index sample, ConstVec mu) {
  double B = 0.0;
  const ConstVec b = risk.ones_solution(sample);
  for (std::size_t i = 0; i < mu.size(); ++i) B += b[i] * mu[i];
  const double s = -B / risk.ones_norm2(sample);
  return s > 0.0 && std::isfinite(s) ? s : 0.0;
}

// What the rounding of mu + s 1 can add to a Sharpe ratio: errors e with |e_i| <= eps max|mu + s 1|
// have e^T y <= |e| / sqrt(lambda_min(Sigma)) <= max|e_i| sqrt(n tr(Sigma^-1)) for unit-risk y.
double rounding_of(const risk::Risk& risk, Index sample, const std::vector<double>& shifted) {
  double largest = 0.0, trace = 0.0;
  for (const double m : shifted) largest = std::max(largest, std::abs(m));
  std::vector<double> unit(shifted.size()), out(shifted.size());
  std::vector<double> scratch(static_cast<std::size_t>(risk.scratch_size()));
  for (double& entry : unit) {
    entry = 1.0;
    trace += risk.solve(sample, unit, out, scratch);
    entry = 0.0;
  }
  return 2.0 * kEps * largest * std::sqrt(static_cast<double>(shifted.size()) * trace);
}

SharpeBound relaxed_bound(const risk::Risk& risk, Index sample, ConstVec mu,
                          const BoundSettings& settings) {
  if (std::all_of(mu.begin(), mu.end(), [](double m) { return m == 0.0; }))
    return {.status = Status::ok, .sharpe = 0.0, .from = Bound::perspective, .gap = 0.0};
  if (settings.bound == Bound::sdp) return sdp_bound(risk, sample, mu, settings);
  const SharpeBound perspective = perspective_bound(risk, sample, mu, settings);
  if (settings.bound == Bound::perspective || risk.n() > kMostForSdp) return perspective;
  const SharpeBound sdp = sdp_bound(risk, sample, mu, settings);
  return sdp.sharpe <= perspective.sharpe ? sdp : perspective;
}

SharpeBound relaxed_net_bound(const risk::Risk& risk, Index sample, ConstVec mu, layer::Net net,
                              const BoundSettings& settings) {
  const SharpeBound plain = relaxed_bound(risk, sample, mu, settings);
  if (net == layer::Net::any || risk.n() > kMost) return plain;
  const double s = shift_of(risk, sample, mu);
  if (s == 0.0) return plain;
  std::vector<double> shifted(mu.begin(), mu.end());
  for (double& m : shifted) m += s;
  SharpeBound moved = relaxed_bound(risk, sample, shifted, settings);
  moved.sharpe = (moved.sharpe + rounding_of(risk, sample, shifted)) * (1.0 + 2.0 * kEps);
  return moved.sharpe < plain.sharpe ? moved : plain;
}

SharpeBound branch_bound(const risk::Risk& risk, Index sample, ConstVec mu, layer::Net net,
                         const BoundSettings& settings) {
  select::SelectSettings select;
  select.k = settings.k;
  select.net = net;
  select.sizing.kind = layer::Sizing::gross;
  select.objective.kind = layer::Objective::sharpe;
  select::Portfolio portfolio;
  select::Proof proof;
  const Threads one_thread(1);
  select::ProofSettings how = settings.proof;
  how.answers_when_stopped = false;
  select::ExactSelector(select, how, risk.n())
      .run(risk, sample, mu, settings.limits, {},
           settings.threads != nullptr ? *settings.threads : one_thread, portfolio, proof,
           settings.stop);
  return *bound_of(proof);
}

}  // namespace

double root_above(double value) { return std::sqrt(value) * (1.0 + 2.0 * kEps); }

void BoundSettings::validate(Index n) const {
  if (k < 1 || k > n) throw InputError(fmt::format("k = {} is outside [1, {}]", k, n));
  if (name(bound) == "unknown")
    throw InputError(fmt::format("bound = {} is none of best, sdp, perspective, branch",
                                 static_cast<int>(bound)));
  if (bound == Bound::branch && n > kMostForBranch)
    throw InputError(
        fmt::format("bound = branch takes at most {} assets, and there are {}; use bound "
                    "perspective",
                    kMostForBranch, n));
  if (!(shrinkage >= 0.0 && shrinkage <= 1.0))
    throw InputError(fmt::format("shrinkage = {} is outside [0, 1]", shrinkage));
  sdr.validate();
  proof.validate();
}

std::optional<SharpeBound> bound_of(const select::Proof& proof) {
  if (!proof.of_sharpe) return std::nullopt;
  using enum select::ProofEnd;
  const bool nothing = proof.bound == 0.0;
  const bool done = (proof.end == optimal || proof.end == gap) && std::isfinite(proof.bound);
  const double ratio = 1.0 + proof.gap();
  return SharpeBound{.status = std::isnan(proof.bound) ? Status::invalid_input
                               : nothing               ? Status::no_signal
                               : done                  ? Status::ok
                                                       : Status::not_converged,
                     .sharpe = proof.bound,
                     .from = Bound::branch,
                     .gap = nothing ? 0.0 : ratio * ratio - 1.0};
}

SharpeBound sharpe_upper_bound(const risk::Risk& risk, Index sample, ConstVec mu,
                               const BoundSettings& settings) {
  return net_upper_bound(risk, sample, mu, layer::Net::any, settings);
}

SharpeBound net_upper_bound(const risk::Risk& risk, Index sample, ConstVec mu, layer::Net net,
                            const BoundSettings& settings) {
  const Index n = risk.n();
  settings.validate(n);
  if (sample < 0 || sample >= risk.samples())
    throw InputError(
        fmt::format("sample = {} is outside [0, {}) of the risk model", sample, risk.samples()));
  if (static_cast<Index>(mu.size()) != n)
    throw InputError(fmt::format("mu has {} entries for {} assets", mu.size(), n));
  const Threads one_thread(1);  // BLAS calls stay on one thread
  const bool finite = std::all_of(mu.begin(), mu.end(), [](double m) { return std::isfinite(m); });
  if (risk.status(sample) != Status::ok || !finite)
    return {.status = Status::invalid_input, .sharpe = kNaN, .from = Bound::sdp, .gap = kNaN};
  if (std::all_of(mu.begin(), mu.end(), [](double m) { return m == 0.0; }))
    return {.status = Status::no_signal,
            .sharpe = 0.0,
            .from = settings.bound == Bound::best ? Bound::sdp : settings.bound,
            .gap = 0.0};

  const bool branches = settings.bound == Bound::branch ||
                        (settings.bound == Bound::best && n <= BoundSettings::kMostForBranch);
  if (!branches) return relaxed_net_bound(risk, sample, mu, net, settings);
  const SharpeBound branch = branch_bound(risk, sample, mu, net, settings);
  if (settings.bound == Bound::branch || branch.gap <= kProved) return branch;
  const SharpeBound relaxed = relaxed_net_bound(risk, sample, mu, net, settings);
  return !(branch.sharpe <= relaxed.sharpe) ? relaxed : branch;
}

}  // namespace sharpen::baseline
