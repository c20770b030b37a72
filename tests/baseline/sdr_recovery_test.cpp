// From the relaxation's eigenvector to a portfolio of k names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "sharpen/base/error.hpp"
#include "sharpen/baseline/sdr.hpp"
#include "sharpen/market/moments.hpp"
#include "support/files.hpp"
#include "support/problems.hpp"

namespace sharpen::baseline {
namespace {

using Eigen::VectorXd;
using testing::Problems;
using testing::risk_of;
using testing::RowMatrix;
using testing::view;

struct RecoveryProblem {
  RowMatrix Sigma;
  VectorXd mu;
};

RecoveryProblem recovery_problem(unsigned seed, Index n) {
  Problems problems(seed);
  return {testing::naive_covariance(problems.returns(3 * n, n), 0.1), problems.vector(n)};
}

SdrPortfolio run(const RecoveryProblem& problem, const SdrSelectSettings& settings) {
  const auto risk = risk_of(problem.Sigma);
  SdrSelector selector(settings, *risk);
  SdrPortfolio out;
  selector.run(*risk, 0, view(problem.mu), out);
  return out;
}

// The names whose entries pass the threshold of the recovery.
std::vector<Index> passing(const std::vector<double>& v) {
  double largest = 0.0;
  for (const double x : v) largest = std::max(largest, std::abs(x));
  std::vector<Index> names;
  for (std::size_t i = 0; i < v.size(); ++i)
    if (std::abs(v[i]) > 1e-3 * largest) names.push_back(static_cast<Index>(i));
  return names;
}

Relaxation relaxed(const RecoveryProblem& problem, double kappa, const SdrSettings& settings = {}) {
  Sdr sdr(settings, problem.mu.size());
  Relaxation out;
  sdr.solve(view(problem.Sigma), view(problem.mu), kappa, out);
  return out;
}

TEST(SdrRecovery, FindsTheKnownPortfoliosOfPort1) {
  const std::string file = testing::data_folder() + "/port1.txt";
  if (testing::data_folder().empty() || !std::filesystem::exists(file))
    GTEST_SKIP() << "there is no port1 in the test data";
  const market::Moments m = market::read_orlib(file);
  const RecoveryProblem problem{Eigen::Map<const RowMatrix>(m.covariance.data(), m.n(), m.n()),
                                Eigen::Map<const VectorXd>(m.mean.data(), m.n())};
  const SdrPortfolio three = run(problem, {{.k = 3}});
  EXPECT_EQ(three.portfolio.outcome.status, Status::ok);
  EXPECT_EQ(three.portfolio.support, (std::vector<Index>{4, 5, 28}));
  EXPECT_NEAR(three.portfolio.sharpe, 0.227999826, 1e-9);
  EXPECT_NEAR(std::sqrt(three.relaxation.dual), 0.2511778, 1e-6);
  EXPECT_EQ(three.solves, 1);
  EXPECT_EQ(three.kappa, 3.0);
  const SdrPortfolio five = run(problem, {{.k = 5}});
  EXPECT_EQ(five.portfolio.support, (std::vector<Index>{2, 4, 15, 17, 28}));
  EXPECT_NEAR(five.portfolio.sharpe, 0.253749754, 1e-9);
}

TEST(SdrRecovery, TopKTakesTheLargestEntries) {
  for (const Index k : {1, 2, 5, 12, 20}) {
    const RecoveryProblem problem = recovery_problem(3, 20);
    const SdrPortfolio out = run(problem, {{.k = k, .net = layer::Net::any}});
    ASSERT_EQ(static_cast<Index>(out.portfolio.support.size()), k);
    const std::vector<double>& v = out.relaxation.direction;
    double least = 1e300, most = 0.0;  // inside and outside the support
    const std::set<Index> held(out.portfolio.support.begin(), out.portfolio.support.end());
    for (Index i = 0; i < 20; ++i) {
      const double size = std::abs(v[static_cast<std::size_t>(i)]);
      if (held.count(i) != 0) {
        least = std::min(least, size);
      } else {
        most = std::max(most, size);
      }
    }
    EXPECT_GE(least, most - 1e-9);
    EXPECT_LE(*out.portfolio.value, out.relaxation.dual);
  }
}

// Everything said about the match, from a relaxation of its own at that kappa.
TEST(SdrRecovery, MatchHoldsTheSupportAtItsKappaOrTheLargestOfIt) {
  int matches = 0, exact = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const RecoveryProblem problem = recovery_problem(seed, 16);
    for (const Index k : {1, 3, 7, 16}) {
      const SdrPortfolio out = run(problem, {{.k = k, .net = layer::Net::any}, Recovery::match});
      EXPECT_GE(out.solves, 1);
      EXPECT_LE(out.solves, 8);
      EXPECT_GE(out.kappa, 1.0);
      EXPECT_LE(out.kappa, 16.0);
      EXPECT_EQ(out.relaxation.kappa, static_cast<double>(k));
      const std::vector<double> v = relaxed(problem, out.kappa).direction;
      const std::vector<Index> names = passing(v), &held = out.portfolio.support;
      EXPECT_EQ(static_cast<Index>(names.size()), out.matched);
      if (static_cast<Index>(names.size()) <= k) {
        EXPECT_EQ(held, names);
        EXPECT_FALSE(out.cut);
      } else {
        EXPECT_EQ(static_cast<Index>(held.size()), k);
        EXPECT_TRUE(out.cut);
        for (const Index i : held)
          for (const Index j : names)
            EXPECT_TRUE(std::count(held.begin(), held.end(), j) == 1 ||
                        std::abs(v[static_cast<std::size_t>(i)]) >=
                            std::abs(v[static_cast<std::size_t>(j)]) - 1e-8);
      }
      exact += static_cast<Index>(names.size()) == k ? 1 : 0;
      matches += out.kappa != static_cast<double>(k) ? 1 : 0;
    }
  }
  EXPECT_GT(matches, 0);
  EXPECT_GT(exact, 36);
}

TEST(SdrRecovery, MatchHoldsFewerNamesWhereNoEigenvectorHasK) {
  VectorXd mu = VectorXd::Zero(6);
  mu[2] = 0.1;
  mu[5] = 0.2;
  for (const double side : {0.0, 1e-5}) {  // entries of any eigenvector far below the threshold
    mu[0] = side;
    const RecoveryProblem problem{RowMatrix::Identity(6, 6), mu};
    const SdrPortfolio out = run(problem, {{.k = 4}, Recovery::match});
    EXPECT_EQ(out.portfolio.outcome.status, Status::ok);
    EXPECT_EQ(out.portfolio.support, (std::vector<Index>{2, 5}));
    EXPECT_EQ(out.matched, 2);
    EXPECT_FALSE(out.cut);
    EXPECT_NEAR(*out.portfolio.value, 0.05, 1e-12);
  }
}

TEST(SdrRecovery, MatchReportsTheRelaxationItUsed) {
  int differ = 0;
  for (const Index most : {7, 9, 11, 100}) {
    const RecoveryProblem problem = recovery_problem(static_cast<unsigned>(most), 16);
    const SdrSettings few{.max_iterations = most};
    const SdrPortfolio out = run(problem, {{.k = 5, .net = layer::Net::any}, Recovery::match, few});
    const Relaxation used = relaxed(problem, out.kappa, few);
    EXPECT_EQ(out.converged, used.converged());
    EXPECT_EQ(out.iterations, used.iterations);
    if (!used.converged()) {
      EXPECT_EQ(out.portfolio.outcome.status, Status::not_converged);
    }
    differ += out.relaxation.iterations != out.iterations ? 1 : 0;
  }
  EXPECT_GT(differ, 0);
}

TEST(SdrRecovery, NamesAreNeverMadeUpWhereTheRelaxationIsInvalid) {
  // Variances so far apart that no unit holds both: the risk has a factor, the relaxation none.
  RowMatrix Sigma = RowMatrix::Identity(4, 4);
  Sigma(3, 3) = 1e-150;
  Sigma(0, 0) = 1e200;
  const RecoveryProblem problem{Sigma, VectorXd::Ones(4)};
  ASSERT_EQ(risk_of(Sigma)->status(0), Status::ok);
  ASSERT_EQ(relaxed(problem, 2.0).status, Status::invalid_input);
  for (const Recovery recovery : {Recovery::top_k, Recovery::match}) {
    const SdrPortfolio out = run(problem, {{.k = 2}, recovery});
    EXPECT_EQ(out.portfolio.outcome.status, Status::invalid_input);
    EXPECT_TRUE(out.portfolio.support.empty());
    ASSERT_EQ(out.portfolio.weights.size(), 4u);
    for (const double w : out.portfolio.weights) EXPECT_TRUE(std::isnan(w));
    EXPECT_TRUE(std::isnan(out.portfolio.sharpe));
    EXPECT_FALSE(out.converged);
    EXPECT_FALSE(out.cut);
  }
}

TEST(SdrRecovery, ScalingLeavesTheSupportAlone) {
  for (const Index n : {15, 60}) {
    const RecoveryProblem problem = recovery_problem(17, n);
    for (const Recovery recovery : {Recovery::top_k, Recovery::match}) {
      if (n == 60 && recovery == Recovery::match) continue;
      const SdrSelectSettings settings{{.k = 4}, recovery};
      const SdrPortfolio plain = run(problem, settings);
      for (const auto& [a, b] : {std::pair{1e-4, 1.0}, {1.0, 3e-6}, {5e3, 7e4}})
        EXPECT_EQ(run({b * problem.Sigma, a * problem.mu}, settings).portfolio.support,
                  plain.portfolio.support);
    }
  }
}

TEST(SdrRecovery, NegativeSignalsHoldANeutralPortfolioOrCash) {
  RecoveryProblem problem = recovery_problem(23, 12);
  problem.mu = -problem.mu.cwiseAbs();
  const SdrPortfolio four = run(problem, {{.k = 4}});
  EXPECT_EQ(four.portfolio.outcome.status, Status::neutral_face);
  double net = 0.0;
  for (const double w : four.portfolio.weights) net += w;
  EXPECT_NEAR(net, 0.0, 1e-12);
  EXPECT_LE(*four.portfolio.value, four.relaxation.dual);
  const SdrPortfolio one = run(problem, {{.k = 1}});
  EXPECT_EQ(one.portfolio.outcome.status, Status::no_signal);
  EXPECT_TRUE(one.portfolio.support.empty());
}

TEST(SdrRecovery, SilenceIsCashAndNanIsInvalid) {
  RecoveryProblem problem = recovery_problem(29, 6);
  problem.mu.setZero();
  const SdrPortfolio silent = run(problem, {{.k = 2}});
  EXPECT_EQ(silent.portfolio.outcome.status, Status::no_signal);
  EXPECT_EQ(silent.relaxation.status, Status::no_signal);
  problem.mu[3] = std::nan("");
  const SdrPortfolio invalid = run(problem, {{.k = 2}});
  EXPECT_EQ(invalid.portfolio.outcome.status, Status::invalid_input);
  EXPECT_TRUE(std::isnan(invalid.portfolio.weights[0]));
  EXPECT_EQ(invalid.relaxation.status, Status::invalid_input);
}

TEST(SdrRecovery, AnUnfinishedRelaxationIsNeverSilentlyUsed) {
  const RecoveryProblem problem = recovery_problem(37, 20);
  const SdrPortfolio out =
      run(problem, {{.k = 4, .net = layer::Net::any}, Recovery::top_k, {.max_iterations = 2}});
  EXPECT_EQ(out.relaxation.status, Status::not_converged);
  EXPECT_EQ(out.portfolio.outcome.status, Status::not_converged);
  EXPECT_GT(out.relaxation.gap, 1e-6);
  EXPECT_TRUE(std::isfinite(out.portfolio.sharpe));
}

TEST(SdrRecovery, RefusesWrongSettings) {
  const auto risk = risk_of(recovery_problem(1, 5).Sigma);
  for (const Index k : {0, 6}) EXPECT_THROW(SdrSelector({{.k = k}}, *risk), InputError);
  EXPECT_THROW(SdrSelector({{.k = 2}, Recovery::top_k, {.gap = 2.0}}, *risk), InputError);
  SdrSelector selector({{.k = 2}}, *risk);
  SdrPortfolio out;
  const VectorXd mu = VectorXd::Ones(5), longer = VectorXd::Ones(6);
  EXPECT_THROW(selector.run(*risk, 1, view(mu), out), InputError);
  EXPECT_THROW(selector.run(*risk, 0, view(longer), out), InputError);
}

}  // namespace
}  // namespace sharpen::baseline
