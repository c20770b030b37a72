// The bound of every node, and its parts.
#include "select/proof_bound.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "select/proof_reference.hpp"
#include "select/proof_search.hpp"
#include "select/proof_tree.hpp"

namespace sharpen::select::testing {
namespace {

using sharpen::testing::Problems;
using sharpen::testing::view;

struct Small {
  Small(unsigned seed, Index n, Index k, bool net_positive) : problems(seed) {
    Sigma = random_covariance(problems, n);
    mu = problems.signal(Sigma, seed % 2 == 0);
    risk = exact_risk(Sigma);
    read_problem(*risk, 0, view(mu), rows_of_net(n, net_positive), k, problem);
  }
  Problems problems;
  MatrixXd Sigma;
  VectorXd mu;
  std::unique_ptr<risk::Risk> risk;
  ProofProblem problem;
};

// How many nodes of the tree have a bound, times `factor`, below the best support in them.
int violations(unsigned seed, double factor, int& nodes) {
  const Index n = 9 + seed % 4, k = 2 + seed % 5;
  const bool net_positive = seed % 3 == 0;
  Small small(seed, n, k, net_positive);
  AllSupports all(small.Sigma, small.mu, net_positive);
  int count = 0;
  ProofTreeSettings settings;
  settings.net_positive = net_positive;
  settings.tolerance = 1e-7;
  settings.seen = [&](const ProofNode& node) {
    const double best = all.best(k, node.in, node.open) / small.problem.value_unit;
    ++nodes;
    count += !(factor * node.bound >= best * (1.0 - 1e-10));
  };
  const Threads one(1);
  ProofTree tree(small.problem, settings, one);
  // Nothing is reached yet, so that nothing is left out early.
  tree.run(0.0, [&](std::span<const Index> K) -> std::optional<double> {
    ProofSearch search(small.problem, net_positive);
    return search.value(K);
  });
  const double best = all.best(k) / small.problem.value_unit;
  count += !(factor * tree.bound() >= best * (1.0 - 1e-10));
  return count;
}

TEST(ProofBound, IsAboveTheBestSupportOfEveryNode) {
  int nodes = 0;
  for (unsigned seed = 1; seed <= 50; ++seed) EXPECT_EQ(violations(seed, 1.0, nodes), 0) << seed;
  EXPECT_GT(nodes, 100);
}

TEST(ProofBound, ThatIsFalsifiedIsCaught) {
  int nodes = 0, caught = 0;
  for (unsigned seed = 1; seed <= 10; ++seed) caught += violations(seed, 0.98, nodes) > 0;
  EXPECT_EQ(caught, 10);
}

// At any point of the path, by the definition.
TEST(ProofBound, IsWhatItsFormulaSays) {
  Small small(3, 7, 3, false);
  ProofBound bound(small.problem);
  Support open{0, 1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(bound.begin({}, open));
  ASSERT_TRUE(bound.cold());
  double before = bound.bound();
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(bound.step());
    if (bound.decrement() < 1.0) bound.raise(3.0);
    const ProofPoint& at = bound.point();
    MatrixXd Q = small.problem.Sigma;
    VectorXd m = small.problem.mu;
    std::vector<double> shares;
    for (Index j = 0; j < 7; ++j) {
      Q(j, j) -= at.d[static_cast<std::size_t>(j)];
      const double u = at.u[static_cast<std::size_t>(j)];
      m[j] -= u;
      shares.push_back(u * u / at.d[static_cast<std::size_t>(j)]);
    }
    std::sort(shares.rbegin(), shares.rend());
    const double plain = m.dot(Q.llt().solve(m)) + shares[0] + shares[1] + shares[2];
    EXPECT_NEAR(bound.bound(), plain, 1e-9 * plain);
  }
  EXPECT_LT(bound.bound(), before);
}

TEST(ProofSearch, PairsFindWhatSingleExchangesMiss) {
  int better = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Small small(seed, 14, 5, seed % 2 == 0);
    ProofSearch search(small.problem, seed % 2 == 0);
    Support K{0, 1, 2, 3, 4};
    const double single = search.exchange(K);
    EXPECT_NEAR(search.value(K), single, 1e-12 * single);
    const double pairs = search.run(K, 5, {});
    EXPECT_GE(pairs, single);
    EXPECT_NEAR(search.value(K), pairs, 1e-12 * pairs);
    better += pairs > single * (1.0 + 1e-9);
    AllSupports all(small.Sigma, small.mu, seed % 2 == 0);
    EXPECT_LE(pairs * small.problem.value_unit, all.best(5) * (1.0 + 1e-9));
  }
  EXPECT_GT(better, 0);
}

}  // namespace
}  // namespace sharpen::select::testing
