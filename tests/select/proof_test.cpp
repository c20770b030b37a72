// Branch and bound against enumeration, and its promises.
#include "sharpen/select/proof.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <numeric>

#include "select/proof_reference.hpp"
#include "select/proof_search.hpp"
#include "sharpen/base/error.hpp"
#include "support/real_moments.hpp"

namespace sharpen::select::testing {
namespace {

using layer::Net;
using sharpen::testing::Problems;
using sharpen::testing::view;

constexpr double kTolerance = 1e-9;

void expect_optimal(const MatrixXd& Sigma, const VectorXd& mu, Index k, Net net) {
  const Proved found = prove(*exact_risk(Sigma), mu, k, net, unhurried());
  AllSupports all(Sigma, mu, net == Net::positive);
  const double best = std::sqrt(all.best(k));
  EXPECT_NEAR(found.portfolio.sharpe, best, 1e-7 * best + 1e-7);
  EXPECT_GE(found.proof.bound, best * (1.0 - kTolerance));
  EXPECT_EQ(found.proof.end, ProofEnd::optimal) << "gap " << found.proof.gap();
  EXPECT_LE(static_cast<Index>(found.portfolio.support.size()), k);
}

void agree_with_enumeration(unsigned seed, int count, Index most) {
  Problems problems(seed);
  for (int i = 0; i < count; ++i) {
    const Index n = 2 + problems.below(most - 1), k = 1 + problems.below(n);
    const MatrixXd Sigma = random_covariance(problems, n);
    const VectorXd mu = i % 3 == 0 ? problems.vector(n) : problems.signal(Sigma, i % 3 == 1);
    SCOPED_TRACE(::testing::Message() << "problem " << i << ", n = " << n << ", k = " << k);
    expect_optimal(Sigma, mu, k, i % 2 == 0 ? Net::any : Net::positive);
  }
}

TEST(Exact, AgreesWithEnumeration) { agree_with_enumeration(1, 60, 10); }
TEST(Exact, SlowAgreesWithEnumerationOften) { agree_with_enumeration(2, 1200, 14); }

struct Optimum {
  const char* data;
  Index k;
  double sharpe;
  Support support;  // where it is known
};

void expect_known(const Optimum& known) {
  const auto data = sharpen::testing::real_moments(known.data);
  if (!data) GTEST_SKIP() << known.data << " is not in " << sharpen::testing::data_folder();
  const Proved found = prove(*exact_risk(data->Sigma), data->mu, known.k, Net::any, unhurried());
  EXPECT_NEAR(found.portfolio.sharpe, known.sharpe, 6e-7);
  EXPECT_EQ(found.proof.end, ProofEnd::optimal);
  EXPECT_LE(found.proof.gap(), 1.001e-7);
  EXPECT_GE(found.proof.bound, found.portfolio.sharpe);
  if (!known.support.empty()) {
    EXPECT_EQ(found.portfolio.support, known.support);
  }
}

class ProvedOptima : public ::testing::TestWithParam<Optimum> {};
TEST_P(ProvedOptima, AreFoundAndProved) { expect_known(GetParam()); }

void PrintTo(const Optimum& known, std::ostream* out) { *out << known.data << " k = " << known.k; }

INSTANTIATE_TEST_SUITE_P(
    Design, ProvedOptima,
    ::testing::Values(Optimum{"port1", 10, .305903, {}}, Optimum{"port1", 20, .330884, {}},
                      Optimum{"port2", 5, .375582, {}}, Optimum{"port2", 10, .441745, {}},
                      Optimum{"port3", 5, .333880, {}}, Optimum{"port3", 10, .403295, {}},
                      Optimum{"ff25", 10, .375358, {}},
                      Optimum{"ff49", 5, .311229, {4, 12, 25, 30, 48}},
                      Optimum{"ff49", 10, .361797, {}}, Optimum{"ff49", 20, .398296, {}},
                      Optimum{"ff100", 5, .494115, {0, 8, 39, 91, 96}},
                      Optimum{"ff100", 10, .555718, {}}));

TEST(Exact, SlowProvesTwentyNamesOfPort2) { expect_known({"port2", 20, .530182, {}}); }
TEST(Exact, SlowProvesTwentyNamesOfPort3) { expect_known({"port3", 20, .467770, {}}); }
TEST(Exact, SlowProvesTwentyNamesOfFf100) { expect_known({"ff100", 20, .624098, {}}); }

Portfolio found_without_proof(const risk::Risk& risk, const VectorXd& mu, Index k, Net net) {
  Portfolio out;
  ExactSelector(at_most(k, net), {}, mu.size()).find(risk, 0, view(mu), nullptr, out);
  return out;
}

// The known optima that swap misses.
class MissedBySwap : public ::testing::TestWithParam<Optimum> {};
TEST_P(MissedBySwap, IsFoundWithoutAProof) {
  const Optimum& known = GetParam();
  const auto data = sharpen::testing::real_moments(known.data);
  if (!data) GTEST_SKIP() << known.data << " is not in " << sharpen::testing::data_folder();
  const auto risk = exact_risk(data->Sigma);
  Portfolio swap;
  Selector(at_most(known.k, Net::any), *risk).run(*risk, 0, view(data->mu), swap);
  EXPECT_LT(swap.sharpe, known.sharpe - 1e-5);
  EXPECT_NEAR(found_without_proof(*risk, data->mu, known.k, Net::any).sharpe, known.sharpe, 6e-7);
}
INSTANTIATE_TEST_SUITE_P(
    Design, MissedBySwap,
    ::testing::Values(Optimum{"ff49", 5, .311229, {}}, Optimum{"ff100", 5, .494115, {}},
                      Optimum{"ff100", 10, .555718, {}}, Optimum{"ff100", 20, .624098, {}},
                      Optimum{"port2", 10, .441745, {}}, Optimum{"port2", 20, .530182, {}},
                      Optimum{"port3", 10, .403295, {}}, Optimum{"port3", 20, .467770, {}}));

TEST(Exact, FindsNothingWorseThanSwapAndNothingBetterThanTheBest) {
  Problems problems(17);
  for (int i = 0; i < 40; ++i) {
    const Index n = 3 + problems.below(10), k = 1 + problems.below(n);
    const MatrixXd Sigma = random_covariance(problems, n);
    const VectorXd mu = i % 3 == 0 ? problems.vector(n) : problems.signal(Sigma, i % 3 == 1);
    const Net net = i % 2 == 0 ? Net::any : Net::positive;
    const auto risk = exact_risk(Sigma);
    Portfolio swap;
    Selector(at_most(k, net), *risk).run(*risk, 0, view(mu), swap);
    const Portfolio found = found_without_proof(*risk, mu, k, net);
    EXPECT_LE(static_cast<Index>(found.support.size()), k);
    EXPECT_GE(found.sharpe, swap.sharpe);
    AllSupports all(Sigma, mu, net == Net::positive);
    EXPECT_LE(found.sharpe, std::sqrt(all.best(k)) * (1.0 + 1e-9));
  }
}

TEST(Exact, FindingWithoutAProofCanBeInterrupted) {
  Problems problems(5);
  const MatrixXd Sigma = random_covariance(problems, 12);
  const VectorXd mu = problems.vector(12);
  const auto risk = exact_risk(Sigma);
  Portfolio out;
  ExactSelector selector(at_most(4, Net::any), {}, 12);
  EXPECT_THROW(selector.find(*risk, 0, view(mu), nullptr, out, [] { return true; }), Interrupted);
}

// Where every exchange of names takes its time, each of them asks.
TEST(Exact, ItsSearchAsksBetweenExchanges) {
  const Index n = 120, k = 40;
  Problems problems(8);
  const MatrixXd Sigma = sharpen::testing::naive_covariance(problems.returns(90, n), 0.1);
  const VectorXd mu = problems.vector(n);
  const auto risk = exact_risk(Sigma);
  ProofProblem problem;
  read_problem(*risk, 0, view(mu), rows_of_net(n, false), k, problem);
  ProofSearch search(problem, false);
  Support K(static_cast<std::size_t>(k));
  std::iota(K.begin(), K.end(), Index{0});
  const double before = search.value(K);
  int asked = 0;
  EXPECT_THROW(search.exchange(K, [&] { return ++asked > 3; }), Interrupted);
  EXPECT_EQ(asked, 4);
  EXPECT_GT(search.value(K), before);  // K is as far as it has come
}

// A problem of a size that takes some tens of nodes.
struct Middling {
  explicit Middling(unsigned seed, Index n = 90) {
    Problems problems(seed);
    Sigma = sharpen::testing::naive_covariance(problems.returns(60, n), 0.1);
    mu = problems.vector(n);
    risk = exact_risk(Sigma);
  }
  MatrixXd Sigma;
  VectorXd mu;
  std::unique_ptr<risk::Risk> risk;
};

TEST(Exact, HasTheSameBitsForAnyNumberOfThreads) {
  const Middling problem(3);
  for (const Index nodes : {1, 20, 60}) {
    const Proved one = prove(*problem.risk, problem.mu, 8, Net::positive, unhurried(nodes), 1);
    for (const int threads : {2, 7}) {
      const Proved many =
          prove(*problem.risk, problem.mu, 8, Net::positive, unhurried(nodes), threads);
      EXPECT_EQ(one.portfolio.weights, many.portfolio.weights);
      EXPECT_EQ(one.proof.bound, many.proof.bound);
      EXPECT_EQ(one.proof.nodes, many.proof.nodes);
      EXPECT_EQ(one.proof.end, many.proof.end);
    }
  }
}

TEST(Exact, SaysWhyItStopped) {
  const Middling problem(3);
  const Proved all = prove(*problem.risk, problem.mu, 8, Net::any, unhurried());
  ASSERT_EQ(all.proof.end, ProofEnd::optimal);
  ASSERT_GT(all.proof.nodes, 20) << "too easy to be stopped";
  const Proved few = prove(*problem.risk, problem.mu, 8, Net::any, unhurried(3));
  EXPECT_EQ(few.proof.end, ProofEnd::nodes);
  EXPECT_LE(few.proof.nodes, 3);
  EXPECT_GE(few.proof.bound, all.portfolio.sharpe);
  ProofSettings loose = unhurried();
  loose.gap = 0.2;
  const Proved near = prove(*problem.risk, problem.mu, 8, Net::any, loose);
  EXPECT_EQ(near.proof.end, ProofEnd::gap);
  EXPECT_LE(near.proof.gap(), 0.2 * (1.0 + 1e-9));
  EXPECT_LT(near.proof.nodes, all.proof.nodes);
}

TEST(Exact, GivesWhatItHasWhenItIsInterrupted) {
  const Middling problem(4);
  const double best = prove(*problem.risk, problem.mu, 8, Net::any, unhurried()).portfolio.sharpe;
  Problems random(5);
  for (int i = 0; i < 12; ++i) {
    std::atomic<int> asked = 0;
    const int patience = static_cast<int>(random.below(400));
    const Stop stop = [&] { return ++asked > patience; };
    const Proved found =
        prove(*problem.risk, problem.mu, 8, Net::any, unhurried(), 2, nullptr, stop);
    EXPECT_TRUE(found.portfolio.outcome.solved());
    EXPECT_GE(found.proof.bound, best * (1.0 - kTolerance));
    EXPECT_LE(found.portfolio.sharpe, best * (1.0 + 1e-7));
    EXPECT_NEAR(sharpe_of(problem.Sigma, problem.mu, found.portfolio), found.portfolio.sharpe,
                1e-12);
  }
  ProofSettings walk = unhurried();
  walk.answers_when_stopped = false;
  EXPECT_THROW(prove(*problem.risk, problem.mu, 8, Net::any, walk, 1, nullptr, [] { return true; }),
               Interrupted);
}

TEST(Exact, HasABoundHoweverEarlyTheTimeIsOver) {
  const Middling problem(5, 40);
  ProofSettings hurried{.gap = 0.0, .seconds = 1e-9, .nodes = 0, .answers_when_stopped = false};
  const Proved found = prove(*problem.risk, problem.mu, 8, Net::positive, hurried);
  EXPECT_EQ(found.proof.end, ProofEnd::time);
  EXPECT_TRUE(std::isfinite(found.proof.bound));
  EXPECT_GE(found.proof.bound, found.portfolio.sharpe);
}

TEST(Exact, BoundsBeforeTheFirstStepAreNotAboveTheSharpeRatioOfAllNames) {
  const Middling problem(6, 60);
  const ProofSettings hurried{.gap = 0.0, .seconds = 1e-9, .nodes = 0};
  for (const Net net : {Net::any, Net::positive}) {
    const Proved found = prove(*problem.risk, problem.mu, 10, net, hurried);
    const double full = full_sharpe(*problem.risk, 0, sharpen::testing::view(problem.mu), net);
    EXPECT_LE(found.proof.bound, full * (1.0 + 1e-9));
  }
}

// Fewer returns than names, and no shrinkage: what is added to the diagonal is rounding.
TEST(Exact, ProvesWhatFewNamesReachUnderASingularCovariance) {
  Problems problems(7);
  const Index n = 12, k = 3;
  const MatrixXd Sigma = sharpen::testing::naive_covariance(problems.returns(9, n), 0.0);
  const VectorXd mu = problems.vector(n);
  const Proved found = prove(*exact_risk(Sigma), mu, k, Net::any, unhurried());
  EXPECT_GT(found.portfolio.outcome.jitter, 0.0);
  EXPECT_EQ(found.proof.end, ProofEnd::optimal) << found.proof.gap();
  const double best = std::sqrt(AllSupports(Sigma, mu, false).best(k));
  EXPECT_NEAR(found.portfolio.sharpe, best, 1e-6 * best);
  EXPECT_GE(found.proof.bound, best * (1.0 - 1e-9));
}

TEST(Exact, KnowsWhenNothingIsWorthHolding) {
  Problems problems(6);
  const MatrixXd Sigma = random_covariance(problems, 8);
  const auto risk = exact_risk(Sigma);
  const Proved silent = prove(*risk, VectorXd::Zero(8), 3, Net::positive, unhurried());
  EXPECT_EQ(silent.proof.end, ProofEnd::optimal);
  EXPECT_EQ(silent.proof.bound, 0.0);
  const VectorXd down = -VectorXd::Ones(8);
  const Proved one = prove(*risk, down, 1, Net::positive, unhurried());
  EXPECT_EQ(one.portfolio.outcome.status, Status::no_signal);
  EXPECT_EQ(one.proof.end, ProofEnd::optimal);
  EXPECT_LE(one.proof.bound, 1e-6 / std::sqrt(Sigma.diagonal().minCoeff()));
  VectorXd broken = down;
  broken[3] = std::nan("");
  EXPECT_EQ(prove(*risk, broken, 2, Net::any, unhurried()).portfolio.outcome.status,
            Status::invalid_input);
}

TEST(Exact, RefusesSettingsThatAreNotInOrder) {
  Problems problems(7);
  const auto risk = exact_risk(random_covariance(problems, 5));
  const VectorXd mu = VectorXd::Ones(5);
  EXPECT_THROW(prove(*risk, mu, 6, Net::any, unhurried()), InputError);
  EXPECT_THROW(prove(*risk, mu, 0, Net::any, unhurried()), InputError);
  ProofSettings settings;
  settings.gap = -0.1;
  EXPECT_THROW(prove(*risk, mu, 2, Net::any, settings), InputError);
}

// Columns that are nearly copies of each other, to any degree.
MatrixXd nearly_singular(Problems& problems, Index n, double noise) {
  MatrixXd X = problems.returns(3 * n, n);
  for (Index j = 1; j < n; j += 2)
    X.col(j) = X.col(j - 1) + noise * 0.01 * problems.vector(X.rows());
  const sharpen::testing::RowMatrix rows = X;
  return sharpen::testing::naive_covariance(rows, 0.0);
}

TEST(Exact, IsNeverBelowWhatIsReachedNearSingularity) {
  Problems problems(8);
  for (int i = 0; i < 60; ++i) {
    const Index n = 4 + problems.below(8), k = 1 + problems.below(n);
    const double noise = std::pow(10.0, -static_cast<double>(problems.below(9)));
    const MatrixXd Sigma = nearly_singular(problems, n, noise);
    const auto risk = exact_risk(Sigma);
    const VectorXd mu = 0.01 * problems.vector(n);
    const Net net = i % 2 == 0 ? Net::any : Net::positive;
    const Proved found = prove(*risk, mu, k, net, unhurried(50));
    SCOPED_TRACE(::testing::Message() << i << ": n = " << n << ", k = " << k << ", " << noise);
    // Any support, by the same measure.
    SelectSettings settings;
    settings.k = k;
    settings.net = net;
    settings.sizing.kind = layer::Sizing::gross;
    Selector selector(settings, *risk);
    AllSupports all(Sigma, mu, net == Net::positive);
    all.best(k);
    Portfolio other;
    selector.run_on(*risk, 0, view(mu), all.best_support, other);
    EXPECT_GE(found.proof.bound, other.sharpe);
    EXPECT_GE(found.proof.bound, found.portfolio.sharpe);
  }
}

}  // namespace
}  // namespace sharpen::select::testing
