// Steps of Adam: the textbook, equal bits, and gradients that are not numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "learn/network_reference.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/learn/network.hpp"
#include "support/allocations.hpp"

namespace sharpen::learn {
namespace {

using testing::cast;
using testing::norm;
using testing::reference_adam;
using testing::Rows;

struct StepCase {
  const char* name;
  Shape shape;
  Index rows;
};

void PrintTo(const StepCase& c, std::ostream* out) { *out << c.name; }

// A few batches, as a training would bring them.
template <class Real>
struct Training {
  Network<Real> network;
  AdamState<Real> state;
  std::vector<Rows<Real>> X, dL_df;
  Pass<Real> pass;
  Rows<Real> f;

  Training(const StepCase& c, int batches, int threads)
      : network(c.shape),
        state(c.shape),
        pass(c.shape, c.rows, threads),
        f(c.rows, c.shape.outputs) {
    Random random(11);
    network.initialize(random);
    for (int b = 0; b < batches; ++b) {
      X.push_back(Rows<Real>::uniform(c.rows, c.shape.inputs, 3, random));
      dL_df.push_back(Rows<Real>::uniform(c.rows, c.shape.outputs, 1, random));
    }
  }
  StepReport step(std::size_t batch, const AdamSettings& settings, const Threads& threads) {
    pass.forward(network, X[batch].view(), f.view(), threads);
    return pass.step(network, state, settings, X[batch].view(), dL_df[batch].view(), threads);
  }
};

AdamSettings plain() { return {.learning_rate = 0.01}; }
AdamSettings decayed() {
  return {.learning_rate = 0.02, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.3};
}
AdamSettings clipped() { return {.learning_rate = 0.01, .clip = 0.5}; }
AdamSettings clipped_too_high() { return {.learning_rate = 0.01, .clip = 1e9}; }

class Adam : public ::testing::TestWithParam<StepCase> {
 protected:
  // Parameters and state after some steps, against the textbook's.
  static void expect_textbook(const AdamSettings& settings) {
    constexpr int kBatches = 3;
    Training<double> training(GetParam(), kBatches, 1);
    Network<double> network = training.network;
    AdamState<double> state(network.shape);
    for (std::size_t b = 0; b < kBatches; ++b) {
      std::vector<double> g(network.parameters.size());
      Pass<double> pass(network.shape, GetParam().rows, 1);
      Rows<double> f(GetParam().rows, network.shape.outputs);
      pass.forward(network, training.X[b].view(), f.view(), Threads(1));
      pass.gradient(network, training.X[b].view(), training.dL_df[b].view(), g, Threads(1));
      reference_adam(settings, g, network, state);
      const StepReport report = training.step(b, settings, Threads(1));
      EXPECT_TRUE(report.finite);
      EXPECT_NEAR(report.gradient_norm, norm(g), 1e-10 * norm(g));
    }
    EXPECT_EQ(training.state.steps, kBatches);
    double worst_p = 0.0, worst_m = 0.0, worst_v = 0.0;
    for (std::size_t i = 0; i < network.parameters.size(); ++i) {
      worst_p = std::max(worst_p, std::abs(training.network.parameters[i] - network.parameters[i]));
      worst_m = std::max(worst_m, std::abs(training.state.mean[i] - state.mean[i]));
      worst_v = std::max(worst_v, std::abs(training.state.square[i] - state.square[i]));
    }
    const double scale = norm(state.mean);
    EXPECT_LT(worst_p, 1e-7);  // rounding is divided by epsilon where a gradient is about zero
    EXPECT_LT(worst_m, 1e-13 * scale);
    EXPECT_LT(worst_v, 1e-13 * scale * scale);
  }
};

TEST_P(Adam, IsTheTextbooks) { expect_textbook(plain()); }
TEST_P(Adam, DecaysWeightsApartFromTheGradient) { expect_textbook(decayed()); }
TEST_P(Adam, ClipsTheNormOfTheWholeGradient) { expect_textbook(clipped()); }
TEST_P(Adam, LeavesGradientsBelowTheClipAlone) { expect_textbook(clipped_too_high()); }

TEST_P(Adam, FloatAgreesWithDouble) {
  // An epsilon of the size of the gradients keeps the step smooth in them.
  AdamSettings settings = plain();
  settings.epsilon = 1.0;
  settings.clip = 0.5;
  Training<double> exact(GetParam(), 3, 1);
  Training<float> training(GetParam(), 3, 1);
  for (std::size_t b = 0; b < 3; ++b) {
    const StepReport expected = exact.step(b, settings, Threads(1));
    const StepReport report = training.step(b, settings, Threads(1));
    EXPECT_NEAR(report.gradient_norm, expected.gradient_norm, 1e-4 * expected.gradient_norm);
  }
  for (std::size_t i = 0; i < exact.network.parameters.size(); ++i)
    ASSERT_NEAR(training.network.parameters[i], exact.network.parameters[i], 1e-4);
}

TEST_P(Adam, BitsDoNotDependOnThreads) {
  const auto after = [](int threads, const AdamSettings& settings) {
    Training<float> training(GetParam(), 2, threads);
    const Threads bound(threads);
    std::vector<double> norms;
    for (std::size_t b = 0; b < 2; ++b)
      norms.push_back(training.step(b, settings, bound).gradient_norm);
    return std::tuple(training.network.parameters, training.state.mean, training.state.square,
                      norms);
  };
  for (const AdamSettings& settings : {plain(), clipped()}) {
    const auto one = after(1, settings);
    EXPECT_EQ(after(2, settings), one);
    EXPECT_EQ(after(3, settings), one);
  }
}

TEST_P(Adam, AGradientThatIsNotANumberChangesNothing) {
  constexpr float bad[] = {std::numeric_limits<float>::quiet_NaN(),
                           -std::numeric_limits<float>::infinity(), 3e38F};
  for (const float value : bad)
    for (const bool in_X : {false, true})
      for (const AdamSettings& settings : {plain(), clipped()}) {
        Training<float> training(GetParam(), 1, 1);
        const StepCase& c = GetParam();
        if (in_X)
          training.X[0](c.rows - 1, c.shape.inputs - 1) = value;
        else
          training.dL_df[0](c.rows - 1, c.shape.outputs - 1) = value;
        const std::vector<float> before = training.network.parameters;
        const StepReport report = training.step(0, settings, Threads(1));
        EXPECT_FALSE(report.finite) << value << in_X;
        EXPECT_EQ(training.network.parameters, before);
        EXPECT_EQ(training.state.mean, std::vector<float>(before.size()));
        EXPECT_EQ(training.state.square, std::vector<float>(before.size()));
        EXPECT_EQ(training.state.steps, 0);
      }
}

TEST_P(Adam, StepsUntilTheSquareOfTheNormOverflows) {
  for (const AdamSettings& settings : {plain(), clipped()})
    for (const int power : {17, 18, 19, 20}) {
      Training<float> training(GetParam(), 1, 1);
      Training<double> exact(GetParam(), 1, 1);
      for (float& g : training.dL_df[0].data) g *= std::pow(10.0F, static_cast<float>(power));
      for (double& g : exact.dL_df[0].data) g *= std::pow(10.0, power);
      const double expected = exact.step(0, settings, Threads(1)).gradient_norm;
      const StepReport report = training.step(0, settings, Threads(1));
      ASSERT_EQ(report.finite, expected < std::sqrt(std::numeric_limits<float>::max())) << power;
      if (report.finite) {
        ASSERT_NEAR(report.gradient_norm, expected, 1e-4 * expected) << power;
      }
      for (const float p : training.network.parameters) ASSERT_TRUE(std::isfinite(p));
      for (const float v : training.state.square) ASSERT_TRUE(std::isfinite(v));
    }
}

TEST_P(Adam, AllocatesNothing) {
  Training<float> training(GetParam(), 2, 1);
  const Threads one(1);
  training.step(0, clipped(), one);
  const long before = sharpen::testing::allocation_count();
  training.step(1, clipped(), one);
  EXPECT_EQ(sharpen::testing::allocation_count(), before);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Adam,
                         ::testing::Values(StepCase{"Small", {6, {9, 5}, 3}, 8},
                                           StepCase{"NoHiddenLayer", {7, {}, 3}, 5},
                                           StepCase{"SeveralChunks", {5, {6, 4}, 1}, 4200},
                                           StepCase{"SeveralBlocks", {140, {130}, 2}, 5},
                                           StepCase{"Streamed", {8200, {33, 5}, 2}, 3},
                                           StepCase{
                                               "StreamedWithoutHiddenLayer", {515, {}, 513}, 2},
                                           StepCase{"StreamedInTheMiddle", {3, {525, 512}, 2}, 2},
                                           StepCase{"StreamedFromFewInputs", {3, {}, 90000}, 2},
                                           StepCase{"TooManyRowsToStream", {1030, {260}, 1}, 260}),
                         [](const auto& instance) { return instance.param.name; });

TEST(AdamState, RefusesAStateOfAnotherNetwork) {
  Training<float> training({"", {4, {3}, 2}, 5}, 1, 1);
  training.state = AdamState<float>(Shape{4, {2}, 2});
  EXPECT_THROW(training.step(0, plain(), Threads(1)), InputError);
}

TEST(AdamState, KeepsNoSubnormalMoments) {
  // Behind a dead ReLU gradients are zero, and moments only decay.
  Training<float> training({"", {2, {}, 1}, 1}, 1, 1);
  training.X[0](0, 0) = training.X[0](0, 1) = training.dL_df[0](0, 0) = 0.0F;
  for (float& m : training.state.mean) m = -1.1F * std::numeric_limits<float>::min();
  for (float& v : training.state.square) v = 1.0001F * std::numeric_limits<float>::min();
  for (int i = 0; i < 2; ++i) training.step(0, plain(), Threads(1));
  EXPECT_EQ(training.state.mean, std::vector<float>(3));
  EXPECT_EQ(training.state.square, std::vector<float>(3));
}

TEST(Pass, StepsOfRowsInAnyOrderOfUseDoNotMix) {
  // A pass made for many rows serves fewer, and forward passes in between leave no trace.
  const StepCase c = {"", {6, {9}, 2}, 4};
  Training<double> small(c, 1, 1), large(c, 1, 1);
  large.pass = Pass<double>(c.shape, 5000, 1);
  Random random(3);
  const Rows<double> others = Rows<double>::uniform(5000, 6, 0, random);
  Rows<double> out(5000, 2);
  large.pass.forward(large.network, others.view(), out.view(), Threads(1));
  small.step(0, plain(), Threads(1));
  large.step(0, plain(), Threads(1));
  EXPECT_EQ(small.network.parameters, large.network.parameters);
}

}  // namespace
}  // namespace sharpen::learn
