// The gradient of the whole pipeline, from the parameters of a network through scaling, layer and
// loss, against finite differences in double, for every mode.
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "learn/objective.hpp"
#include "learn/samples.hpp"
#include "sharpen/risk/risk.hpp"
#include "support/gradient_check.hpp"
#include "support/problems.hpp"

namespace sharpen::learn {
namespace {

using sharpen::testing::check_gradient;
using sharpen::testing::Problems;
using sharpen::testing::RowMatrix;
using sharpen::testing::view;

struct Mode {
  NetworkKind network = NetworkKind::joint;
  double alpha = 0.5;
  Mixing mixing = Mixing::literal;
  DecisionLoss loss = DecisionLoss::mean_return;
  layer::Score score = layer::Score::symmetric;
  layer::Reoptimization reoptimization = layer::Reoptimization::restricted;
  layer::Sizing sizing = layer::Sizing::volatility;
  layer::Net net = layer::Net::positive;
  bool raw = false;
  Index horizon = 1;
  Inputs inputs = Inputs::returns;
  PredictionLoss prediction = PredictionLoss::squared;
};

std::string mode_name(const Mode& m) {
  using enum layer::Sizing;
  return std::string(name(m.network)) + "_" + std::string(name(m.mixing)) + "_" +
         std::string(name(m.loss)) +
         (m.score == layer::Score::cholesky ? "_cholesky" : "_symmetric") +
         (m.reoptimization == layer::Reoptimization::masked ? "_masked" : "_restricted") +
         (m.sizing == budget       ? "_budget"
          : m.sizing == volatility ? "_volatility"
                                   : "_gross") +
         (m.net == layer::Net::any ? "_any" : "") + (m.raw ? "_raw" : "") +
         (m.horizon > 1 ? "_horizon" : "") + (m.alpha == 1.0 ? "_decision" : "") +
         (m.alpha == 0.0 ? "_prediction" : "") + (m.inputs == Inputs::sums ? "_sums" : "") +
         (m.prediction == PredictionLoss::risk ? "_risk" : "");
}

std::vector<Mode> modes() {
  std::vector<Mode> out;
  for (const NetworkKind network : {NetworkKind::joint, NetworkKind::shared})
    for (const Mixing mixing : {Mixing::literal, Mixing::balanced})
      for (const DecisionLoss loss : {DecisionLoss::mean_return, DecisionLoss::sharpe})
        for (const layer::Score score : {layer::Score::cholesky, layer::Score::symmetric})
          for (const auto reoptimization :
               {layer::Reoptimization::masked, layer::Reoptimization::restricted})
            for (const layer::Sizing sizing :
                 {layer::Sizing::budget, layer::Sizing::volatility, layer::Sizing::gross})
              out.push_back({.network = network,
                             .mixing = mixing,
                             .loss = loss,
                             .score = score,
                             .reoptimization = reoptimization,
                             .sizing = sizing});
  out.push_back({.net = layer::Net::any});
  out.push_back({.score = layer::Score::cholesky, .sizing = layer::Sizing::budget, .raw = true});
  out.push_back({.horizon = 3});
  out.push_back({.alpha = 1.0});
  out.push_back({.alpha = 0.0});
  for (const Mixing mixing : {Mixing::literal, Mixing::balanced})
    out.push_back({.network = NetworkKind::shared,
                   .mixing = mixing,
                   .inputs = Inputs::sums,
                   .prediction = PredictionLoss::risk});
  out.push_back({.alpha = 0.0, .prediction = PredictionLoss::risk});
  return out;
}

// A small market, a small network, and everything between its parameters and the loss.
class Pipeline {
 public:
  static constexpr Index kRows = 40, kAssets = 5, kLookback = 12, kBatch = 6;

  explicit Pipeline(const Mode& mode, unsigned seed)
      : mode_(mode), returns_(Problems(seed).returns(kRows, kAssets)) {
    settings_.network = mode.network;
    settings_.lookback = kLookback;
    settings_.hidden = {4, 3};
    settings_.inputs = mode.inputs;
    settings_.horizon = mode.horizon;
    settings_.train_block = 0;
    settings_.batch = kBatch;
    settings_.validation = 0.2;
    settings_.mandate.k = {.count = 2, .percent = 0.0};
    settings_.layer.beta = 3.0;
    settings_.layer.score = mode.score;
    settings_.layer.raw_score = mode.raw;
    settings_.layer.reoptimization = mode.reoptimization;
    settings_.mandate.sizing = {.kind = mode.sizing, .offset = 0.5, .target_volatility = 0.01};
    settings_.mandate.net = mode.net;
    split_ = split_samples(kRows, settings_);
    scaling_ = learn_scaling(view(returns_), split_);
    std::vector<Index> ends;
    for (Index s = 0; s < split_.training; ++s) ends.push_back(split_.end(s));
    risk_ = risk::from_windows(view(returns_), kLookback, ends, {}, threads_);
    for (Index b = 0; b < kBatch; ++b) samples_.push_back((b * 5) % split_.training);
  }

  Network<double> random_network(std::uint64_t seed) const {
    Network<double> network(settings_.shape(kAssets));
    Random random(seed);
    network.initialize(random);
    return network;
  }

  // The loss and, if asked for, dL/dparameters. balance: that of the point the gradient is taken
  // at, which is a constant of it; 0 to find it out.
  double loss(const Network<double>& network, double& balance, std::vector<double>* gradient) {
    std::vector<Index> assets(kAssets);
    std::iota(assets.begin(), assets.end(), Index{0});
    const Features<double> features(mode_.network, mode_.inputs, kLookback, view(returns_),
                                    scaling_, assets);
    const Index rows = kBatch * features.rows_per_window();
    std::vector<double> X(static_cast<std::size_t>(rows * features.inputs())), mu(kBatch * kAssets),
        r(mu.size()), g(mu.size());
    const BasicMat<double> inputs(X.data(), rows, features.inputs());
    std::vector<Index> ends;
    for (const Index s : samples_) ends.push_back(split_.end(s));
    features.gather(ends, inputs);
    Pass<double> pass(network.shape, rows, 1);
    const BasicMat<double> out(mu.data(), rows, network.shape.outputs);
    pass.forward(network, inputs, out, threads_);
    const double unit = scaling_.unit();
    for (double& m : mu) m *= unit;
    const Mat mus(mu.data(), kBatch, kAssets), rs(r.data(), kBatch, kAssets),
        gs(g.data(), kBatch, kAssets);
    for (Index b = 0; b < kBatch; ++b)
      mean_target(view(returns_), ends[static_cast<std::size_t>(b)], mode_.horizon, rs.row(b));

    const layer::SparseTangent layer(settings_.layer_for(kAssets), *risk_);
    Objective objective(layer,
                        {.alpha = mode_.alpha,
                         .mixing = mode_.mixing,
                         .decision = mode_.loss,
                         .prediction = mode_.prediction,
                         .unit = unit},
                        kBatch, 1);
    const Loss loss = objective.evaluate(samples_, mus, rs, gs, threads_);
    if (balance == 0.0) balance = loss.balance;
    if (gradient != nullptr) {
      for (double& x : g) x *= unit;
      gradient->resize(network.parameters.size());
      pass.gradient(network, inputs, BasicMat<const double>(g.data(), rows, network.shape.outputs),
                    *gradient, threads_);
    }
    return mode_.alpha * balance * loss.decision + (1.0 - mode_.alpha) * loss.prediction;
  }

 private:
  Mode mode_;
  RowMatrix returns_;
  TrainSettings settings_;
  SampleSplit split_;
  Scaling scaling_;
  Threads threads_;
  std::unique_ptr<risk::Risk> risk_;
  std::vector<Index> samples_;
};

class WholePipeline : public ::testing::TestWithParam<Mode> {};

TEST_P(WholePipeline, HasTheGradientOfItsLoss) {
  Pipeline pipeline(GetParam(), 11);
  const Network<double> network = pipeline.random_network(5);
  double balance = 0.0;
  std::vector<double> gradient;
  const double loss = pipeline.loss(network, balance, &gradient);
  ASSERT_TRUE(std::isfinite(loss));

  // Along every parameter would take minutes: every 7th, all layers among them.
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < gradient.size(); i += 7) chosen.push_back(i);
  if (chosen.back() != gradient.size() - 1) chosen.push_back(gradient.size() - 1);
  const auto size = static_cast<Index>(chosen.size());
  Eigen::VectorXd x(size), analytic(size);
  for (Index i = 0; i < size; ++i) {
    x[i] = network.parameters[chosen[static_cast<std::size_t>(i)]];
    analytic[i] = gradient[chosen[static_cast<std::size_t>(i)]];
  }
  ASSERT_GT(analytic.norm(), 0.0);
  const auto f = [&](const Eigen::VectorXd& moved) {
    Network<double> other = network;
    for (Index i = 0; i < size; ++i)
      other.parameters[chosen[static_cast<std::size_t>(i)]] = moved[i];
    return pipeline.loss(other, balance, nullptr);
  };
  const auto report = check_gradient(f, x, analytic, Eigen::VectorXd::Constant(size, 1e-4), 1e-5);
  EXPECT_TRUE(report.ok) << "worst " << report.worst << ", digits " << report.worst_digits << "\n"
                         << report.log;
}

void PrintTo(const Mode& mode, std::ostream* out) { *out << mode_name(mode); }

INSTANTIATE_TEST_SUITE_P(Modes, WholePipeline, ::testing::ValuesIn(modes()),
                         [](const auto& tested) { return mode_name(tested.param); });

TEST(Objective, BalancesTheTwoGradientsToTheSameSize) {
  // With balanced mixing, alpha = 1 has the root mean square of alpha = 0.
  Mode decision{.alpha = 1.0, .mixing = Mixing::balanced};
  Mode prediction{.alpha = 0.0, .mixing = Mixing::balanced};
  const auto norm_at_mu = [](const Mode& mode) {
    const RowMatrix returns = Problems(3).returns(30, 6);
    const std::vector<Index> ends = {12, 15, 21, 29};
    const auto risk = risk::from_windows(view(returns), 12, ends, {}, Threads(1));
    layer::LayerSettings settings;
    settings.k = 2;
    const layer::SparseTangent layer(settings, *risk);
    Objective objective(layer, {.alpha = mode.alpha, .mixing = mode.mixing, .decision = mode.loss},
                        4, 1);
    RowMatrix mu = 0.001 * Problems(4).matrix(4, 6), r(4, 6), g(4, 6);
    for (Index b = 0; b < 4; ++b) r.row(b) = returns.row(ends[static_cast<std::size_t>(b)]);
    const std::vector<Index> samples = {0, 1, 2, 3};
    objective.evaluate(samples, view(std::as_const(mu)), view(std::as_const(r)), view(g),
                       Threads(1));
    return g.norm();
  };
  EXPECT_NEAR(norm_at_mu(decision), norm_at_mu(prediction), 1e-12 * norm_at_mu(prediction));
}

TEST(Objective, IsThePapersLossWhenLiteral) {
  const RowMatrix returns = Problems(3).returns(30, 6);
  const std::vector<Index> ends = {12, 15};
  const auto risk = risk::from_windows(view(returns), 12, ends, {}, Threads(1));
  layer::LayerSettings settings;
  settings.k = 2;
  settings.reoptimization = layer::Reoptimization::masked;
  const layer::SparseTangent layer(settings, *risk);
  RowMatrix mu = 0.001 * Problems(4).matrix(2, 6), r(2, 6), g(2, 6), w(2, 6);
  for (Index b = 0; b < 2; ++b) r.row(b) = returns.row(ends[static_cast<std::size_t>(b)]);
  const std::vector<Index> samples = {0, 1};
  Objective objective(layer, {.alpha = 0.3}, 2, 1);
  const Loss loss = objective.evaluate(samples, view(std::as_const(mu)), view(std::as_const(r)),
                                       view(g), Threads(1));
  layer::LayerCache cache(layer, 2, 1);
  std::vector<Outcome> outcomes(2);
  layer.forward(samples, view(std::as_const(mu)), cache, view(w), outcomes, Threads(1));
  double expected = 0.0;
  for (Index b = 0; b < 2; ++b)
    expected += 0.5 * (0.3 * -r.row(b).dot(w.row(b)) + 0.7 * (mu.row(b) - r.row(b)).squaredNorm());
  EXPECT_NEAR(loss.total, expected, 1e-14);
}

TEST(DecisionLoss, HasNoGradientForReturnsThatDoNotVary) {
  const std::vector<double> q = {0.25, 0.25, 0.25};
  std::vector<double> g(3, 1.0);
  EXPECT_EQ(decision_loss(DecisionLoss::sharpe, q, g), 0.0);
  EXPECT_EQ(g, std::vector<double>(3, 0.0));
}

}  // namespace
}  // namespace sharpen::learn
