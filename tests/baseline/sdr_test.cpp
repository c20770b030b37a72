// The semidefinite relaxation: known values, optimality conditions recomputed from the problem, and
// hard cases.
#include "sharpen/baseline/sdr.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "baseline/sdr_first_order.hpp"
#include "baseline/sdr_interior.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/market/moments.hpp"
#include "sharpen/market/panel.hpp"
#include "support/linear_algebra.hpp"
#include "support/problems.hpp"
#include "support/files.hpp"

namespace sharpen::baseline {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using testing::Problems;
using testing::RowMatrix;
using testing::view;

struct Problem {
  RowMatrix Sigma;
  VectorXd mu;

  Index n() const { return mu.size(); }
};

Problem random_problem(unsigned seed, Index n) {
  Problems problems(seed);
  const RowMatrix returns = problems.returns(2 * n + 10, n);
  return {testing::naive_covariance(returns, 0.1), problems.vector(n)};
}

Relaxation solve(const Problem& problem, double kappa, const SdrSettings& settings = {}) {
  Sdr sdr(settings, problem.n());
  Relaxation out;
  sdr.solve(view(problem.Sigma), view(problem.mu), kappa, out);
  return out;
}

double best_single(const Problem& p) {
  return p.mu.cwiseAbs2().cwiseQuotient(p.Sigma.diagonal()).maxCoeff();
}

double full_value(const Problem& p) { return p.mu.dot(testing::solve_spd(p.Sigma, p.mu)); }

// Whether M + shift I has a Cholesky factor.
bool is_psd(const MatrixXd& M, double shift) {
  const MatrixXd shifted = M + shift * MatrixXd::Identity(M.rows(), M.cols());
  const MatrixXd L = testing::lower_factor(shifted);
  // A factorisation that failed has not reproduced its matrix.
  return L.allFinite() && (L * L.transpose() - shifted).norm() <= 1e-12 * (1.0 + shifted.norm());
}

std::string data_file(const std::string& name) {
  const std::string folder = testing::data_folder();
  const std::string file = folder + "/" + name;
  return folder.empty() || !std::filesystem::exists(file) ? "" : file;
}

Problem orlib_problem(const std::string& file) {
  const market::Moments m = market::read_orlib(file);
  return {Eigen::Map<const RowMatrix>(m.covariance.data(), m.n(), m.n()),
          Eigen::Map<const VectorXd>(m.mean.data(), m.n())};
}

Problem monthly_problem(const std::string& file) {
  constexpr auto kind = market::PanelKind::gross_returns;
  const market::Panel panel = market::simple_returns(market::read_panel(file, kind), kind);
  const Eigen::Map<const RowMatrix> returns(panel.values.data(), panel.rows(), panel.n());
  return {testing::naive_covariance(returns, 0.0), returns.colwise().mean().transpose()};
}

// Every claim about the points, from the problem alone.
void expect_certificate(const Problem& p, const Relaxation& relaxation,
                        const RelaxationPoints& points, double gap) {
  const Index n = p.n();
  const MatrixXd Y = Eigen::Map<const MatrixXd>(points.Y.data(), n, n);
  const MatrixXd V = Eigen::Map<const MatrixXd>(points.V.data(), n, n);
  const double kappa = relaxation.kappa, nu = points.nu, theta = points.theta;

  EXPECT_EQ((Y - Y.transpose()).norm(), 0.0);
  EXPECT_TRUE(is_psd(Y, 1e-12 * Y.trace()));
  EXPECT_NEAR(Y.cwiseProduct(p.Sigma).sum(), 1.0, 1e-11);
  EXPECT_LE(Y.cwiseAbs().sum(), kappa * Y.trace() * (1.0 + 1e-12));
  EXPECT_NEAR(p.mu.dot(Y * p.mu), relaxation.primal, 1e-10 * relaxation.primal);

  EXPECT_EQ(theta, relaxation.dual);
  EXPECT_GE(nu, 0.0);
  EXPECT_LE(V.cwiseAbs().maxCoeff(), nu);
  EXPECT_EQ((V - V.transpose()).norm(), 0.0);
  for (Index i = 0; i < n; ++i) EXPECT_EQ(V(i, i), -nu);
  const MatrixXd S =
      theta * p.Sigma - p.mu * p.mu.transpose() - nu * kappa * MatrixXd::Identity(n, n) - V;
  EXPECT_TRUE(is_psd(S, 1e-13 * theta * p.Sigma.trace()));

  // The gap is what is left of complementarity: <S, Y> and the two parts of the l1 constraint.
  const double slackness = S.cwiseProduct(Y).sum();
  const double l1 = nu * (kappa * Y.trace() - Y.cwiseAbs().sum());
  const double box = nu * Y.cwiseAbs().sum() + V.cwiseProduct(Y).sum();
  EXPECT_GE(l1, -1e-12 * theta);
  EXPECT_GE(box, -1e-12 * theta);
  EXPECT_NEAR(slackness + l1 + box, theta - relaxation.primal, 1e-10 * theta);
  EXPECT_LE(slackness + l1 + box, gap * theta * (1.0 + 1e-6) + 1e-10 * theta);
  EXPECT_NEAR(relaxation.gap, (relaxation.dual - relaxation.primal) / relaxation.dual, 1e-12);
}

TEST(Sdr, ReachesKnownValuesWithAProvedGap) {
  const std::string port1 = data_file("port1.txt"), ff25 = data_file("ff25_monthly_gross.csv");
  if (port1.empty() || ff25.empty()) GTEST_SKIP() << "there is no port1 or ff25 in the test data";
  struct Known {
    Problem problem;
    double k, value;
  };
  for (const Known& known :
       {Known{orlib_problem(port1), 3.0, 0.2511778}, Known{orlib_problem(port1), 5.0, 0.2851190},
        Known{monthly_problem(ff25), 3.0, 0.3150734}}) {
    const Relaxation answer = solve(known.problem, known.k);
    EXPECT_EQ(answer.status, Status::ok);
    EXPECT_NEAR(std::sqrt(answer.dual), known.value, 1e-6);
    EXPECT_LE(answer.gap, 1e-6);
    EXPECT_GE(answer.dual, answer.primal);
  }
}

TEST(Sdr, LargerMarketsReachTheirGapAndTheirBound) {
  const std::string ff100 = data_file("ff100_monthly_gross.csv");
  if (ff100.empty()) GTEST_SKIP() << "there is no ff100 in the test data";
  const Problem problem = monthly_problem(ff100);
  Sdr sdr({}, problem.n());
  Relaxation answer;
  sdr.solve(view(problem.Sigma), view(problem.mu), 10.0, answer);
  EXPECT_EQ(answer.status, Status::ok);
  EXPECT_LE(answer.gap, 1e-3);
  // The optimum, known to 1e-5 from another method.
  EXPECT_GE(std::sqrt(answer.dual), 0.61530);
  EXPECT_LE(std::sqrt(answer.primal), 0.61531);
  expect_certificate(problem, answer, sdr.points(), 1e-3);
}

class Certificates : public ::testing::TestWithParam<Index> {};

TEST_P(Certificates, SatisfyTheOptimalityConditions) {
  const Index n = GetParam();
  const Problem problem = random_problem(11 + static_cast<unsigned>(n), n);
  for (const double kappa : {1.0, 1.7, 3.0, 0.5 * static_cast<double>(n), static_cast<double>(n)}) {
    if (kappa > static_cast<double>(n) || (n > 50 && kappa < 3.0 && kappa > 1.0)) continue;
    SdrSettings settings;
    Sdr sdr(settings, n);
    Relaxation answer;
    sdr.solve(view(problem.Sigma), view(problem.mu), kappa, answer);
    EXPECT_EQ(answer.status, Status::ok) << "n = " << n << ", kappa = " << kappa;
    expect_certificate(problem, answer, sdr.points(), settings.gap_for(n));
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Certificates, ::testing::Values<Index>(2, 3, 8, 20, 60));

TEST(Sdr, BothMethodsBracketTheSameOptimum) {
  for (const double kappa : {2.0, 4.0, 9.0}) {
    const Problem problem = random_problem(5, 24);
    ScaledProblem scaled(24);
    ASSERT_TRUE(scaled.set(view(problem.Sigma), view(problem.mu), kappa));
    Bracket interior(24), first_order(24);
    interior.begin(scaled);
    first_order.begin(scaled);
    InteriorPoint(24).run(scaled, 1e-8, 100, interior);
    FirstOrder(24).run(scaled, 1e-4, 20000, first_order);
    EXPECT_LE(interior.gap(), 1e-8);
    EXPECT_LE(first_order.gap(), 1e-4);
    EXPECT_LE(first_order.primal(), interior.dual());
    EXPECT_GE(first_order.dual(), interior.primal());
  }
}

TEST(Sdr, OneNameIsTheBestSingleAssetAndAllNamesAreTheTangent) {
  for (const Index n : {1, 2, 7, 55}) {
    const Problem problem = random_problem(3, n);
    const Relaxation one = solve(problem, 1.0), all = solve(problem, static_cast<double>(n));
    EXPECT_EQ(one.status, Status::ok);
    EXPECT_EQ(all.status, Status::ok);
    EXPECT_NEAR(one.dual, best_single(problem), 1e-12 * one.dual);
    EXPECT_GE(one.dual, best_single(problem));
    EXPECT_NEAR(all.dual, full_value(problem), 1e-9 * all.dual);
    EXPECT_EQ(one.iterations, 0);
    EXPECT_EQ(all.iterations, 0);
  }
}

TEST(Sdr, GrowsWithKappa) {
  const Problem problem = random_problem(8, 15);
  double last = 0.0;
  for (double kappa = 1.0; kappa <= 15.0; kappa += 0.5) {
    const Relaxation answer = solve(problem, kappa);
    EXPECT_GE(answer.dual, last * (1.0 - 1e-6)) << kappa;
    last = answer.primal;
  }
}

TEST(Sdr, TheSignOfTheSignalDoesNotMatter) {
  Problem problem = random_problem(21, 18);
  problem.mu = problem.mu.cwiseAbs();
  const Relaxation up = solve(problem, 4.0);
  problem.mu = -problem.mu;
  const Relaxation down = solve(problem, 4.0);
  EXPECT_EQ(up.status, Status::ok);
  EXPECT_EQ(up.dual, down.dual);
  EXPECT_EQ(up.primal, down.primal);
  for (std::size_t i = 0; i < up.direction.size(); ++i)
    EXPECT_EQ(up.direction[i], -down.direction[i]);
}

TEST(Sdr, ScalingLeavesTheDirectionAndTheGapAlone) {
  for (const Index n : {16, 60}) {
    const Problem problem = random_problem(31, n);
    const Relaxation plain = solve(problem, 5.0);
    for (const auto& [a, b] : {std::pair{1e-3, 1.0}, {1.0, 7e-5}, {3e8, 1e9}, {1e-150, 1e-200}}) {
      const Problem scaled{b * problem.Sigma, a * problem.mu};
      const Relaxation answer = solve(scaled, 5.0);
      EXPECT_EQ(answer.status, Status::ok);
      const double unit = a * (a / b);
      EXPECT_NEAR(answer.dual / (plain.dual * unit), 1.0, 2.0 * SdrSettings{}.gap_for(n));
      for (std::size_t i = 0; i < plain.direction.size(); ++i)
        EXPECT_NEAR(answer.direction[i], plain.direction[i], n > 50 ? 0.02 : 1e-5);
    }
    // Powers of two change nothing at all.
    const Relaxation exact = solve({0.25 * problem.Sigma, 8.0 * problem.mu}, 5.0);
    EXPECT_EQ(exact.dual, 256.0 * plain.dual);
    EXPECT_EQ(exact.direction, plain.direction);
  }
}

TEST(Sdr, SaysWhatItHasWhereTheStepsRunOut) {
  for (const Index n : {20, 60}) {
    const Problem problem = random_problem(41, n);
    const Relaxation good = solve(problem, 4.0, {.gap = n > 50 ? 1e-4 : 1e-6});
    ASSERT_EQ(good.status, Status::ok);
    for (const Index most : {1, 3, 6}) {
      const Relaxation early = solve(problem, 4.0, {.gap = 1e-8, .max_iterations = most});
      EXPECT_EQ(early.status, Status::not_converged);
      EXPECT_FALSE(early.converged());
      EXPECT_LE(early.iterations, most);
      EXPECT_GT(early.gap, 1e-8);
      EXPECT_NEAR(early.gap, (early.dual - early.primal) / early.dual, 1e-12);
      EXPECT_GE(early.dual, good.primal);
      EXPECT_LE(early.primal, good.dual);
      EXPECT_GT(early.primal, 0.0);
    }
  }
}

TEST(Sdr, StartsFromTheProblemBefore) {
  const Index n = 60;
  const Problem today = random_problem(51, n);
  Problem tomorrow = today;
  tomorrow.mu += 0.02 * Problems(7).vector(n);
  Sdr sdr({}, n);
  Relaxation first, warm, again;
  sdr.solve(view(today.Sigma), view(today.mu), 6.0, first);
  sdr.solve(view(tomorrow.Sigma), view(tomorrow.mu), 6.0, warm);
  const Relaxation cold = solve(tomorrow, 6.0);
  EXPECT_EQ(warm.status, Status::ok);
  EXPECT_LT(warm.iterations, cold.iterations);
  EXPECT_GE(warm.dual, cold.primal);
  EXPECT_LE(warm.primal, cold.dual);
  sdr.forget();
  sdr.solve(view(tomorrow.Sigma), view(tomorrow.mu), 6.0, again);
  EXPECT_EQ(again.dual, cold.dual);
  EXPECT_EQ(again.direction, cold.direction);
  EXPECT_EQ(again.iterations, cold.iterations);
}

TEST(Sdr, HasTheSameBitsOnAnyNumberOfThreads) {
  const std::vector<Index> sizes = {9, 60, 20, 55};
  const auto run = [&](int count) {
    std::vector<Relaxation> answers(sizes.size());
    Threads(count).for_each(static_cast<Index>(sizes.size()), [&](Index i, int) {
      const auto s = static_cast<std::size_t>(i);
      answers[s] = solve(random_problem(60 + static_cast<unsigned>(i), sizes[s]), 4.0);
    });
    return answers;
  };
  const auto one = run(1), four = run(4);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].dual, four[i].dual);
    EXPECT_EQ(one[i].primal, four[i].primal);
    EXPECT_EQ(one[i].direction, four[i].direction);
  }
}

// The risk of a hedge is 1e-8 to 1e-12 of that of its parts; the value claimed for it is at most
// its own, up to what the long double of the check itself can tell.
TEST(Sdr, ThePrimalValueIsNeverOverstatedNearSingularity) {
  int claimed = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    Problems problems(seed);
    const Index n = 6;
    const VectorXd x = problems.vector(n).normalized();
    const double l1 = x.lpNorm<1>(), small = std::pow(10.0, -8.0 - 2.0 * (seed % 3));
    if (l1 * l1 > 4.9) continue;
    const RowMatrix Sigma = MatrixXd::Identity(n, n) - (1.0 - small) * x * x.transpose();
    const VectorXd mu = problems.vector(n);
    ScaledProblem scaled(n);
    if (!scaled.set(view(Sigma), view(mu), 5.0)) continue;
    const MatrixXd Y = x * x.transpose();
    Bracket bracket(n);
    bracket.begin(scaled);
    const double greedy = bracket.primal();
    bracket.offer_primal(Y);
    if (bracket.primal() == greedy) continue;
    ++claimed;
    long double value = 0.0L, risk = 0.0L;
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) {
        const auto y = static_cast<long double>(Y(i, j));
        value += y * scaled.mu[i] * scaled.mu[j];
        risk += y * scaled.Sigma(i, j);
      }
    const long double doubt = 1e-18L / small;
    EXPECT_LE(bracket.primal(), value / risk * (1.0L + doubt)) << "seed " << seed;
    EXPECT_GE(bracket.primal(), value / risk * (1.0L - 100.0L * doubt)) << "seed " << seed;
  }
  EXPECT_GT(claimed, 40);
}

TEST(Sdr, DuplicateAssetsGiveAValidBound) {
  Problem problem = random_problem(71, 12);
  problem.Sigma.col(11) = problem.Sigma.col(3);
  problem.Sigma.row(11) = problem.Sigma.row(3);
  problem.Sigma(11, 11) = problem.Sigma(3, 3);
  problem.mu[11] = problem.mu[3];
  const double unique = solve({problem.Sigma.topLeftCorner(11, 11), problem.mu.head(11)}, 3.0).dual;
  problem.Sigma.diagonal().array() += 1e-12 * problem.Sigma.trace();
  const Relaxation answer = solve(problem, 3.0);
  EXPECT_TRUE(answer.status == Status::ok || answer.status == Status::not_converged);
  EXPECT_TRUE(std::isfinite(answer.dual));
  // A duplicate can only widen what is feasible, and the tangent of all assets bounds it.
  EXPECT_GE(answer.dual, unique * (1.0 - 1e-5));
  EXPECT_LE(answer.dual, full_value(problem) * (1.0 + 1e-3));
  EXPECT_LE(answer.primal, answer.dual);
}

TEST(Sdr, NoSignalAndInvalidInputAreStatuses) {
  Problem problem = random_problem(81, 6);
  const VectorXd mu = problem.mu;
  problem.mu.setZero();
  const Relaxation silent = solve(problem, 2.0);
  EXPECT_EQ(silent.status, Status::no_signal);
  EXPECT_EQ(silent.dual, 0.0);
  EXPECT_EQ(silent.gap, 0.0);

  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    problem.mu = mu;
    problem.mu[2] = bad;
    const Relaxation invalid = solve(problem, 2.0);
    EXPECT_EQ(invalid.status, Status::invalid_input);
    EXPECT_TRUE(std::isnan(invalid.dual) && std::isnan(invalid.primal) && std::isnan(invalid.gap));
    EXPECT_TRUE(std::isnan(invalid.direction[0]));
    problem.mu = mu;
    Problem other = problem;
    other.Sigma(1, 4) = other.Sigma(4, 1) = bad;
    EXPECT_EQ(solve(other, 2.0).status, Status::invalid_input);
  }
  Problem indefinite = problem;
  indefinite.Sigma(0, 0) = -indefinite.Sigma(0, 0);
  EXPECT_EQ(solve(indefinite, 2.0).status, Status::invalid_input);
  indefinite = problem;
  indefinite.Sigma(0, 1) = indefinite.Sigma(1, 0) = 10.0 * problem.Sigma.trace();
  EXPECT_EQ(solve(indefinite, 2.0).status, Status::invalid_input);
}

TEST(Sdr, AnInvalidDayDoesNotSpoilTheNext) {
  const Index n = 60;
  const Problem problem = random_problem(91, n);
  Problem broken = problem;
  broken.mu[5] = std::nan("");
  Sdr sdr({}, n);
  Relaxation answer;
  for (const Problem* day : {&problem, static_cast<const Problem*>(&broken), &problem})
    sdr.solve(view(day->Sigma), view(day->mu), 5.0, answer);
  EXPECT_EQ(answer.status, Status::ok);
  expect_certificate(problem, answer, sdr.points(), 1e-3);
}

TEST(Sdr, RefusesWrongShapesAndSettings) {
  const Problem problem = random_problem(1, 5);
  EXPECT_THROW(solve(problem, 0.5), InputError);
  EXPECT_THROW(solve(problem, 5.5), InputError);
  EXPECT_THROW(solve(problem, std::nan("")), InputError);
  EXPECT_THROW(solve(problem, 2.0, {.gap = -0.1}), InputError);
  EXPECT_THROW(solve(problem, 2.0, {.gap = 1.0}), InputError);
  EXPECT_THROW(solve(problem, 2.0, {.gap = std::nan("")}), InputError);
  EXPECT_THROW(solve(problem, 2.0, {.max_iterations = -1}), InputError);
  Sdr sdr({}, 4);
  Relaxation out;
  EXPECT_THROW(sdr.solve(view(problem.Sigma), view(problem.mu), 2.0, out), InputError);
  EXPECT_THROW(Sdr({}, 0), InputError);
}

}  // namespace
}  // namespace sharpen::baseline
