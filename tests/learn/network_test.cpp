// Networks: initialisation, forward passes and gradients, on every kind of tile.
#include "sharpen/learn/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "learn/network_reference.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::learn {
namespace {

using testing::cast;
using ::testing::HasSubstr;
using testing::norm;
using testing::reference_forward;
using testing::reference_gradient;
using testing::Rows;
using ::testing::ThrowsMessage;

struct NetworkCase {
  const char* name;
  Shape shape;
  Index rows;
  Index gap = 0;                                  // between the rows of every matrix
  std::size_t keep_bytes = std::size_t(1) << 30;  // 0: activations are made again
};

void PrintTo(const NetworkCase& c, std::ostream* out) { *out << c.name; }

struct Problem {
  Network<double> network;
  Rows<double> X, dL_df;

  explicit Problem(const NetworkCase& c, std::uint64_t seed = 3) : Problem(c, Random(seed)) {}
  Problem(const NetworkCase& c, Random random)
      : network(c.shape),
        X(Rows<double>::uniform(c.rows, c.shape.inputs, c.gap, random)),
        dL_df(Rows<double>::uniform(c.rows, c.shape.outputs, c.gap, random)) {
    network.initialize(random);
  }
};

template <class Real>
Rows<Real> forward(const NetworkCase& c, const Network<Real>& network, const Rows<Real>& X,
                   int threads = 1) {
  Pass<Real> pass(c.shape, c.rows, threads, c.keep_bytes);
  Rows<Real> f(c.rows, c.shape.outputs, c.gap);
  pass.forward(network, X.view(), f.view(), Threads(threads));
  return f;
}

template <class Real>
std::vector<Real> gradient(const NetworkCase& c, const Network<Real>& network, const Rows<Real>& X,
                           const Rows<Real>& dL_df, int threads = 1) {
  Pass<Real> pass(c.shape, c.rows, threads, c.keep_bytes);
  Rows<Real> f(c.rows, c.shape.outputs);
  std::vector<Real> g(network.parameters.size(), std::numeric_limits<Real>::quiet_NaN());
  pass.forward(network, X.view(), f.view(), Threads(threads));
  pass.gradient(network, X.view(), dL_df.view(), g, Threads(threads));
  return g;
}

template <class Real>
bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0;
}

double inner(const Rows<double>& a, const Rows<double>& b) {
  double sum = 0.0;
  for (Index i = 0; i < a.rows; ++i)
    for (Index j = 0; j < a.cols; ++j) sum += a(i, j) * b(i, j);
  return sum;
}

// ---- every parameter of small networks, against central differences

class SmallNetwork : public ::testing::TestWithParam<NetworkCase> {};

TEST_P(SmallNetwork, GradientMatchesFiniteDifferencesInEveryParameter) {
  const NetworkCase& c = GetParam();
  Problem p(c);
  const std::vector<double> g = gradient(c, p.network, p.X, p.dL_df);
  const double h = 1e-5, scale = norm(g);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const double at = p.network.parameters[i];
    p.network.parameters[i] = at + h;
    const double up = inner(p.dL_df, forward(c, p.network, p.X));
    p.network.parameters[i] = at - h;
    const double down = inner(p.dL_df, forward(c, p.network, p.X));
    p.network.parameters[i] = at;
    ASSERT_NEAR((up - down) / (2.0 * h), g[i], 1e-8 * scale) << "parameter " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SmallNetwork,
                         ::testing::Values(NetworkCase{"NoHiddenLayer", {5, {}, 3}, 4},
                                           NetworkCase{"OneEach", {1, {}, 1}, 1},
                                           NetworkCase{"OneHiddenLayer", {4, {7}, 2}, 5, 2},
                                           NetworkCase{"TwoHiddenLayers", {6, {9, 5}, 3}, 8, 1},
                                           NetworkCase{"ThreeHiddenLayers", {3, {5, 1, 4}, 2}, 6},
                                           NetworkCase{"OneRow", {11, {6, 5}, 7}, 1, 3},
                                           NetworkCase{
                                               "ActivationsMadeAgain", {6, {9, 5}, 3}, 8, 1, 0}),
                         [](const auto& instance) { return instance.param.name; });

// ---- sizes that need several tiles, chunks and parts, against the naive way

class AnyNetwork : public ::testing::TestWithParam<NetworkCase> {};

TEST_P(AnyNetwork, ForwardIsTheFormula) {
  const NetworkCase& c = GetParam();
  const Problem p(c);
  const Rows<double> f = forward(c, p.network, p.X), expected = reference_forward(p.network, p.X);
  for (Index i = 0; i < f.rows; ++i)
    for (Index j = 0; j < f.cols; ++j) ASSERT_NEAR(f(i, j), expected(i, j), 1e-12);
}

TEST_P(AnyNetwork, GradientIsTheChainRule) {
  const NetworkCase& c = GetParam();
  const Problem p(c);
  const std::vector<double> g = gradient(c, p.network, p.X, p.dL_df);
  const std::vector<double> expected = reference_gradient(p.network, p.X, p.dL_df);
  const double scale = norm(expected);
  for (std::size_t i = 0; i < g.size(); ++i) ASSERT_NEAR(g[i], expected[i], 1e-13 * scale) << i;
}

TEST_P(AnyNetwork, FloatAgreesWithDouble) {
  const NetworkCase& c = GetParam();
  const Problem p(c);
  const Network<float> network = cast<float>(p.network);
  const Rows<float> X = cast<float>(p.X), dL_df = cast<float>(p.dL_df);
  const Rows<float> f = forward(c, network, X);
  const Rows<double> expected_f = forward(c, p.network, p.X);
  for (Index i = 0; i < f.rows; ++i)
    for (Index j = 0; j < f.cols; ++j) ASSERT_NEAR(f(i, j), expected_f(i, j), 1e-4);
  const std::vector<float> g = gradient(c, network, X, dL_df);
  const std::vector<double> expected = gradient(c, p.network, p.X, p.dL_df);
  double error2 = 0.0;
  for (std::size_t i = 0; i < g.size(); ++i) error2 += std::pow(double(g[i]) - expected[i], 2);
  EXPECT_LT(std::sqrt(error2), 1e-4 * norm(expected));
}

TEST_P(AnyNetwork, BitsDoNotDependOnThreads) {
  const NetworkCase& c = GetParam();
  const Problem p(c);
  const Network<float> network = cast<float>(p.network);
  const Rows<float> X = cast<float>(p.X), dL_df = cast<float>(p.dL_df);
  const Rows<float> f = forward(c, network, X);
  const std::vector<float> g = gradient(c, network, X, dL_df);
  for (const int threads : {2, 3}) {
    EXPECT_TRUE(same_bits(forward(c, network, X, threads).data, f.data)) << threads;
    EXPECT_TRUE(same_bits(gradient(c, network, X, dL_df, threads), g)) << threads;
  }
}

TEST_P(AnyNetwork, ActivationsMadeAgainGiveTheSameBits) {
  NetworkCase c = GetParam();
  const Problem p(c);
  const std::vector<double> g = gradient(c, p.network, p.X, p.dL_df);
  c.keep_bytes = c.keep_bytes == 0 ? std::size_t(1) << 30 : 0;
  EXPECT_TRUE(same_bits(gradient(c, p.network, p.X, p.dL_df), g));
}

TEST_P(AnyNetwork, RowsDoNotSeeEachOther) {
  const NetworkCase& c = GetParam();
  Problem p(c);
  const Rows<double> before = forward(c, p.network, p.X);
  const Index changed = c.rows / 2;
  p.X(changed, 0) = std::numeric_limits<double>::quiet_NaN();
  const Rows<double> after = forward(c, p.network, p.X);
  for (Index i = 0; i < c.rows; ++i)
    for (Index j = 0; j < c.shape.outputs; ++j) {
      if (i == changed)
        ASSERT_TRUE(std::isnan(after(i, j)));
      else
        ASSERT_EQ(before(i, j), after(i, j)) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AnyNetwork,
    ::testing::Values(NetworkCase{"Small", {6, {9, 5}, 3}, 8, 1},
                      NetworkCase{"NoHiddenLayer", {33, {}, 140}, 17, 5},
                      NetworkCase{"SeveralColumnTiles", {300, {130, 257}, 129}, 9, 3},
                      NetworkCase{"SeveralRowTiles", {7, {12}, 1}, 1100, 2},
                      NetworkCase{"SeveralWideTiles", {7, {530}, 2}, 300, 1},
                      NetworkCase{"SeveralChunks", {5, {6, 4}, 1}, 8200, 1},
                      NetworkCase{"SeveralChunksMadeAgain", {5, {6, 4}, 1}, 8200, 1, 0},
                      NetworkCase{"InputsInParts", {4099, {5}, 2}, 3, 1},
                      NetworkCase{"InputsInPartsManyRows", {4099, {3}, 2}, 300},
                      NetworkCase{"InputsInMostParts", {40001, {4}, 2}, 2, 7},
                      NetworkCase{"InputsInPartsWithoutHiddenLayer", {5000, {}, 9}, 4}),
    [](const auto& instance) { return instance.param.name; });

// ---- shape and initialisation

TEST(Shape, CountsWidthsAndParameters) {
  const Shape shape = {20800, {512, 256}, 208};
  EXPECT_EQ(shape.layers(), 3);
  EXPECT_EQ(shape.width(0), 20800);
  EXPECT_EQ(shape.width(1), 512);
  EXPECT_EQ(shape.width(3), 208);
  EXPECT_EQ(shape.parameters(), 20801 * 512 + 513 * 256 + 257 * 208);
}

TEST(Shape, CountsNoFurtherThanAnIndexGoes) {
  constexpr Index big = Index(1) << 40;
  EXPECT_EQ((Shape{big, {big}, big}.parameters()), std::numeric_limits<Index>::max());
}

TEST(Shape, RefusesWidthsOutOfRange) {
  EXPECT_THAT(([] {
                Network<float>(Shape{0, {3}, 1});
              }),
              ThrowsMessage<InputError>(HasSubstr("inputs = 0 is outside [1, 2147483647]")));
  EXPECT_THAT(([] {
                Network<float>(Shape{2, {3, -1}, 1});
              }),
              ThrowsMessage<InputError>(HasSubstr("hidden layer 2 = -1 is outside")));
  EXPECT_THAT(([] {
                Pass<float>(Shape{2, {3}, 0}, 1, 1);
              }),
              ThrowsMessage<InputError>(HasSubstr("outputs = 0 is outside")));
  EXPECT_THAT(([] {
                AdamState<float>(Shape{1 << 20, {1 << 20}, 1});
              }),
              ThrowsMessage<InputError>(HasSubstr("parameters, more than 68719476736")));
}

TEST(Network, InitializesUniformlyWithinTheBoundOfEachLayer) {
  const Shape shape = {100, {400, 25}, 3};
  Network<float> network(shape);
  EXPECT_EQ(*std::max_element(network.parameters.begin(), network.parameters.end()), 0.0F);
  Random random(5);
  network.initialize(random);
  std::size_t at = 0;
  for (Index l = 0; l < shape.layers(); ++l) {
    const double bound = 1.0 / std::sqrt(double(shape.width(l)));
    const std::size_t count = std::size_t((shape.width(l) + 1) * shape.width(l + 1));
    double sum = 0.0, squares = 0.0, most = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
      const double x = double(network.parameters[at + i]) / bound;
      sum += x;
      squares += x * x;
      most = std::max(most, std::abs(x));
    }
    const double n = double(count);
    EXPECT_LE(most, 1.0 + 1e-7);
    EXPECT_GE(most, 1.0 - 10.0 / n);  // with probability 1 - e^-10
    EXPECT_LT(std::abs(sum / n), 5.0 * std::sqrt(1.0 / 3.0 / n));
    EXPECT_NEAR(squares / n, 1.0 / 3.0, 5.0 * std::sqrt(4.0 / 45.0 / n));
    at += count;
  }
}

TEST(Network, InitializesTheSameFromTheSameSeedOnly) {
  const auto make = [](std::uint64_t seed) {
    Network<float> network(Shape{10, {8}, 2});
    Random random(seed);
    network.initialize(random);
    return network.parameters;
  };
  EXPECT_EQ(make(1), make(1));
  EXPECT_NE(make(1), make(2));
}

// ---- wrong use

TEST(Pass, RefusesWhatDoesNotFit) {
  const Shape shape = {4, {3}, 2};
  const Network<float> network(shape), other(Shape{4, {5}, 2});
  Pass<float> pass(shape, 6, 1);
  const Rows<float> X(6, 4), narrow(6, 3), tall(7, 4);
  Rows<float> f(6, 2), f_tall(7, 2), f_wide(6, 3);
  const Threads one(1), two(2);
  const auto run = [&](const Network<float>& net, const Rows<float>& x, Rows<float>& out,
                       const Threads& threads) {
    return [&] { pass.forward(net, x.view(), out.view(), threads); };
  };
  EXPECT_THAT(run(other, X, f, one), ThrowsMessage<InputError>(HasSubstr("shape")));
  EXPECT_THAT(run(network, narrow, f, one),
              ThrowsMessage<InputError>(HasSubstr("columns of X = 3, must be 4")));
  EXPECT_THAT(run(network, X, f_wide, one),
              ThrowsMessage<InputError>(HasSubstr("columns of f = 3, must be 2")));
  EXPECT_THAT(run(network, X, f_tall, one),
              ThrowsMessage<InputError>(HasSubstr("rows of f = 7, must be 6")));
  EXPECT_THAT(run(network, tall, f_tall, one),
              ThrowsMessage<InputError>(HasSubstr("rows = 7 > max_rows = 6")));
  EXPECT_THAT(run(network, X, f, two),
              ThrowsMessage<InputError>(HasSubstr("threads = 2 > max_threads = 1")));
  std::vector<float> g(network.parameters.size());
  EXPECT_THAT([&] { pass.gradient(network, X.view(), f.view(), g, one); },
              ThrowsMessage<InputError>(HasSubstr("rows of a step = 6, must be 0")));
  EXPECT_THAT([&] { Pass<float>(shape, 0, 1); },
              ThrowsMessage<InputError>(HasSubstr("max_rows = 0")));
  EXPECT_THAT([&] { Pass<float>(shape, 1, 0); },
              ThrowsMessage<InputError>(HasSubstr("max_threads = 0")));
}

TEST(Pass, TakesNoRows) {
  const Shape shape = {4, {3}, 2};
  const Network<float> network(shape);
  Pass<float> pass(shape, 6, 1);
  const Rows<float> X(0, 4);
  Rows<float> f(0, 2);
  std::vector<float> g(network.parameters.size(), 5.0F);
  pass.forward(network, X.view(), f.view(), Threads(1));
  pass.gradient(network, X.view(), f.view(), g, Threads(1));
  EXPECT_EQ(g, std::vector<float>(g.size(), 0.0F));
}

}  // namespace
}  // namespace sharpen::learn
