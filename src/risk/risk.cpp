#include "sharpen/risk/risk.hpp"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "risk/dense.hpp"
#include "risk/factor.hpp"
#include "risk/low_rank.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/base/threads.hpp"

namespace sharpen::risk {

namespace {

constexpr double kLeastLowRankShrinkage = 1e-5;
// Where the low-rank form overtakes the dense one, in n / T, measured at T = 100: its eigenvectors
// are of T, not of n.
constexpr double kLowRankFrom = 3.0;
constexpr double kLowRankFromRestricted = 1.5;
constexpr double kLowRankFromRoot = 1.25;
constexpr double kSymmetryTolerance = 1e-8;
constexpr double kSemidefiniteTolerance = 1e-10;

// Sigma := (1 - lambda) Sigma + lambda (trace / n) I, in place, row-major (n, n).
void shrink(std::vector<double>& Sigma, Index n, double lambda, double trace) {
  if (lambda == 0.0) return;
  for (double& x : Sigma) x *= 1.0 - lambda;
  for (Index j = 0; j < n; ++j)
    Sigma[static_cast<std::size_t>(j * n + j)] += lambda * trace / static_cast<double>(n);
}

std::vector<DenseRisk::Work> dense_work(Index n, const Threads& threads) {
  std::vector<DenseRisk::Work> work;
  work.reserve(static_cast<std::size_t>(threads.count()));
  for (int i = 0; i < threads.count(); ++i) work.emplace_back(n);
  return work;
}

std::unique_ptr<Risk> dense_from_windows(ConstMat returns, Index T, std::span<const Index> ends,
                                         const RiskSettings& settings, const Threads& threads,
                                         Conductor& conductor) {
  const Index n = returns.cols;
  auto risk = std::make_unique<DenseRisk>(n, static_cast<Index>(ends.size()), settings.parts);
  auto work = dense_work(n, threads);
  struct Centred {
    std::vector<double> X, mean, variance;
  };
  std::vector<Centred> centred(work.size());
  for (Centred& c : centred) {
    c.X.resize(static_cast<std::size_t>(T * n));
    c.mean.resize(static_cast<std::size_t>(n));
    c.variance.resize(static_cast<std::size_t>(n));
  }
  const Stop stop = [&] { return conductor.stopped(); };
  const auto set = [&](Index s, int slot) {
    Centred& c = centred[static_cast<std::size_t>(slot)];
    std::vector<double>& Sigma = work[static_cast<std::size_t>(slot)].Sigma;
    const ConstMat window = returns.middle_rows(ends[static_cast<std::size_t>(s)] - T, T);
    const std::optional<double> trace = window_moments(window, c.mean, c.variance);
    if (!trace) return risk->set_invalid(s);
    for (Index t = 0; t < T; ++t)
      for (Index j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>(j);
        c.X[static_cast<std::size_t>(t * n + j)] =
            c.variance[at] > 0.0 ? window(t, j) - c.mean[at] : 0.0;
      }
    const auto size = static_cast<int>(n);
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, size, static_cast<int>(T),
                1.0 / static_cast<double>(T - 1), c.X.data(), size, 0.0, Sigma.data(), size);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < i; ++j)
        Sigma[static_cast<std::size_t>(j * n + i)] = Sigma[static_cast<std::size_t>(i * n + j)];
      Sigma[static_cast<std::size_t>(i * n + i)] = c.variance[static_cast<std::size_t>(i)];
    }
    shrink(Sigma, n, settings.shrinkage, *trace);
    // T centred rows have rank T - 1 at most: no need to wait for a pivot to show it.
    const bool singular = settings.shrinkage == 0.0 && T - 1 < n;
    risk->set(s, work[static_cast<std::size_t>(slot)], stop, singular);
  };
  threads.for_each(static_cast<Index>(ends.size()), [&](Index s, int slot) {
    conductor.ask();
    set(s, slot);
    conductor.done();
  });
  return risk;
}

void check_symmetric(ConstMat Sigma) {
  const Index n = Sigma.rows;
  if (n < 1 || Sigma.cols != n)
    throw InputError(fmt::format("the covariance is {} x {}; it must be square and not empty",
                                 Sigma.rows, Sigma.cols));
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j)
      if (!std::isfinite(Sigma(i, j)))
        throw InputError(fmt::format(
            "the covariance is not finite in row {}, column {} ({}); every entry must be a number",
            i + 1, j + 1, Sigma(i, j)));
    if (Sigma(i, i) < 0.0)
      throw InputError(fmt::format(
          "the covariance has a negative variance {} in row {}; it is not positive semidefinite",
          Sigma(i, i), i + 1));
  }
  double largest = 0.0;
  for (Index i = 0; i < n; ++i) largest = std::max(largest, Sigma(i, i));
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < i; ++j) {
      const double scale = std::max({std::sqrt(Sigma(i, i)) * std::sqrt(Sigma(j, j)),
                                     std::numeric_limits<double>::epsilon() * largest});
      if (!(std::abs(Sigma(i, j) - Sigma(j, i)) <= kSymmetryTolerance * scale))
        throw InputError(fmt::format(
            "the covariance is not symmetric: row {}, column {} holds {} and row {}, column {} "
            "holds {}; give the same number in both places",
            i + 1, j + 1, Sigma(i, j), j + 1, i + 1, Sigma(j, i)));
    }
}

// Sigma + tol * trace * I must have a Cholesky factor. `L` holds n * n doubles.
void check_semidefinite(const std::vector<double>& Sigma, Index n, double trace,
                        std::vector<double>& L) {
  L = Sigma;
  std::vector<double> diagonal(static_cast<std::size_t>(n));
  for (Index j = 0; j < n; ++j)
    L[static_cast<std::size_t>(j * n + j)] += kSemidefiniteTolerance * trace;
  if (!cholesky_in_place(L.data(), n, diagonal))
    throw InputError(
        "the covariance is not positive semidefinite: some portfolio would have a negative "
        "variance; check its entries, or estimate it from a window of returns");
}

}  // namespace

void RiskSettings::validate() const {
  settings::check(*this);
  if (form == Form::low_rank && shrinkage < kLeastLowRankShrinkage)
    throw InputError(fmt::format("form = low-rank needs shrinkage >= {}, not {}; use form = dense",
                                 kLeastLowRankShrinkage, shrinkage));
}

Form RiskSettings::form_for(Index n, Index T) const {
  if (form != Form::automatic) return form;
  const double from = parts.root          ? kLowRankFromRoot
                      : parts.restriction ? kLowRankFromRestricted
                                          : kLowRankFrom;
  const bool cheaper = static_cast<double>(n) > from * static_cast<double>(T);
  return cheaper && shrinkage >= kLeastLowRankShrinkage ? Form::low_rank : Form::dense;
}

std::unique_ptr<Risk> from_windows(ConstMat returns, Index lookback, std::span<const Index> ends,
                                   const RiskSettings& settings, const Threads& threads,
                                   const Control& control) {
  settings.validate();
  if (returns.cols < 1) throw InputError("the return matrix has no columns");
  if (lookback < 2)
    throw InputError(
        fmt::format("lookback = {} is below 2: a covariance needs at least 2 rows", lookback));
  for (const Index end : ends)
    if (end < lookback || end > returns.rows)
      throw InputError(fmt::format(
          "a window of {} rows cannot end at row {} of {}: give at least {} rows of returns, or "
          "a shorter lookback",
          lookback, end, returns.rows, lookback));
  Conductor conductor(control, static_cast<Index>(ends.size()));
  if (settings.form_for(returns.cols, lookback) == Form::low_rank)
    return std::make_unique<LowRankRisk>(returns, lookback, ends, settings.shrinkage,
                                         settings.parts, threads, conductor);
  return dense_from_windows(returns, lookback, ends, settings, threads, conductor);
}

std::unique_ptr<Risk> from_covariances(std::span<const ConstMat> Sigmas,
                                       const RiskSettings& settings, const Threads& threads,
                                       const Control& control) {
  settings.validate();
  if (settings.form == Form::low_rank)
    throw InputError("form = low-rank needs a window of returns; a given covariance is dense");
  if (Sigmas.empty()) throw InputError("no covariance was given");
  Conductor conductor(control, static_cast<Index>(Sigmas.size()));
  const Index n = Sigmas.front().rows;
  for (const ConstMat& Sigma : Sigmas) {
    conductor.ask();
    check_symmetric(Sigma);
    if (Sigma.rows != n)
      throw InputError(
          fmt::format("covariances of different sizes, {} and {}, in one batch", n, Sigma.rows));
  }
  auto risk = std::make_unique<DenseRisk>(n, static_cast<Index>(Sigmas.size()), settings.parts);
  auto work = dense_work(n, threads);
  const Stop stop = [&] { return conductor.stopped(); };
  const auto set = [&](Index s, int slot) {
    DenseRisk::Work& mine = work[static_cast<std::size_t>(slot)];
    const ConstMat& given = Sigmas[static_cast<std::size_t>(s)];
    double trace = 0.0;
    for (Index i = 0; i < n; ++i) {
      trace += given(i, i);
      for (Index j = 0; j < n; ++j)
        mine.Sigma[static_cast<std::size_t>(i * n + j)] = 0.5 * (given(i, j) + given(j, i));
    }
    if (!(trace > 0.0)) return risk->set_invalid(s);
    check_semidefinite(mine.Sigma, n, trace, mine.L);
    shrink(mine.Sigma, n, settings.shrinkage, trace);
    risk->set(s, mine, stop);
  };
  threads.for_each(static_cast<Index>(Sigmas.size()), [&](Index s, int slot) {
    conductor.ask();
    set(s, slot);
    conductor.done();
  });
  return risk;
}

std::unique_ptr<Risk> from_covariance(ConstMat Sigma, const RiskSettings& settings) {
  return from_covariances(std::span(&Sigma, 1), settings, Threads(1));
}

void shrinkage_vjp(double shrinkage, Mat dL_dSigma) {
  if (shrinkage == 0.0) return;
  const Index n = dL_dSigma.rows;
  double trace = 0.0;
  for (Index j = 0; j < n; ++j) trace += dL_dSigma(j, j);
  for (Index i = 0; i < n; ++i)
    for (double& x : dL_dSigma.row(i)) x *= 1.0 - shrinkage;
  for (Index j = 0; j < n; ++j) dL_dSigma(j, j) += shrinkage * trace / static_cast<double>(n);
}

}  // namespace sharpen::risk
