// greedy and swap against the plain reference, on both faces and with any net position.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include "select/naive.hpp"
#include "select/search.hpp"

namespace sharpen::select::testing {
namespace {

using layer::Net;
using sharpen::testing::Problems;

constexpr std::array kNets{Net::positive, Net::any};

struct Case {
  MatrixXd Sigma;
  VectorXd mu;
  Index k;
  Net net;
};

// Problems of up to `most` assets, half of them on the face, a tenth with all mu negative.
template <class Check>
void for_random_problems(unsigned seed, int count, Index most, const Check& check) {
  Problems problems(seed);
  for (int round = 0; round < count; ++round) {
    const Index n = 2 + problems.below(most - 1);
    Case c{random_covariance(problems, n), {}, 1 + problems.below(n), kNets[round % 3 == 0]};
    c.mu = problems.signal(c.Sigma, round % 2 == 0);
    if (round % 10 == 9) c.mu = -c.mu.cwiseAbs();
    SCOPED_TRACE(::testing::Message() << "round " << round << ", n = " << n << ", k = " << c.k);
    check(c);
  }
}

TEST(Greedy, EqualsTheNaiveForwardSelection) {
  for_random_problems(1, 300, 40, [](const Case& c) {
    if (c.k == 1 && c.mu.maxCoeff() <= 0.0 && c.net == Net::positive) return;  // cash
    const Portfolio p = run(c.Sigma, c.mu, c.k, Optimizer::greedy, c.net);
    EXPECT_EQ(p.support, naive_greedy(c.Sigma, c.mu, c.k, c.net));
    const double value = naive_value(c.Sigma, c.mu, p.support, c.net);
    EXPECT_NEAR(*p.value, value, 1e-9 * value);
    EXPECT_NEAR(p.sharpe, std::sqrt(value), 1e-9 * std::sqrt(value));
    EXPECT_NEAR(p.sharpe, sharpe_of(c.Sigma, c.mu, p), 1e-12 * p.sharpe);
  });
}

TEST(Swap, LeavesNoExchangeThatWouldHelp) {
  for_random_problems(2, 300, 40, [](const Case& c) {
    const Portfolio p = run(c.Sigma, c.mu, c.k, Optimizer::swap, c.net);
    if (c.k == 1 && c.mu.maxCoeff() <= 0.0 && c.net == Net::positive) {
      EXPECT_EQ(p.outcome.status, Status::no_signal);
      return;
    }
    ASSERT_TRUE(p.outcome.solved());
    ASSERT_EQ(static_cast<Index>(p.support.size()), c.k);
    const double value = naive_value(c.Sigma, c.mu, p.support, c.net);
    EXPECT_NEAR(*p.value, value, 1e-9 * value);
    EXPECT_LE(best_neighbour(c.Sigma, c.mu, p.support, c.net), value * (1 + 1e-9));
  });
}

// Enough exchanges that W is rebuilt several times, and columns that fill many blocks.
TEST(Swap, SlowLeavesNoExchangeThatWouldHelpInALargerMarket) {
  Problems problems(3);
  constexpr Index n = 200, k = 70;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // The search is the same, but the plain check of all 9,100 pairs takes minutes under sanitizers.
  constexpr Index every = 61;
#else
  constexpr Index every = 1;
#endif
  for (const bool positive : {true, false}) {
    // Correlations without structure, where greedy choices age badly.
    const auto F = problems.matrix(n, n + n / 10);
    const MatrixXd Sigma = F * F.transpose() / static_cast<double>(n + n / 10);
    const VectorXd mu = problems.signal(Sigma, positive);
    const Portfolio p = run(Sigma, mu, k, Optimizer::swap);
    const Portfolio start = run(Sigma, mu, k, Optimizer::greedy);
    EXPECT_GT(*p.value, *start.value * 1.001);
    EXPECT_LE(best_neighbour(Sigma, mu, p.support, Net::positive, every), *p.value * (1 + 1e-9));
  }
}

// Where that matrix would be large, it is read again instead.
TEST(Swap, IsTheSameWithoutACopyOfTheCovarianceOfItsNames) {
  Problems problems(4);
  constexpr Index n = 120, k = 40;
  const auto F = problems.matrix(n, n + n / 10);
  const MatrixXd Sigma = F * F.transpose() / static_cast<double>(n + n / 10);
  const auto risk = exact_risk(Sigma);
  std::vector<double> scratch(at(risk->scratch_size()));
  for (int round = 0; round < 5; ++round) {
    const VectorXd mu = problems.signal(Sigma, true);
    const Signal signal{.m = sharpen::testing::view(mu)};
    Search kept(n, k, true), read(n, k, true, false);
    kept.forward(signal, *risk, 0, scratch, {});
    const std::vector<Index> before(kept.K().begin(), kept.K().end());
    EXPECT_TRUE(kept.exchange({}));
    read.forward(signal, *risk, 0, scratch, {});
    EXPECT_TRUE(read.exchange({}));
    const std::vector<Index> after(kept.K().begin(), kept.K().end());
    EXPECT_NE(after, before);
    EXPECT_EQ(std::vector<Index>(read.K().begin(), read.K().end()), after);
  }
}

// A pass over W takes seconds where k is in the thousands.
TEST(Swap, CanBeStoppedWithinAPassOverTheMarket) {
  constexpr Index n = 640, k = 2, blocks = 20;
  Problems problems(5);
  const VectorXd mu = problems.vector(n);
  const auto risk = exact_risk(MatrixXd::Identity(n, n) + 0.1 * mu * mu.transpose());
  Selector selector({{.k = k}, Optimizer::swap}, *risk);
  Portfolio found;
  Index asked = 0;
  selector.run(*risk, 0, sharpen::testing::view(mu), found, [&] { return ++asked < 0; });
  EXPECT_GE(asked, blocks);
}

TEST(Swap, IsNeverWorseThanGreedyNorBetterThanTheBestSubset) {
  int optimal = 0, total = 0;
  for_random_problems(4, 200, 10, [&](const Case& c) {
    const Portfolio greedy = run(c.Sigma, c.mu, c.k, Optimizer::greedy, c.net);
    const Portfolio swap = run(c.Sigma, c.mu, c.k, Optimizer::swap, c.net);
    const double best = best_of_all(c.Sigma, c.mu, c.k, c.net);
    if (!swap.outcome.solved()) return;
    EXPECT_GE(*swap.value, *greedy.value * (1 - 1e-12));
    EXPECT_LE(*swap.value, best * (1 + 1e-9));
    optimal += *swap.value >= best * (1 - 1e-9);
    ++total;
  });
  EXPECT_GE(optimal, total * 9 / 10);  // it is a local search, but a good one
}

TEST(Swap, ValuesTheFaceByTheFaceAndNotByCAlone) {
  Problems problems(5);
  for (int round = 0; round < 20; ++round) {
    const MatrixXd Sigma = random_covariance(problems, 12);
    const VectorXd mu = -problems.vector(12).cwiseAbs();
    const Portfolio p = run(Sigma, mu, 4, Optimizer::swap);
    EXPECT_EQ(p.outcome.status, Status::neutral_face);
    EXPECT_TRUE(p.outcome.neutral_first);
    double net = 0.0, gross = 0.0;
    for (const double w : p.weights) net += w, gross += std::abs(w);
    EXPECT_NEAR(net, 0.0, 1e-12);
    EXPECT_NEAR(gross, 1.0, 1e-12);
    EXPECT_LE(best_neighbour(Sigma, mu, p.support, Net::positive), *p.value * (1 + 1e-9));
  }
}

// mu = -1 + tiny noise: C - B^2/A keeps no digit of what matters.
TEST(Search, KeepsItsDigitsWhereTheSignalIsNearlyConstant) {
  Problems problems(6);
  const MatrixXd Sigma = random_covariance(problems, 30);
  const VectorXd noise = problems.vector(30);
  // Dyadic noise, so that mu holds it exactly.
  const VectorXd m = (noise * 1024.0).array().round().matrix() * std::ldexp(1.0, -40);
  const VectorXd mu = m.array() - 1.0;
  for (const Optimizer optimizer : {Optimizer::greedy, Optimizer::swap}) {
    const Portfolio p = run(Sigma, mu, 6, optimizer);
    ASSERT_EQ(p.outcome.status, Status::neutral_face);
    // On the face the level does not matter: the same problem, shifted to where it is harmless.
    const auto on_face = [&](const Support& K) {
      return naive_value(Sigma, m.array() - 1e-6, K, Net::positive);
    };
    EXPECT_NEAR(*p.value, on_face(p.support), 1e-6 * *p.value);
    if (optimizer == Optimizer::swap) {
      EXPECT_LE(best_neighbour(Sigma, m.array() - 1e-6, p.support, Net::positive),
                on_face(p.support) * (1 + 1e-6));
    }
  }
}

TEST(Search, SurvivesANearlySingularCovariance) {
  Problems problems(7);
  for (int round = 0; round < 10; ++round) {
    // Forty assets spanned by eight returns each: rank 8 and a whisper of noise.
    MatrixXd Sigma = MatrixXd::Identity(40, 40) * 1e-12;
    const auto F = problems.matrix(40, 8);
    Sigma += F * F.transpose();
    const VectorXd mu = problems.vector(40);
    const Portfolio greedy = run(Sigma, mu, 12, Optimizer::greedy);
    const Portfolio swap = run(Sigma, mu, 12, Optimizer::swap);
    ASSERT_TRUE(greedy.outcome.solved());
    ASSERT_TRUE(swap.outcome.solved());
    EXPECT_GE(swap.sharpe, greedy.sharpe * (1 - 1e-3));
    for (const double w : swap.weights) EXPECT_TRUE(std::isfinite(w));
  }
}

TEST(Search, DoesNotHoldAnAssetAndItsCopy) {
  Problems problems(8);
  const MatrixXd base = random_covariance(problems, 10);
  const VectorXd signal = problems.vector(10);
  // Assets 10..19 are 0..9 again; the covariance is singular and gets a jitter.
  MatrixXd Sigma(20, 20);
  Sigma << base, base, base, base;
  VectorXd mu(20);
  mu << signal, signal;
  for (const Optimizer optimizer : {Optimizer::greedy, Optimizer::swap}) {
    const Portfolio p = run(Sigma, mu, 6, optimizer);
    const Portfolio once = run(base, signal, 6, optimizer);
    EXPECT_TRUE(p.outcome.jittered());
    std::set<Index> names;
    for (const Index j : p.support) names.insert(j % 10);
    EXPECT_EQ(names.size(), p.support.size());
    EXPECT_EQ(p.support, once.support) << "ties go to the lower column";
    EXPECT_NEAR(p.sharpe, once.sharpe, 1e-6 * once.sharpe);
  }
}

TEST(Search, GivesTiesToTheLowerColumn) {
  for (const Index n : {5, 33, 70}) {
    const MatrixXd Sigma = MatrixXd::Constant(n, n, 0.3) + 0.7 * MatrixXd::Identity(n, n);
    for (const double sign : {1.0, -1.0}) {
      for (const Net net : kNets) {
        const VectorXd mu = VectorXd::Constant(n, sign * 0.1);
        for (const Optimizer o : {Optimizer::greedy, Optimizer::swap, Optimizer::symmetric}) {
          const Portfolio p = run(Sigma, mu, 3, o, net);
          const bool cash = sign < 0 && net == Net::positive;
          EXPECT_EQ(p.outcome.status, cash ? Status::no_signal : Status::ok);
          EXPECT_EQ(p.support, cash ? Support{} : (Support{0, 1, 2})) << name(o);
        }
      }
    }
  }
  // Distinct signals, each held by two assets: the first of every pair wins.
  const MatrixXd I = MatrixXd::Identity(6, 6);
  VectorXd mu(6);
  mu << 1, 3, 2, 2, 3, 1;
  for (const Optimizer o :
       {Optimizer::oscar, Optimizer::symmetric, Optimizer::greedy, Optimizer::swap}) {
    EXPECT_EQ(run(I, mu, 3, o).support, (Support{1, 2, 4})) << name(o);
    EXPECT_EQ(run(I, mu, 1, o).support, (Support{1})) << name(o);
    EXPECT_EQ(run(I, mu, 5, o).support, (Support{0, 1, 2, 3, 4})) << name(o);
  }
}

VectorXd permuted(const VectorXd& x, const Support& order) { return x(order); }

TEST(Permutation, MovesTheSupportOfSymmetricGreedyAndSwapAlong) {
  Problems problems(9);
  for (int round = 0; round < 30; ++round) {
    const Index n = 40, k = 8;
    const MatrixXd Sigma = random_covariance(problems, n);
    const VectorXd mu = problems.signal(Sigma, round % 2 == 0);
    Support order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    for (Index i = n - 1; i > 0; --i)
      std::swap(order[static_cast<std::size_t>(i)],
                order[static_cast<std::size_t>(problems.below(i + 1))]);
    const MatrixXd moved = Sigma(order, order);
    for (const Optimizer o : {Optimizer::symmetric, Optimizer::greedy, Optimizer::swap}) {
      const Portfolio p = run(Sigma, mu, k, o);
      const Portfolio q = run(moved, permuted(mu, order), k, o);
      Support back;
      for (const Index j : q.support) back.push_back(order[static_cast<std::size_t>(j)]);
      std::sort(back.begin(), back.end());
      EXPECT_EQ(back, p.support) << name(o);
      EXPECT_NEAR(q.sharpe, p.sharpe, 1e-10 * p.sharpe);
      for (Index j = 0; j < n; ++j)
        EXPECT_NEAR(q.weights[static_cast<std::size_t>(j)],
                    p.weights[static_cast<std::size_t>(order[static_cast<std::size_t>(j)])], 1e-9);
    }
  }
}

TEST(Permutation, ChangesWhatOscarHolds) {
  Problems problems(10);
  const Index n = 40;
  const MatrixXd Sigma = random_covariance(problems, n);
  const VectorXd mu = problems.signal(Sigma, true);
  Support reversed(static_cast<std::size_t>(n));
  for (Index j = 0; j < n; ++j) reversed[static_cast<std::size_t>(j)] = n - 1 - j;
  const Portfolio p = run(Sigma, mu, 8, Optimizer::oscar);
  const Portfolio q = run(Sigma(reversed, reversed), permuted(mu, reversed), 8, Optimizer::oscar);
  Support back;
  for (const Index j : q.support) back.push_back(n - 1 - j);
  std::sort(back.begin(), back.end());
  EXPECT_NE(back, p.support);
}

}  // namespace
}  // namespace sharpen::select::testing
