#include "sharpen/baseline/sdr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/vec.hpp"
#include "baseline/sdr_first_order.hpp"
#include "baseline/sdr_interior.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/baseline/bounds.hpp"

namespace sharpen::baseline {

namespace {

// Beyond, the interior point method's dense system of n (n - 1) / 2 unknowns costs more than
// gradient steps to a gap that is small enough.
constexpr Index kMostInterior = 50;
constexpr Index kInteriorSteps = 100;
constexpr Index kFirstOrderSteps = 3000;

}  // namespace

double SdrSettings::gap_for(Index n) const {
  if (gap > 0.0) return gap;
  return n <= kMostInterior ? 1e-6 : n <= 120 ? 1e-3 : 1e-2;
}

void SdrSettings::validate() const {
  if (!(gap >= 0.0 && gap < 1.0))
    throw InputError(fmt::format("gap = {} is outside [0, 1); 0 chooses by size", gap));
  if (max_iterations < 0)
    throw InputError(
        fmt::format("max_iterations = {} is outside [0, inf); 0 chooses", max_iterations));
}

struct Sdr::Work {
  Work(const SdrSettings& s, Index size)
      : settings(s), n(size), problem(n), bracket(n), spectrum(n), eigenvectors(n, n) {
    if (n <= kMostInterior) {
      interior.emplace(n);
    } else {
      first_order.emplace(n);
    }
  }

  bool close_in_closed_form();
  Index iterate(double gap);
  void report(Index iterations, double gap, Relaxation& out);
  void take_direction(Relaxation& out);
  void clear_points() {
    points.Y.clear();
    points.V.clear();
    points.theta = points.nu = 0.0;
  }

  const Threads one_thread{1};  // BLAS calls stay on one thread
  const SdrSettings settings;
  const Index n;
  ScaledProblem problem;
  Bracket bracket;
  std::optional<InteriorPoint> interior;
  std::optional<FirstOrder> first_order;
  Spectrum spectrum;
  Matrix eigenvectors;
  RelaxationPoints points;
};

Sdr::Sdr(const SdrSettings& settings, Index n) {
  settings.validate();
  if (n < 1) throw InputError(fmt::format("n = {} is outside [1, inf)", n));
  work_ = std::make_unique<Work>(settings, n);
}
Sdr::~Sdr() = default;
Sdr::Sdr(Sdr&&) noexcept = default;

const RelaxationPoints& Sdr::points() const { return work_->points; }

void Sdr::forget() {
  if (work_->first_order) work_->first_order->forget();
}

// kappa = 1 leaves the diagonal: theta = max mu_i^2 / Sigma_ii, V the rest of theta Sigma - mu
// mu^T. Where the full tangent portfolio satisfies the l1 constraint (at kappa = n always) it is
// the optimum, with nu = 0 and V = 0.
bool Sdr::Work::close_in_closed_form() {
  const ScaledProblem& p = problem;
  if (p.kappa <= 1.0) {
    const double theta = p.greedy_value * (1.0 + 8.0 * kEps);
    eigenvectors = theta * p.Sigma;
    eigenvectors.noalias() -= p.mu * p.mu.transpose();
    eigenvectors.diagonal().setZero();
    bracket.set_dual(theta, eigenvectors.cwiseAbs().maxCoeff(), eigenvectors);
    return true;
  }
  const double l1 = p.full.lpNorm<1>();
  if (p.kappa < static_cast<double>(n) && l1 * l1 > p.kappa * p.full.squaredNorm()) return false;
  eigenvectors.noalias() = p.full * p.full.transpose();
  bracket.offer_primal(eigenvectors);
  eigenvectors.setZero();
  bracket.offer_dual(0.0, eigenvectors, p.mu.dot(p.full));
  return true;
}

Index Sdr::Work::iterate(double gap) {
  const Index most = settings.max_iterations > 0 ? settings.max_iterations
                     : interior                  ? kInteriorSteps
                                                 : kFirstOrderSteps;
  // Without any dual point the full problem's is one.
  eigenvectors.setZero();
  bracket.offer_dual(0.0, eigenvectors, problem.mu.dot(problem.full));
  if (interior) return interior->run(problem, gap, most, bracket);
  if (!settings.warm) first_order->forget();
  return first_order->run(problem, gap, most, bracket);
}

// The leading eigenvector of Y; its sign makes mu^T v positive.
void Sdr::Work::take_direction(Relaxation& out) {
  eigenvectors = bracket.Y();
  out.direction.assign(at(n), kNaN);
  if (!spectrum.reduce(eigenvectors) || !spectrum.top_vectors(eigenvectors, 1)) return;
  Vector v = eigenvectors.col(0);
  if (problem.mu.dot(v) < 0.0) v = -v;
  v /= v.norm();
  std::copy(v.data(), v.data() + n, out.direction.begin());
}

void Sdr::Work::report(Index iterations, double gap, Relaxation& out) {
  out.iterations = iterations;
  out.primal = bracket.primal() * problem.unit;
  const double dual = std::max(bracket.primal(), bracket.dual());
  out.dual = dual * problem.unit;
  out.sharpe = root_above(dual / problem.sigma_unit) * problem.mu_unit;
  out.gap = bracket.gap();
  out.status = out.gap <= gap ? Status::ok : Status::not_converged;
  take_direction(out);
  const auto copy = [&](const Matrix& from, double scale, std::vector<double>& to) {
    to.resize(at(n * n));
    for (Index i = 0; i < n * n; ++i) to[at(i)] = scale * from.data()[i];
  };
  copy(bracket.Y(), 1.0 / problem.sigma_unit, points.Y);
  const double mu_unit2 = problem.mu_unit * problem.mu_unit;
  copy(bracket.V(), mu_unit2, points.V);
  points.nu = bracket.nu() * mu_unit2;
  points.theta = out.dual;
}

void Sdr::solve(ConstMat Sigma, ConstVec mu, double kappa, Relaxation& out, const Stop& stop) {
  Work& work = *work_;
  const Index n = work.n;
  if (Sigma.rows != n || Sigma.cols != n || static_cast<Index>(mu.size()) != n)
    throw InputError(fmt::format("Sigma is ({}, {}) and mu has {} entries; both need n = {}",
                                 Sigma.rows, Sigma.cols, mu.size(), n));
  if (!(kappa >= 1.0 && kappa <= static_cast<double>(n)))
    throw InputError(fmt::format("kappa = {} is outside [1, {}]", kappa, n));

  work.clear_points();
  work.problem.stop = stop;
  out = Relaxation{};
  out.kappa = kappa;
  out.direction.assign(at(n), 0.0);
  const bool silent = std::all_of(mu.begin(), mu.end(), [](double m) { return m == 0.0; });
  if (!silent && !work.problem.set(Sigma, mu, kappa)) {
    out.primal = out.dual = out.gap = out.sharpe = kNaN;
    std::fill(out.direction.begin(), out.direction.end(), kNaN);
    return;
  }
  if (silent) {
    out.status = Status::no_signal;
    return;
  }
  const double gap = work.settings.gap_for(n);
  work.bracket.begin(work.problem);
  const Index iterations = work.close_in_closed_form() ? 0 : work.iterate(gap);
  work.report(iterations, gap, out);
}

}  // namespace sharpen::baseline
