#include "sharpen/base/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "sharpen/base/error.hpp"

namespace sharpen {
namespace {

// tests/kat_vectors of Random123 1.14, the generator's authors' own.
TEST(Philox, GivesThePublishedKnownAnswers) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32_10({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, HandsOutTheBlocksOfItsSeedAndStreamInOrder) {
  constexpr std::uint64_t seed = 0x0123456789abcdef, stream = 0xfedcba9876543210;
  Random random(seed, stream);
  for (std::uint32_t block = 0; block < 3; ++block) {
    const PhiloxBlock words =
        philox4x32_10({block, 0, 0x76543210, 0xfedcba98}, {0x89abcdef, 0x01234567});
    EXPECT_EQ(random.bits(), words[0] | std::uint64_t{words[1]} << 32);
    EXPECT_EQ(random.bits(), words[2] | std::uint64_t{words[3]} << 32);
  }
}

TEST(Random, StreamsAndSeedsDiffer) {
  EXPECT_NE(Random(1, 0).bits(), Random(1, 1).bits());
  EXPECT_NE(Random(1, 0).bits(), Random(2, 0).bits());
  EXPECT_NE(Random(0, 1).bits(), Random(1, 0).bits());
  EXPECT_EQ(Random(7, 3).bits(), Random(7, 3).bits());
}

TEST(Random, UniformsStayInTheirIntervalsAndAreEven) {
  Random random(11);
  double sum = 0, least = 1, most = 0;
  constexpr int draws = 200000;
  for (int i = 0; i < draws; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ASSERT_EQ(u, std::ldexp(std::floor(std::ldexp(u, 53)), -53));
    const double v = random.uniform_open();
    ASSERT_GT(v, 0.0);
    ASSERT_LT(v, 1.0);
    ASSERT_EQ(std::fmod(std::ldexp(v, 53), 2.0), 1.0);  // an odd multiple: never 0, never 1
    sum += u;
    least = std::min(least, u);
    most = std::max(most, u);
  }
  EXPECT_NEAR(sum / draws, 0.5, 5 * std::sqrt(1.0 / 12 / draws));
  EXPECT_LT(least, 1e-4);
  EXPECT_GT(most, 1 - 1e-4);
}

TEST(NormalQuantile, InvertsTheDistributionFunction) {
  // Phi through the C library's erfc, an independent witness.
  const auto phi = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  for (double p : {1e-300, 1e-100, 1e-30, 1e-16, 1e-12, 1e-6, 1e-3, 0.02, 0.0749, 0.0751, 0.2,
                   0.4999, 0.5, 0.51, 0.7, 0.9249, 0.9251, 0.99, 0.999999}) {
    const double x = normal_quantile(p);
    // An error of eps in x moves Phi by about x eps relative to the tail: allow for it.
    const double tail = std::min(p, 1 - p);
    EXPECT_NEAR(phi(x), p, tail * 1e-14 * (1 + x * x)) << "p = " << p;
  }
  EXPECT_EQ(normal_quantile(0.5), 0.0);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-15);
  EXPECT_NEAR(normal_quantile(1e-10), -6.361340902404056, 1e-14);
  EXPECT_NEAR(normal_quantile(5e-324), -38.46740561714434, 1e-10);
}

TEST(NormalQuantile, IsOddAndTotal) {
  for (double p : {0.25, 0.0625, 0.03125, 0x1p-20})
    EXPECT_EQ(normal_quantile(p), -normal_quantile(1 - p));
  EXPECT_EQ(normal_quantile(0.0), -INFINITY);
  EXPECT_EQ(normal_quantile(1.0), INFINITY);
  EXPECT_TRUE(std::isnan(normal_quantile(-0.1)));
  EXPECT_TRUE(std::isnan(normal_quantile(1.1)));
  EXPECT_TRUE(std::isnan(normal_quantile(NAN)));
}

TEST(Random, NormalsHaveTheMomentsOfTheStandardNormal) {
  Random random(5);
  constexpr int draws = 400000;
  double m1 = 0, m2 = 0, m4 = 0;
  for (int i = 0; i < draws; ++i) {
    const double x = random.normal();
    m1 += x;
    m2 += x * x;
    m4 += x * x * x * x;
  }
  EXPECT_NEAR(m1 / draws, 0.0, 5 / std::sqrt(draws));
  EXPECT_NEAR(m2 / draws, 1.0, 5 * std::sqrt(2.0 / draws));
  EXPECT_NEAR(m4 / draws, 3.0, 5 * std::sqrt(96.0 / draws));
}

// These bits are a promise to every machine: the simulator's files depend on them.
TEST(Random, NormalsHaveTheSameBitsOnEveryMachine) {
  Random random(2026, 7);
  std::uint64_t digest = 0;
  for (int i = 0; i < 100000; ++i)
    digest =
        std::rotl(digest, 5) * 0x9E3779B97F4A7C15u ^ std::bit_cast<std::uint64_t>(random.normal());
  EXPECT_EQ(digest, 0x09ea7e0b167c005cu);
  Random first(1);
  EXPECT_EQ(first.normal(), 0x1.407827c9b8c2dp+0);
}

TEST(Random, IntegersBelowNAreEquallyLikely) {
  Random random(3);
  constexpr int draws = 120000, n = 12;
  std::vector<int> counts(n);
  for (int i = 0; i < draws; ++i) {
    const std::uint64_t x = random.below(n);
    ASSERT_LT(x, std::uint64_t{n});
    ++counts[x];
  }
  double chi2 = 0;
  for (int count : counts) chi2 += std::pow(count - draws / n, 2) / (draws / n);
  EXPECT_LT(chi2, 40);  // 11 degrees of freedom: 40 has probability 4e-5
  EXPECT_EQ(random.below(1), 0u);
}

// With n = 3/4 * 2^64 a plain remainder would give the lower third twice as often.
TEST(Random, IntegersBelowAHugeNAreNotBiased) {
  Random random(4);
  constexpr std::uint64_t n = 3ull << 62;
  int low = 0;
  constexpr int draws = 30000;
  for (int i = 0; i < draws; ++i) low += random.below(n) < n / 3;
  EXPECT_NEAR(low, draws / 3, 5 * std::sqrt(draws * 2.0 / 9));
}

TEST(Random, RefusesIntegersBelowZero) { EXPECT_THROW(Random(0).below(0), InputError); }

TEST(Random, ShuffleReachesEveryOrderEquallyOften) {
  Random random(6);
  std::vector<int> counts(24);
  constexpr int draws = 48000;
  for (int i = 0; i < draws; ++i) {
    std::vector<int> items = {0, 1, 2, 3};
    random.shuffle(std::span(items));
    int rank = 0;
    for (int a = 0; a < 4; ++a)
      for (int b = a + 1; b < 4; ++b) rank += (items[b] < items[a]) * (a == 0 ? 6 : a == 1 ? 2 : 1);
    ++counts[rank];
  }
  double chi2 = 0;
  for (int count : counts) chi2 += std::pow(count - draws / 24, 2) / (draws / 24);
  EXPECT_LT(chi2, 58);  // 23 degrees of freedom: 58 has probability 8e-5
}

TEST(Random, ShuffleKeepsEveryItem) {
  std::vector<int> items(100), sorted(100);
  std::iota(items.begin(), items.end(), 0);
  Random(8).shuffle(std::span(items));
  EXPECT_FALSE(std::is_sorted(items.begin(), items.end()));
  std::iota(sorted.begin(), sorted.end(), 0);
  EXPECT_TRUE(std::is_permutation(items.begin(), items.end(), sorted.begin()));
  Random(8).shuffle(std::span<int>());
}

}  // namespace
}  // namespace sharpen
