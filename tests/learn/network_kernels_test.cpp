// The loops between the products: both kernel sets, every length, and values that are no numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "learn/kernels.hpp"
#include "sharpen/base/random.hpp"

namespace sharpen::learn {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> uniform(Index count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> out(static_cast<std::size_t>(count));
  for (float& x : out) x = static_cast<float>(2.0 * random.uniform() - 1.0);
  return out;
}

// The portable set, and the one that this processor runs.
class NetworkKernels : public ::testing::TestWithParam<const Kernels<float>*> {
 protected:
  const Kernels<float>& kernel = *GetParam();
};

TEST_P(NetworkKernels, AdamTakesAnyCount) {
  const AdamCoefficients<float> c = {0.5F, 0.9F, 0.99F, 0.01F, 1e-3F, 0.98F};
  for (const Index count : {0, 1, 15, 16, 17, 4095, 4096, 4097, 9001}) {
    const std::vector<float> g = uniform(count, 1), p0 = uniform(count, 2), m0 = uniform(count, 3);
    std::vector<float> p = p0, m = m0, v(g.size(), 0.25F);
    const double norm2 = kernel.adam(c, count, g.data(), p.data(), m.data(), v.data());
    double expected_norm2 = 0.0;
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double gi = 0.5 * double(g[i]);
      const double mi = 0.9 * double(m0[i]) + 0.1 * gi, vi = 0.99 * 0.25 + 0.01 * gi * gi;
      expected_norm2 += double(g[i]) * double(g[i]);
      ASSERT_NEAR(m[i], mi, 1e-6);
      ASSERT_NEAR(v[i], vi, 1e-6);
      ASSERT_NEAR(p[i], 0.98 * double(p0[i]) - 0.01 * mi / (std::sqrt(vi) + 1e-3), 1e-6);
    }
    EXPECT_NEAR(norm2, expected_norm2, 1e-5 * expected_norm2);
    EXPECT_NEAR(kernel.square_sum(g.data(), count), expected_norm2, 1e-12 * expected_norm2);
  }
}

TEST_P(NetworkKernels, GreatestSeesSignsAndWhatIsNoNumber) {
  for (const Index count : {1, 7, 8, 33, 100}) {
    std::vector<float> x = uniform(count, 4);
    for (float& a : x) a *= 0.5F;
    float& last = x.back();
    for (const float value : {-3.0F, 3.0F, -kInf, kInf}) {
      last = value;
      EXPECT_EQ(kernel.greatest(x.data(), count), std::abs(value));
    }
    for (const float value : {kNaN, -kNaN}) {
      last = value;
      EXPECT_TRUE(std::isnan(kernel.greatest(x.data(), count)));
    }
  }
  EXPECT_EQ(kernel.greatest(nullptr, 0), 0.0F);
}

TEST_P(NetworkKernels, ReluKeepsWhatIsNoNumber) {
  std::vector<float> a = {-1.0F, 2.0F, kNaN, kInf, -kInf, 0.0F, -0.5F, 1.0F, -3.0F};
  const std::vector<float> b(a.size(), 0.5F);
  std::vector<float> linear = a;
  const auto n = static_cast<Index>(a.size());
  kernel.add_bias({a.data(), 1, n}, b.data(), true);
  EXPECT_TRUE(std::isnan(a[2]));
  a[2] = 0.0F;
  EXPECT_EQ(a, (std::vector<float>{0.0F, 2.5F, 0.0F, kInf, 0.0F, 0.5F, 0.0F, 1.5F, 0.0F}));
  kernel.add_bias({linear.data(), 1, n}, b.data(), false);
  EXPECT_EQ(linear[0], -0.5F);
  EXPECT_EQ(linear[8], -2.5F);
}

TEST_P(NetworkKernels, MaskAndSumsRespectStrides) {
  constexpr Index rows = 70, cols = 67, stride = 71;
  const std::vector<float> h = uniform(rows * stride, 5), before = uniform(rows * stride, 6);
  std::vector<float> d = before;
  kernel.mask({d.data(), rows, cols, stride}, {h.data(), rows, cols, stride});
  std::vector<double> sums(cols);
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < stride; ++j) {
      const auto at = static_cast<std::size_t>(i * stride + j);
      const bool off = j < cols && h[at] <= 0.0F;
      ASSERT_EQ(d[at], off ? 0.0F : before[at]);
      if (j < cols) sums[static_cast<std::size_t>(j)] += double(d[at]);
    }
  std::vector<float> out(cols, 3.0F);
  for (const bool add : {false, true}) {
    kernel.column_sums({d.data(), rows, cols, stride}, add, out.data());
    for (std::size_t j = 0; j < out.size(); ++j)
      ASSERT_NEAR(out[j], (add ? 2.0 : 1.0) * sums[j], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, NetworkKernels,
                         ::testing::Values(&kPortableFloat, &kernels<float>()),
                         [](const auto& set) { return set.index == 0 ? "Portable" : "Chosen"; });

}  // namespace
}  // namespace sharpen::learn
