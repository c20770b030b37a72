// The loss of blocks: against the same in plain words, and its gradient against finite differences.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>

#include "learn/block.hpp"
#include "learn/samples.hpp"
#include "support/allocations.hpp"
#include "support/gradient_check.hpp"
#include "support/problems.hpp"

namespace sharpen::learn {
namespace {

using sharpen::testing::check_gradient;
using sharpen::testing::Problems;
using sharpen::testing::RowMatrix;
using sharpen::testing::view;

struct BlockCase {
  std::string name;
  LossSettings loss = {.alpha = 0.9};
  layer::Reoptimization reoptimization = layer::Reoptimization::masked;
  bool limits = false;
  Index horizon = 1;
  Index memory = 2;
  Index gap = -1;    // a day whose covariance is none
  Index quiet = -1;  // a day that expects nothing
};

void PrintTo(const BlockCase& tested, std::ostream* out) { *out << tested.name; }

// Twelve days of a small market; the samples of the block are those of the risk model.
class SmallBlock {
 public:
  static constexpr Index kAssets = 5, kLookback = 12, kDays = 12;
  static constexpr double kCost = 0.01;  // dear, so that costs count

  explicit SmallBlock(const BlockCase& tested) : tested_(tested) {
    Problems problems(21);
    returns_ = problems.returns(kLookback + kDays + 5, kAssets);
    mu = 0.01 * problems.matrix(kDays, kAssets);
    if (tested.quiet >= 0) mu.row(tested.quiet).setZero();
    std::vector<Index> ends;
    for (Index s = 0; s < kDays; ++s) {
      const RowMatrix window = returns_.middleRows(s, kLookback);
      windows_.push_back(s == tested.gap ? RowMatrix::Zero(kLookback, kAssets) : window);
      samples_.push_back(s);
    }
    // Windows one after the other, so that one of them can be without any risk.
    stacked_.resize(kDays * kLookback, kAssets);
    for (Index s = 0; s < kDays; ++s) {
      stacked_.middleRows(s * kLookback, kLookback) = windows_[static_cast<std::size_t>(s)];
      ends.push_back((s + 1) * kLookback);
    }
    risk = risk::from_windows(view(std::as_const(stacked_)), kLookback, ends, {}, Threads(1));
    layer::LayerSettings settings;
    settings.k = 2;
    settings.beta = 3.0;
    settings.sizing = {.kind = layer::Sizing::volatility, .target_volatility = 0.02};
    settings.reoptimization = tested.reoptimization;
    if (tested.limits) settings.limits = limits();
    settings.objective = {.kind = layer::Objective::sharpe, .volatility = 0.02};
    layer.emplace(settings, *risk);
    objective.emplace(*layer, tested.loss, tested.memory, kCost, kDays, 1);
    scored = kDays - objective->warm();
    r.resize(scored, kAssets);
    rho.resize(scored, kAssets);
    for (Index t = 0; t < scored; ++t) {
      const Index row = kLookback + objective->warm() + t;
      mean_target(view(std::as_const(returns_)), row, tested.horizon, view(r).row(t));
      rho.row(t) = returns_.row(row);
    }
  }

  Loss evaluate(const RowMatrix& at, RowMatrix& gradient) {
    gradient.resize(kDays, kAssets);
    return objective->evaluate(samples_, view(at), view(std::as_const(r)), view(std::as_const(rho)),
                               view(gradient), threads_);
  }

  // Of an expectation.
  double error(Index day, Index t) const {
    const Eigen::VectorXd e = mu.row(day) - r.row(t);
    if (tested_.loss.prediction == PredictionLoss::squared) return e.squaredNorm();
    Eigen::VectorXd solved(kAssets);
    std::vector<double> scratch(static_cast<std::size_t>(risk->scratch_size()));
    const double unit = tested_.loss.unit;
    return unit * unit * risk->solve(day, {e.data(), kAssets}, {solved.data(), kAssets}, scratch);
  }

  RowMatrix mu, r, rho;
  Index scored = 0;
  std::unique_ptr<risk::Risk> risk;
  std::optional<layer::SparseTangent> layer;
  std::optional<BlockObjective> objective;

 private:
  // Another upper bound on every day.
  static std::shared_ptr<const layer::LimitSchedule> limits() {
    auto out = std::make_shared<layer::LimitSchedule>();
    for (Index s = 0; s < kDays; ++s) {
      layer::Limits one;
      one.lower.assign(kAssets, -0.1);
      one.upper.assign(kAssets, 0.5 + 0.02 * static_cast<double>(s));
      out->limits.push_back(one);
      out->of_sample.push_back(s);
    }
    return out;
  }

  BlockCase tested_;
  Threads threads_;
  RowMatrix returns_, stacked_;
  std::vector<RowMatrix> windows_;
  std::vector<Index> samples_;
};

std::vector<BlockCase> block_cases() {
  using enum layer::Reoptimization;
  const LossSettings sharpe = {.alpha = 0.9, .decision = DecisionLoss::sharpe};
  return {{.name = "masked"},
          {.name = "masked_sharpe", .loss = sharpe},
          {.name = "restricted", .reoptimization = restricted},
          {.name = "restricted_sharpe", .loss = sharpe, .reoptimization = restricted},
          {.name = "limits", .limits = true},
          {.name = "limits_sharpe_restricted",
           .loss = sharpe,
           .reoptimization = restricted,
           .limits = true},
          {.name = "errors_in_the_metric_of_the_risk",
           .loss = {.alpha = 0.9, .prediction = PredictionLoss::risk, .unit = 0.01}},
          {.name = "horizon", .horizon = 4},
          {.name = "no_memory", .memory = 1},
          {.name = "a_day_without_covariance", .gap = 8},
          {.name = "no_covariance_before_the_loss", .gap = 2},
          {.name = "a_day_without_signal", .quiet = 3},
          {.name = "a_day_without_signal_or_memory", .memory = 1, .quiet = 7}};
}

class Blocks : public ::testing::TestWithParam<BlockCase> {};

INSTANTIATE_TEST_SUITE_P(Cases, Blocks, ::testing::ValuesIn(block_cases()),
                         [](const auto& tested) { return tested.param.name; });

// One day after the other, each from what is written in the header.
TEST_P(Blocks, LoseWhatTheHeaderSays) {
  SmallBlock block(GetParam());
  const Index n = SmallBlock::kAssets, warm = block.objective->warm(), memory = GetParam().memory;
  std::vector<Eigen::VectorXd> x(SmallBlock::kDays);
  const auto sd = [&](Index day) -> Eigen::ArrayXd {
    const ConstVec D = block.risk->diagonal(day);
    return Eigen::Map<const Eigen::ArrayXd>(D.data(), n).sqrt();
  };
  for (Index day = 0; day < SmallBlock::kDays; ++day) {
    if (block.risk->status(day) != Status::ok) continue;
    const Eigen::VectorXd mu = block.mu.row(day);
    Eigen::VectorXd solved(n);
    std::vector<double> scratch(static_cast<std::size_t>(block.risk->scratch_size()));
    const double C = block.risk->solve(day, {mu.data(), 5}, {solved.data(), 5}, scratch);
    x[static_cast<std::size_t>(day)] =
        C > 0.0 ? Eigen::VectorXd((mu / std::sqrt(C)).array() / sd(day)) : Eigen::VectorXd::Zero(n);
  }
  std::vector<double> net;
  Eigen::VectorXd held;  // none: the next purchase is free
  double prediction = 0.0;
  layer::LayerCache cache(*block.layer, 1, 1);
  for (Index day = warm; day < SmallBlock::kDays; ++day) {
    const Index t = day - warm;
    prediction += block.error(day, t);
    if (x[static_cast<std::size_t>(day)].size() == 0) {
      net.push_back(0.0);
      held.resize(0);
      continue;
    }
    Eigen::VectorXd mean = Eigen::VectorXd::Zero(n);
    double total = 0.0;
    for (Index j = 0; j < (memory == 1 ? 1 : 3 * memory) && j <= day; ++j) {
      const Eigen::VectorXd& then = x[static_cast<std::size_t>(day - j)];
      if (then.size() == 0) continue;
      const double weight = std::pow(1.0 - 1.0 / static_cast<double>(memory), j);
      total += weight;
      mean += weight * then;
    }
    Eigen::VectorXd s = (mean / total).array() * sd(day), w(n);
    const std::vector<Index> sample = {day};
    std::vector<Outcome> outcome(1);
    block.layer->forward(sample, ConstMat(s.data(), 1, n), cache, Mat(w.data(), 1, n), outcome,
                         Threads(1));
    double earned = w.dot(block.r.row(t));
    if (held.size() > 0) earned -= SmallBlock::kCost * (w - held).lpNorm<1>();
    net.push_back(earned);
    held =
        w.array() * (1.0 + block.rho.row(t).transpose().array()) / (1.0 + w.dot(block.rho.row(t)));
  }
  std::vector<double> unused(net.size());
  RowMatrix gradient;
  const Loss loss = block.evaluate(block.mu, gradient);
  EXPECT_NEAR(loss.decision, decision_loss(GetParam().loss.decision, net, unused), 1e-9);
  EXPECT_NEAR(loss.prediction, prediction / static_cast<double>(block.scored), 1e-12);
  EXPECT_NEAR(loss.total, 0.9 * loss.decision + 0.1 * loss.prediction, 1e-12);
}

TEST_P(Blocks, HaveTheGradientOfTheirLoss) {
  SmallBlock block(GetParam());
  RowMatrix gradient, unused;
  block.evaluate(block.mu, gradient);
  // A day that expects nothing has no derivative.
  const Index quiet = GetParam().quiet;
  std::vector<Index> places;
  for (Index i = 0; i < block.mu.size(); ++i)
    if (i / SmallBlock::kAssets != quiet) places.push_back(i);
  const auto size = static_cast<Index>(places.size());
  Eigen::VectorXd x(size), analytic(size);
  for (Index i = 0; i < size; ++i) {
    x[i] = block.mu.data()[places[static_cast<std::size_t>(i)]];
    analytic[i] = gradient.data()[places[static_cast<std::size_t>(i)]];
  }
  if (quiet >= 0) {  // but what its prediction loses
    const Index t = quiet - block.objective->warm();
    EXPECT_EQ(gradient.row(quiet).norm() > 0.0, t >= 0);
  }
  const auto f = [&](const Eigen::VectorXd& moved) {
    RowMatrix other = block.mu;
    for (Index i = 0; i < size; ++i) other.data()[places[static_cast<std::size_t>(i)]] = moved[i];
    return block.evaluate(other, unused).total;
  };
  ASSERT_GT(analytic.norm(), 0.0);
  const auto report = check_gradient(f, x, analytic, Eigen::VectorXd::Constant(size, 1e-5), 1e-5);
  EXPECT_TRUE(report.ok) << "worst " << report.worst << ", digits " << report.worst_digits << "\n"
                         << report.log;
  // The days before the loss have their share of it.
  const Index warm = block.objective->warm();
  EXPECT_EQ(gradient.topRows(warm).norm() > 0.0, warm > 0);
}

TEST(Blocks, AllocateNothingOnceTheyAreSetUp) {
  SmallBlock block({.name = ""});
  RowMatrix gradient;
  block.evaluate(block.mu, gradient);
  const long before = sharpen::testing::allocation_count();
  block.evaluate(block.mu, gradient);
  EXPECT_EQ(sharpen::testing::allocation_count(), before);
}

TEST(Blocks, CostNothingWithoutACost) {
  SmallBlock block({.name = "", .memory = 1});
  BlockObjective free(*block.layer, {.alpha = 1.0}, 1, 0.0, SmallBlock::kDays, 1);
  Objective plain(*block.layer, {.alpha = 1.0}, SmallBlock::kDays, 1);
  std::vector<Index> samples(SmallBlock::kDays);
  std::iota(samples.begin(), samples.end(), Index{0});
  RowMatrix one(SmallBlock::kDays, 5), other(SmallBlock::kDays, 5);
  const RowMatrix mu = block.mu;
  const double a = free.evaluate(samples, view(mu), view(std::as_const(block.r)),
                                 view(std::as_const(block.rho)), view(one), Threads(1))
                       .decision;
  const double b =
      plain.evaluate(samples, view(mu), view(std::as_const(block.r)), view(other), Threads(1))
          .decision;
  EXPECT_NEAR(a, b, 1e-12 * std::abs(b));
  EXPECT_LT((one - other).norm(), 1e-9 * other.norm());
}

TEST(Blocks, HaveEverySampleInTheLossOnce) {
  for (const Index warm : {0, 5})
    for (const Index training : {24, 25, 61, 100}) {
      Random random(3, static_cast<std::uint64_t>(training));
      const std::vector<SampleBlock> blocks = draw_blocks(training, 24, warm, random);
      std::vector<int> times(static_cast<std::size_t>(training));
      for (const SampleBlock& block : blocks) {
        EXPECT_EQ(block.warm, warm);
        EXPECT_GE(block.scored, 1);
        EXPECT_LE(block.days(), 24);
        EXPECT_GE(block.first, 0);
        for (Index i = 0; i < block.scored; ++i)
          ++times.at(static_cast<std::size_t>(block.first + warm + i));
      }
      for (Index s = 0; s < training; ++s)
        EXPECT_EQ(times[static_cast<std::size_t>(s)], s < warm ? 0 : 1) << s;
    }
}

TEST(Blocks, BeginElsewhereInEveryEpoch) {
  Random first(3, 1), second(3, 2), again(3, 1);
  const auto where = [](Random& random) {
    std::vector<Index> out;
    for (const SampleBlock& block : draw_blocks(300, 24, 5, random)) out.push_back(block.first);
    return out;
  };
  const auto one = where(first);
  EXPECT_NE(one, where(second));
  EXPECT_EQ(one, where(again));
}

}  // namespace
}  // namespace sharpen::learn
