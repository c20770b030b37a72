// Upper bounds on sparse Sharpe ratios: never below what enumeration reaches, however close to
// singular the covariance is.
#include "sharpen/baseline/bounds.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <bit>
#include <cmath>
#include <memory>
#include <numeric>

#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/baseline/mssrm.hpp"
#include "sharpen/select/select.hpp"
#include "support/linear_algebra.hpp"
#include "support/problems.hpp"

namespace sharpen::baseline {
namespace {

using Eigen::VectorXd;
using testing::Problems;
using testing::risk_of;
using testing::RowMatrix;
using testing::view;
using Real = long double;  // so that enumeration errs less than what it judges

// The covariance that the risk model really has, jitter included.
RowMatrix covariance_of(const risk::Risk& risk, Index sample = 0) {
  std::vector<Index> everything(static_cast<std::size_t>(risk.n()));
  std::iota(everything.begin(), everything.end(), Index{0});
  std::vector<double> scratch(static_cast<std::size_t>(risk.scratch_size()));
  RowMatrix Sigma(risk.n(), risk.n());
  risk.submatrix(sample, everything, view(Sigma), scratch);
  return Sigma;
}

// mu_K^T Sigma_KK^-1 mu_K.
Real value_of(const RowMatrix& Sigma, const VectorXd& mu, unsigned members) {
  std::vector<Index> K;
  for (Index i = 0; i < mu.size(); ++i)
    if (members >> i & 1U) K.push_back(i);
  const std::size_t k = K.size();
  std::vector<Real> L(k * k), z(k);
  Real sum = 0.0L;
  for (std::size_t j = 0; j < k; ++j) {
    Real rest = mu[K[j]];
    for (std::size_t i = 0; i <= j; ++i) {
      Real entry = Sigma(K[j], K[i]);
      for (std::size_t l = 0; l < i; ++l) entry -= L[j * k + l] * L[i * k + l];
      if (i < j) L[j * k + i] = entry / L[i * k + i];
      if (i == j && !(entry > 0.0L)) return 0.0L;
      if (i == j) L[j * k + j] = std::sqrt(entry);
    }
    for (std::size_t l = 0; l < j; ++l) rest -= L[j * k + l] * z[l];
    z[j] = rest / L[j * k + j];
    sum += z[j] * z[j];
  }
  return sum;
}

Real best_value(const RowMatrix& Sigma, const VectorXd& mu, Index k) {
  Real best = 0.0L;
  for (unsigned members = 1; members < 1U << mu.size(); ++members)
    if (std::popcount(members) == k) best = std::max(best, value_of(Sigma, mu, members));
  return best;
}

// Covariances of every kind that has broken such bounds before.
class Covariances {
 public:
  explicit Covariances(unsigned seed) : problems_(seed) {}

  static constexpr int kKinds = 7;

  RowMatrix draw(int kind, Index n) {
    const double small = std::pow(10.0, -1.0 - static_cast<double>(problems_.below(9)));
    RowMatrix X = problems_.matrix(n + 4, n);
    switch (kind) {
      case 0: break;  // well behaved
      case 1:         // one strong factor
        for (Index j = 1; j < n; ++j) X.col(j) += 3.0 * X.col(0);
        break;
      case 2:  // two assets nearly the same
        if (n > 1) X.col(n - 1) = X.col(0) + small * X.col(n - 1);
        break;
      case 3:  // variances far apart
        for (Index j = 0; j < n; ++j)
          X.col(j) *= std::pow(10.0, static_cast<double>(problems_.below(9)) - 4.0);
        break;
      case 4: {  // few factors and little else
        const Index factors = 1 + problems_.below(n);
        X = small * X + problems_.matrix(n + 4, factors) * problems_.matrix(factors, n);
        break;
      }
      case 5:  // two assets exactly the same
        X.col(n - 1) = X.col(0);
        break;
      default:  // fewer periods than assets, and a ridge
        X.bottomRows(n).setZero();
        break;
    }
    RowMatrix Sigma = X.transpose() * X / static_cast<double>(X.rows());
    if (kind >= 6) Sigma.diagonal().array() += small * Sigma.trace();
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < i; ++j) Sigma(j, i) = Sigma(i, j);
    return Sigma;
  }

  VectorXd signal(int kind, Index n) {
    VectorXd mu = problems_.vector(n);
    if (kind == 0) mu = -mu.cwiseAbs();
    if (kind == 1) mu = VectorXd::Ones(n) + 1e-3 * mu;
    if (kind == 2) mu[n - 1] = mu[0];
    return std::pow(10.0, static_cast<double>(problems_.below(9)) - 4.0) * mu;
  }

  Index below(Index n) { return problems_.below(n); }

 private:
  Problems problems_;
};

class NeitherBound : public ::testing::TestWithParam<int> {};

TEST_P(NeitherBound, IsBelowWhatEnumerationReaches) {
  Covariances covariances(100 + static_cast<unsigned>(GetParam()));
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int kProblems = 60;
#else
  constexpr int kProblems = 500;
#endif
  int finite = 0;
  for (int trial = 0; trial < kProblems; ++trial) {
    const Index n = 1 + covariances.below(trial % 25 == 0 ? 12 : 8);
    const Index k = 1 + covariances.below(n);
    const RowMatrix given = covariances.draw(GetParam(), n);
    const VectorXd mu = covariances.signal(trial % 4, n);
    std::unique_ptr<risk::Risk> risk;
    try {
      risk = risk_of(given);
    } catch (const InputError&) {
      continue;  // rounding has made it indefinite beyond repair
    }
    if (risk->status(0) != Status::ok) continue;
    const Real best = best_value(covariance_of(*risk), mu, k);
    for (const Bound kind : {Bound::sdp, Bound::perspective, Bound::branch, Bound::best}) {
      const SharpeBound bound =
          sharpe_upper_bound(*risk, 0, view(mu), {.k = k, .bound = kind, .sdr = {}});
      ASSERT_GE(static_cast<Real>(bound.sharpe) * bound.sharpe, best)
          << name(kind) << ", n = " << n << ", k = " << k << ", trial " << trial;
      if (kind == Bound::best) finite += std::isfinite(bound.sharpe) ? 1 : 0;
    }
  }
  // Almost all of these are bounded, so the comparison means something.
  EXPECT_GT(finite, kProblems * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(Kinds, NeitherBound, ::testing::Range(0, Covariances::kKinds));

TEST(Bounds, StayValidWhereTheRelaxationStopsEarly) {
  Covariances covariances(77);
  for (int trial = 0; trial < 60; ++trial) {
    const Index n = 5 + covariances.below(4), k = 2 + covariances.below(2);
    const RowMatrix Sigma = covariances.draw(trial % 2, n);
    const VectorXd mu = covariances.signal(3, n);
    const auto risk = risk_of(Sigma);
    const Real best = best_value(Sigma, mu, k);
    for (const Index most : {1, 2, 4, 8}) {
      const SharpeBound bound = sharpe_upper_bound(
          *risk, 0, view(mu), {.k = k, .bound = Bound::sdp, .sdr = {.max_iterations = most}});
      ASSERT_GE(static_cast<Real>(bound.sharpe) * bound.sharpe, best);
    }
  }
}

TEST(Bounds, TheBestIsTheSmallest) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    Problems problems(seed);
    const Index n = 12;
    const RowMatrix returns = problems.returns(40, n);
    const auto risk = risk_of(testing::naive_covariance(returns, 0.1));
    const VectorXd mu = problems.vector(n);
    const Index k = 1 + static_cast<Index>(seed % 5);
    const auto bound = [&](Bound kind) {
      return sharpe_upper_bound(*risk, 0, view(mu), {.k = k, .bound = kind, .sdr = {}});
    };
    const SharpeBound sdp = bound(Bound::sdp), perspective = bound(Bound::perspective),
                      branch = bound(Bound::branch), best = bound(Bound::best);
    EXPECT_EQ(sdp.from, Bound::sdp);
    EXPECT_EQ(perspective.from, Bound::perspective);
    EXPECT_EQ(branch.from, Bound::branch);
    EXPECT_LE(branch.gap, 3e-7);
    EXPECT_EQ(best.sharpe, branch.sharpe);
    EXPECT_EQ(best.from, Bound::branch);
    EXPECT_LE(best.sharpe, std::min(sdp.sharpe, perspective.sharpe) * (1.0 + 2e-7));
    // Where the tree is cut short, a relaxation may be tighter.
    BoundSettings short_of_nodes{.k = k, .sdr = {}};
    short_of_nodes.proof.nodes = 1;
    const SharpeBound cut = sharpe_upper_bound(*risk, 0, view(mu), short_of_nodes);
    EXPECT_LE(cut.sharpe, std::min(sdp.sharpe, perspective.sharpe) * (1.0 + 2e-7));
    EXPECT_GE(cut.sharpe, branch.sharpe * (1.0 - 1e-7));
  }
}

// The bound is the minimum over x of a convex function: no other x, drawn at random around the
// best portfolios, does better than the one that was found.
TEST(Bounds, ThePerspectiveBoundIsTheBestOfItsKind) {
  Problems problems(4);
  const Index n = 10, k = 3;
  const RowMatrix Sigma = testing::naive_covariance(problems.returns(60, n), 0.2);
  const VectorXd mu = problems.vector(n);
  const auto risk = risk_of(Sigma);
  const SharpeBound found =
      sharpe_upper_bound(*risk, 0, view(mu), {.k = k, .bound = Bound::perspective, .sdr = {}});
  EXPECT_EQ(found.status, Status::ok);
  EXPECT_LE(found.gap, 1e-4);
  // d = c I is one choice of the solver's: c below the smallest eigenvalue, by bisection.
  double low = 0.0, high = Sigma.diagonal().minCoeff();
  for (int i = 0; i < 50; ++i) {
    const double middle = 0.5 * (low + high);
    const RowMatrix rest = Sigma - middle * RowMatrix::Identity(n, n);
    const Eigen::MatrixXd L = testing::lower_factor(rest);
    const bool positive = L.allFinite() && (L * L.transpose() - rest).norm() < 1e-10 * rest.norm();
    (positive ? low : high) = middle;
  }
  const auto value_at = [&](const VectorXd& x) {
    const VectorXd Gx = Sigma * x - low * x;
    VectorXd r = (mu - Gx).cwiseAbs2() / low;
    std::sort(r.begin(), r.end(), std::greater<>());
    return x.dot(Gx) + r.head(k).sum();
  };
  const VectorXd full = testing::solve_spd(Sigma, mu);
  for (int trial = 0; trial < 3000; ++trial) {
    const VectorXd x = full.cwiseProduct(VectorXd::Ones(n) * 0.5 + 0.5 * problems.vector(n));
    EXPECT_GE(value_at(x), found.sharpe * found.sharpe * (1.0 - 2e-4));
  }
}

TEST(Bounds, OneNameAndAllNamesAreExact) {
  Problems problems(9);
  const Index n = 14;
  const RowMatrix Sigma = testing::naive_covariance(problems.returns(50, n), 0.1);
  const VectorXd mu = problems.vector(n);
  const auto risk = risk_of(Sigma);
  const double single = mu.cwiseAbs().cwiseQuotient(Sigma.diagonal().cwiseSqrt()).maxCoeff();
  const double full = std::sqrt(mu.dot(testing::solve_spd(Sigma, mu)));
  const auto sdp = [&](Index k) {
    return sharpe_upper_bound(*risk, 0, view(mu), {.k = k, .bound = Bound::sdp, .sdr = {}}).sharpe;
  };
  EXPECT_NEAR(sdp(1), single, 1e-12 * single);
  EXPECT_NEAR(sdp(n), full, 1e-9 * full);
}

// A window in both forms is one covariance, and bounds every search from above.
TEST(Bounds, HoldForWindowsInBothForms) {
  Problems problems(12);
  const Index n = 130, T = 30, k = 9;
  const RowMatrix returns = problems.returns(T, n);
  const VectorXd mu = problems.vector(n);
  double bounds[2] = {};
  for (const risk::Form form : {risk::Form::dense, risk::Form::low_rank}) {
    risk::RiskSettings settings;
    settings.form = form;
    const std::vector<Index> ends{T};
    const auto risk = risk::from_windows(view(returns), T, ends, settings, Threads(1));
    select::SelectSettings select;
    select.k = k;
    select.net = layer::Net::any;
    select::Selector selector(select, *risk);
    select::Portfolio portfolio;
    selector.run(*risk, 0, view(mu), portfolio);
    const SharpeBound bound = sharpe_upper_bound(
        *risk, 0, view(mu), {.k = k, .bound = Bound::perspective, .shrinkage = 0.1, .sdr = {}});
    EXPECT_EQ(bound.status, Status::ok);
    EXPECT_GE(bound.sharpe, portfolio.sharpe);
    EXPECT_LE(bound.sharpe, 2.0 * portfolio.sharpe);
    bounds[form == risk::Form::dense ? 0 : 1] = bound.sharpe;
  }
  EXPECT_NEAR(bounds[0], bounds[1], 1e-4 * bounds[0]);
}

TEST(Bounds, LargeMarketsNeedNoDenseMatrix) {
  Problems problems(13);
  const Index n = 2100, T = 12, k = 20;
  const RowMatrix returns = problems.returns(T, n);
  const VectorXd mu = problems.vector(n);
  risk::RiskSettings settings;
  settings.form = risk::Form::low_rank;
  settings.parts = {.lower = false, .root = false};
  const std::vector<Index> ends{T};
  const auto risk = risk::from_windows(view(returns), T, ends, settings, Threads(1));
  select::SelectSettings select;
  select.k = k;
  select.optimizer = select::Optimizer::greedy;
  select::Selector selector(select, *risk);
  select::Portfolio portfolio;
  selector.run(*risk, 0, view(mu), portfolio);
  const SharpeBound bound =
      sharpe_upper_bound(*risk, 0, view(mu), {.k = k, .shrinkage = 0.1, .sdr = {}});
  EXPECT_EQ(bound.from, Bound::perspective);
  EXPECT_EQ(bound.status, Status::ok);
  EXPECT_GE(bound.sharpe, portfolio.sharpe);
  EXPECT_LE(bound.sharpe, 1.5 * portfolio.sharpe);
}

TEST(Bounds, RootsAreRoundedUp) {
  for (const double value : {2.0, 3.0, 0.1, 0.063, 1e-300, 1e300}) {
    const auto root = static_cast<long double>(root_above(value));
    EXPECT_GT(root * root, static_cast<long double>(value));
    EXPECT_NEAR(root_above(value) / std::sqrt(value), 1.0, 1e-15);
  }
  EXPECT_EQ(root_above(0.0), 0.0);
}

TEST(Bounds, StatusesAndWrongSettings) {
  Problems problems(15);
  const auto risk = risk_of(testing::naive_covariance(problems.returns(20, 4), 0.1));
  VectorXd mu = VectorXd::Zero(4);
  for (const Bound kind : {Bound::sdp, Bound::perspective, Bound::branch, Bound::best}) {
    const SharpeBound silent =
        sharpe_upper_bound(*risk, 0, view(mu), {.k = 2, .bound = kind, .sdr = {}});
    EXPECT_EQ(silent.status, Status::no_signal);
    EXPECT_EQ(silent.sharpe, 0.0);
  }
  mu[1] = std::nan("");
  const SharpeBound invalid = sharpe_upper_bound(*risk, 0, view(mu), {.k = 2, .sdr = {}});
  EXPECT_EQ(invalid.status, Status::invalid_input);
  EXPECT_TRUE(std::isnan(invalid.sharpe));

  mu = VectorXd::Ones(4);
  EXPECT_THROW(sharpe_upper_bound(*risk, 0, view(mu), {.k = 0, .sdr = {}}), InputError);
  EXPECT_THROW(sharpe_upper_bound(*risk, 0, view(mu), {.k = 5, .sdr = {}}), InputError);
  EXPECT_THROW(sharpe_upper_bound(*risk, 1, view(mu), {.k = 2, .sdr = {}}), InputError);
  EXPECT_THROW(sharpe_upper_bound(*risk, -1, view(mu), {.k = 2, .sdr = {}}), InputError);
  EXPECT_THROW(sharpe_upper_bound(*risk, 0, view(mu), {.k = 2, .shrinkage = 1.5, .sdr = {}}),
               InputError);
  const VectorXd longer = VectorXd::Ones(5);
  EXPECT_THROW(sharpe_upper_bound(*risk, 0, view(longer), {.k = 2, .sdr = {}}), InputError);
  EXPECT_EQ(name(Bound::sdp), "sdp");
  EXPECT_EQ(name(Bound::perspective), "perspective");
  EXPECT_EQ(name(Bound::best), "best");
}

__extension__ typedef __float128 Quad;

// mu^T w / sqrt(w^T Sigma w) of doubles, to more digits than any cancellation takes.
double sharpe_of(const RowMatrix& Sigma, const VectorXd& mu, const std::vector<double>& w) {
  Quad mean = 0, variance = 0;
  for (Index i = 0; i < mu.size(); ++i) {
    const Quad wi = w[static_cast<std::size_t>(i)];
    mean += wi * mu[i];
    for (Index j = 0; j < mu.size(); ++j)
      variance += wi * Quad(Sigma(i, j)) * w[static_cast<std::size_t>(j)];
  }
  return static_cast<double>(mean) / std::sqrt(static_cast<double>(variance));
}

select::Portfolio selected(const risk::Risk& risk, const VectorXd& mu, Index k) {
  select::Portfolio out;
  select::Selector({{.k = k, .net = layer::Net::any, .sizing = {}}}, risk)
      .run(risk, 0, view(mu), out);
  return out;
}

// Long and short positions cancel all but 4e-15 of the variance.
TEST(Bounds, HoldForTheSharpeRatioReportedOfANearlySingularPair) {
  RowMatrix Sigma(2, 2);
  Sigma << 1e-4, 9.999999999999961e-05, 9.999999999999961e-05, 1e-4;
  const VectorXd mu = Eigen::Vector2d(0.001, 0.0008);
  const auto risk = risk_of(Sigma);
  const select::Portfolio found = selected(*risk, mu, 2);
  EXPECT_NEAR(found.sharpe, 225582.73, 1.0);
  EXPECT_LE(found.sharpe, sharpe_upper_bound(*risk, 0, view(mu), {.k = 2, .sdr = {}}).sharpe);
}

TEST(Bounds, HoldForReportedSharpeRatiosThatAreTrueNearSingularity) {
  Problems problems(61);
  int cancelled = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const Index n = 2 + problems.below(4), k = 2 + problems.below(n - 1);
    const double rest = std::pow(10.0, -9.0 - static_cast<double>(problems.below(6)));
    const VectorXd common = problems.vector(n);
    RowMatrix Sigma = common * common.transpose();
    Sigma.diagonal().array() += rest;
    const VectorXd mu = problems.vector(n);
    const auto risk = risk_of(Sigma);
    const RowMatrix real = covariance_of(*risk);  // jitter included
    const select::Portfolio found = selected(*risk, mu, k);
    const double truth = sharpe_of(real, mu, found.weights);
    EXPECT_NEAR(found.sharpe, truth, 1e-9 * truth) << trial;
    EXPECT_LE(found.sharpe, sharpe_upper_bound(*risk, 0, view(mu), {.k = k, .sdr = {}}).sharpe)
        << trial;
    cancelled += found.sharpe > 1e5;
  }
  EXPECT_GT(cancelled, 10);  // the cases are as hard as they are meant to be
}

TEST(Bounds, HoldForSignalsWhoseSquaresVanish) {
  Problems problems(62);
  const auto risk = risk_of(testing::naive_covariance(problems.returns(30, 5), 0.1));
  const VectorXd mu = 1e-203 * problems.vector(5);
  const select::Portfolio found = selected(*risk, mu, 2);
  ASSERT_GT(found.sharpe, 0.0);
  for (const Bound kind : {Bound::sdp, Bound::perspective, Bound::branch, Bound::best}) {
    const SharpeBound bound =
        sharpe_upper_bound(*risk, 0, view(mu), {.k = 2, .bound = kind, .sdr = {}});
    EXPECT_GE(bound.sharpe, found.sharpe) << name(kind);
    EXPECT_LE(bound.sharpe, 3.0 * found.sharpe) << name(kind);
  }
}

TEST(Bounds, StopWhenTheyAreTold) {
  Problems problems(63);
  const auto risk = risk_of(testing::naive_covariance(problems.returns(30, 5), 0.1));
  const VectorXd mu = problems.vector(5);
  for (const Bound kind : {Bound::sdp, Bound::perspective, Bound::branch, Bound::best})
    EXPECT_THROW(
        sharpe_upper_bound(*risk, 0, view(mu),
                           {.k = 2, .bound = kind, .sdr = {}, .stop = [] { return true; }}),
        Interrupted);
}

// Resident memory at its largest so far, in bytes.
double most_memory() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return 1024.0 * static_cast<double>(used.ru_maxrss);
}

// A matrix (n, n) would be 320 GB.
TEST(Bounds, SlowTwoHundredThousandAssetsNeedNoSquareMatrix) {
  constexpr Index n = 200000, T = 24, k = 10;
  Problems problems(64);
  const RowMatrix returns = problems.returns(T, n);
  const Index end = T;
  const auto risk = risk::from_windows(view(returns), T, std::span(&end, 1), {}, Threads(1));
  ASSERT_EQ(risk->form(), risk::Form::low_rank);
  const VectorXd mu = returns.colwise().mean().transpose();
  const select::Portfolio found = selected(*risk, mu, k);
  EXPECT_GE(select::full_sharpe(*risk, 0, view(mu), layer::Net::any), found.sharpe);
  const SharpeBound bound =
      sharpe_upper_bound(*risk, 0, view(mu), {.k = k, .shrinkage = 0.1, .sdr = {}});
  EXPECT_GE(bound.sharpe, found.sharpe);
  MssrmLongResult longs;
  MssrmLong({.k = k, .max_iterations = 1000}, n).run_on_window(view(returns), view(mu), longs);
  EXPECT_LE(longs.portfolio.support.size(), static_cast<std::size_t>(k));
  EXPECT_LT(most_memory(), 2e9);
}

}  // namespace
}  // namespace sharpen::baseline
