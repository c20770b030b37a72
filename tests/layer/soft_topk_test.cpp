#include "sharpen/layer/soft_topk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "layer/kernels.hpp"
#include "sharpen/base/error.hpp"
#include "support/problems.hpp"

namespace sharpen::layer {
namespace {

using testing::Problems;
using Long = long double;

struct Mask {
  std::vector<double> p, v;
  TopKResult result;
};

Mask solve(const std::vector<double>& x, const TopKSettings& settings) {
  Mask mask;
  mask.p.resize(x.size());
  mask.v.resize(x.size());
  std::vector<double> scratch(x.size());
  mask.result = soft_topk_forward(settings, x, mask.p, mask.v, scratch);
  return mask;
}

// The naive reference: in extended precision, tau bisected on the difference of the two tails
// (entries outside and inside the k largest), which does not cancel.
struct Reference {
  std::vector<Long> p, v;
  Reference(const std::vector<double>& x, Index k, double beta) : p(x.size()), v(x.size()) {
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return x[a] > x[b]; });
    const auto kk = static_cast<std::size_t>(k);
    const Long c = 0.5L * (Long(x[order[kk - 1]]) + Long(x[order[kk]]));
    const auto excess = [&](Long u) {
      Long sum = 0;
      for (std::size_t i = x.size(); i-- > 0;) {
        const Long a = Long(beta) * (Long(x[order[i]]) - c) + u;
        sum += i >= kk ? 1 / (1 + std::exp(-a)) : -1 / (1 + std::exp(a));
      }
      return sum;
    };
    Long low = -1e8L, high = 1e8L;
    for (int i = 0; i < 200; ++i) {
      const Long u = 0.5L * (low + high);
      (excess(u) > 0 ? high : low) = u;
    }
    const Long u = 0.5L * (low + high);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Long a = Long(beta) * (Long(x[i]) - c) + u;
      const Long e = std::exp(-std::abs(a));
      p[i] = (a < 0 ? e : 1) / (1 + e);
      v[i] = Long(beta) * e / ((1 + e) * (1 + e));
    }
  }
};

std::vector<double> random_scores(Problems& random, Index n) {
  std::vector<double> x(static_cast<std::size_t>(n));
  double norm2 = 0;
  for (double& xi : x) {
    xi = std::abs(random.normal());
    norm2 += xi * xi;
  }
  for (double& xi : x) xi *= std::sqrt(static_cast<double>(n) / norm2);
  return x;
}

TEST(SoftTopK, KnownAnswer) {
  const std::vector<double> x = {-4.5951, -2.1972, -3.1781, 0, -1.1527};
  for (const TopKSolver solver : {TopKSolver::newton, TopKSolver::bisection}) {
    const Mask mask = solve(x, {3, 1.0, solver});
    EXPECT_NEAR(mask.result.tau, 2.830074, 5e-7);
    const double want[] = {.1462, .6531, .4139, .9443, .8426};
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(mask.p[i], want[i], 5e-5);
  }
}

TEST(SoftTopK, MaskSumsToKAndKeepsTheOrder) {
  Problems random(1);
  for (int round = 0; round < 300; ++round) {
    const Index n = 2 + random.below(300);
    const Index k = 1 + random.below(n - 1);
    const double beta = std::pow(10.0, -1.0 + 0.05 * static_cast<double>(random.below(101)));
    const std::vector<double> x = random_scores(random, n);
    const Mask mask = solve(x, {k, beta});
    ASSERT_TRUE(mask.result.converged) << "n " << n << " k " << k << " beta " << beta;
    ASSERT_LE(mask.result.iterations, 8) << "n " << n << " k " << k << " beta " << beta;
    const double total = std::accumulate(mask.p.begin(), mask.p.end(), 0.0);
    ASSERT_NEAR(total, static_cast<double>(k), 1e-10 * static_cast<double>(k));
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_GE(mask.p[i], 0.0);
      ASSERT_LE(mask.p[i], 1.0);
      for (std::size_t j = 0; j < x.size(); ++j)
        ASSERT_TRUE(!(x[i] > x[j]) || mask.p[i] >= mask.p[j]);
    }
  }
}

// Relative precision of p and v themselves, down to values that a residual of 1e-10 k says
// nothing about: k = 1 and beta = 30 is among them.
TEST(SoftTopK, AgreesWithExtendedPrecisionEvenWhereSaturated) {
  Problems random(2);
  for (const double beta : {0.1, 1.0, 5.0, 30.0, 100.0, 1e3, 1e4})
    for (const Index n : {2, 3, 8, 47, 200})
      for (const Index k : {Index{1}, std::max<Index>(1, n / 10), n / 2, n - 1}) {
        const std::vector<double> x = random_scores(random, n);
        const Mask mask = solve(x, {k, beta});
        const Reference reference(x, k, beta);
        for (std::size_t i = 0; i < x.size(); ++i) {
          // a_i = beta x_i is only known to beta eps.
          const Long tolerance = 1e-12L + 4e-16L * Long(beta) * 4;
          const auto near = [&](double got, Long want, const char* what) {
            const Long allowed = want < 1e-290L ? 1e-280L : tolerance * want;
            ASSERT_LE(std::abs(Long(got) - want), allowed)
                << what << " n " << n << " k " << k << " beta " << beta << " entry " << i;
          };
          near(mask.p[i], reference.p[i], "p");
          near(mask.v[i], reference.v[i], "v");
        }
      }
}

// dp_i/dx_j = v_i (delta_ij - v_j / sum v), in extended precision.
TEST(SoftTopK, VjpAgreesWithExtendedPrecisionForKOneAndBetaThirty) {
  Problems random(3);
  for (int round = 0; round < 200; ++round) {
    const Index n = 2 + random.below(100);
    const std::vector<double> x = random_scores(random, n);
    const Mask mask = solve(x, {1, 30.0});
    const Reference reference(x, 1, 30.0);
    const Eigen::VectorXd g = random.vector(n);
    Eigen::VectorXd got(n);
    soft_topk_vjp(mask.v, testing::view(g), testing::view(got));
    Long total = 0, along = 0, size = 0;
    for (Index i = 0; i < n; ++i) {
      total += reference.v[static_cast<std::size_t>(i)];
      along += reference.v[static_cast<std::size_t>(i)] * Long(g[i]);
    }
    for (Index i = 0; i < n; ++i)
      size = std::max(
          size, std::abs(reference.v[static_cast<std::size_t>(i)] * (Long(g[i]) - along / total)));
    for (Index i = 0; i < n; ++i) {
      const Long want = reference.v[static_cast<std::size_t>(i)] * (Long(g[i]) - along / total);
      ASSERT_LE(std::abs(Long(got[i]) - want), 1e-10L * size) << "round " << round;
    }
  }
}

TEST(SoftTopK, TiesShareTheMask) {
  for (const double beta : {0.1, 5.0, 1e4}) {
    const Mask mask = solve({1, 1, 1, 1}, {2, beta});
    for (const double p : mask.p) EXPECT_NEAR(p, 0.5, 1e-14);
    const Mask partly = solve({3, 1, 1, 0}, {2, beta});
    EXPECT_DOUBLE_EQ(partly.p[1], partly.p[2]);
    EXPECT_NEAR(std::accumulate(partly.p.begin(), partly.p.end(), 0.0), 2.0, 2e-10);
  }
  const Mask sharp = solve({3, 1, 1, 0}, {2, 1e4});
  EXPECT_NEAR(sharp.p[1], 0.5, 1e-12);
}

// The caller's scratch may be longer than n, and hold anything.
TEST(SoftTopK, ReadsNothingOfALongScratch) {
  for (const double junk : {std::nan(""), 1e300, -1e300}) {
    const std::vector<double> x = {3, 1, 1, 0.5, 1, 0};
    std::vector<double> p(6), v(6), scratch(50, junk);
    const TopKResult result = soft_topk_forward({2, 5.0}, x, p, v, scratch);
    const Mask alone = solve(x, {2, 5.0});
    EXPECT_TRUE(result.converged);
    EXPECT_EQ(p, alone.p);
    EXPECT_EQ(v, alone.v);
  }
}

TEST(SoftTopK, NearlyTiedScoresAreSplitExactly) {
  const double next = std::nextafter(1.0, 2.0);
  const Mask mask = solve({1.0, next, 0.2, 0.1}, {1, 1e6});
  EXPECT_TRUE(mask.result.converged);
  EXPECT_GE(mask.p[1], mask.p[0]);
}

TEST(SoftTopK, SaturatedMaskHasZeroGradientNotNaN) {
  const std::vector<double> x = {3, 2, 1, 0};
  const Mask mask = solve(x, {2, 1e4});
  EXPECT_EQ(mask.p, (std::vector<double>{1, 1, 0, 0}));
  std::vector<double> g = {1, -2, 3, -4}, out(4, 7.0);
  soft_topk_vjp(mask.v, g, out);
  for (const double d : out) EXPECT_EQ(d, 0.0);
}

TEST(SoftTopK, AllKeptGivesOnesAndZeroGradient) {
  const Mask mask = solve({3, 2, 1}, {3, 5.0});
  EXPECT_EQ(mask.p, (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(mask.v, (std::vector<double>{0, 0, 0}));
}

TEST(SoftTopK, ThirtyTwoBisectionsComeCloseToNewton) {
  Problems random(4);
  for (const double beta : {0.1, 1.0, 5.0, 20.0, 100.0}) {
    const std::vector<double> x = random_scores(random, 100);
    const Mask newton = solve(x, {10, beta}), paper = solve(x, {10, beta, TopKSolver::bisection});
    EXPECT_EQ(paper.result.iterations, 33);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(newton.p[i], paper.p[i], 1e-6);
  }
}

TEST(SoftTopK, BothKernelSetsAgree) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "only x86-64 has two kernel sets";
#endif
  Problems random(5);
  for (const Index n : {1, 3, 4, 5, 64, 201}) {
    const std::vector<double> x = random_scores(random, n);
    std::vector<double> p(x.size()), v(x.size()), q(x.size()), w(x.size());
    for (const double beta : {0.1, 5.0, 300.0}) {
      const double a = kPortableKernels.sigmoids(x.data(), n, beta, 1.0, 0.3, p.data(), v.data());
      const double b = kernels().sigmoids(x.data(), n, beta, 1.0, 0.3, q.data(), w.data());
      EXPECT_NEAR(a, b, 1e-13 * a);
      for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_NEAR(p[i], q[i], 1e-12 * q[i]);
        const Long arg = Long(beta) * (Long(x[i]) - 1.0L) + 0.3L;
        const Long want = 1 / (1 + std::exp(-arg));
        EXPECT_LE(std::abs(Long(p[i]) - want), 4e-13L * want);
      }
    }
  }
}

TEST(SoftTopK, SettingsAreChecked) {
  const auto message = [](const TopKSettings& settings) -> std::string {
    try {
      settings.validate(5);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({0}), "k = 0 is outside [1, 5]");
  EXPECT_EQ(message({6}), "k = 6 is outside [1, 5]");
  EXPECT_NE(message({1, 0.0}).find("beta = 0 is outside"), std::string::npos);
  EXPECT_NE(message({1, std::nan("")}).find("beta = nan"), std::string::npos);
  EXPECT_EQ(message({5, 1e4}), "");
}

}  // namespace
}  // namespace sharpen::layer
