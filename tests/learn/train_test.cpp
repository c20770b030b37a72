// What a training promises, on small simulated markets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <mutex>

#include "learn/member.hpp"
#include "learn/samples.hpp"
#include "learn/small_training.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/learn/train.hpp"
#include "support/files.hpp"

namespace sharpen::learn {
namespace {

using sharpen::testing::Folder;
using ::testing::HasSubstr;

struct TrainingCase {
  NetworkKind network;
  double alpha;
};

class EveryTraining : public ::testing::TestWithParam<TrainingCase> {
 protected:
  static TrainSettings settings() {
    TrainSettings s = small_settings();
    s.network = GetParam().network;
    s.alpha = GetParam().alpha;
    return s;
  }
  static market::Panel returns() { return simulated_returns(9, 150, 3); }
};

INSTANTIATE_TEST_SUITE_P(Kinds, EveryTraining,
                         ::testing::Values(TrainingCase{NetworkKind::joint, 0.0},
                                           TrainingCase{NetworkKind::joint, 0.5},
                                           TrainingCase{NetworkKind::shared, 0.0},
                                           TrainingCase{NetworkKind::shared, 0.5}),
                         [](const auto& tested) {
                           return std::string(name(tested.param.network)) +
                                  (tested.param.alpha > 0.0 ? "_dfl" : "_pfl");
                         });

TEST_P(EveryTraining, GivesTheSameBitsForAnyThreadCount) {
  for (const Index members : {1, 3}) {
    TrainSettings s = settings();
    s.ensemble = members;
    const std::string one = model_bytes(train(returns(), s, 252.0, Threads(1)));
    EXPECT_EQ(one, model_bytes(train(returns(), s, 252.0, Threads(2))));
    EXPECT_EQ(one, model_bytes(train(returns(), s, 252.0, Threads(3))));
  }
}

TEST_P(EveryTraining, OfOneMemberIsTheFirstOfAnEnsemble) {
  TrainSettings s = settings();
  s.validation = 0.0;  // which is of all members
  const Model one = train(returns(), s, 252.0, Threads(1));
  s.ensemble = 3;
  const Model three = train(returns(), s, 252.0, Threads(2));
  ASSERT_EQ(three.members.size(), 3u);
  EXPECT_EQ(one.members[0].network.parameters, three.members[0].network.parameters);
  EXPECT_NE(three.members[1].network.parameters, three.members[0].network.parameters);
  EXPECT_NE(three.members[1].network.parameters, three.members[2].network.parameters);
}

TEST_P(EveryTraining, GoesOnToTheBitsOfAnUninterruptedOne) {
  TrainSettings s = settings();
  s.ensemble = 2;
  const std::string whole = model_bytes(train(returns(), s, 252.0, Threads(1)));
  for (const int batches : {1, 7, 12, 23}) {
    const Folder folder;
    TrainControl control;
    control.checkpoints = folder.path("");
    Index seen = 0;
    control.progress = [&](Index done, Index) { seen = done; };
    control.stop = [&] { return seen >= batches; };
    EXPECT_THROW(train(returns(), s, 252.0, Threads(1), control), Interrupted);
    control.stop = {};
    control.resume = true;
    EXPECT_EQ(whole, model_bytes(train(returns(), s, 252.0, Threads(2), control))) << batches;
    // Everything is there now: nothing is left to do.
    Index epochs = 0;
    control.epoch = [&](const EpochReport&) { ++epochs; };
    EXPECT_EQ(whole, model_bytes(train(returns(), s, 252.0, Threads(1), control)));
    EXPECT_EQ(epochs, 0);
  }
}

TEST_P(EveryTraining, StopsWhileItsCovariancesAreFactored) {
  const TrainSettings s = settings();
  if (s.alpha == 0.0 && s.validation == 0.0) return;  // has none
  TrainControl control;
  Index asked = 0, batches = 0;
  control.progress = [&](Index done, Index) { batches = done; };
  control.stop = [&] { return ++asked == 5; };
  EXPECT_THROW(train(returns(), s, 252.0, Threads(2), control), Interrupted);
  EXPECT_EQ(asked, 5);
  EXPECT_EQ(batches, 0);
}

TEST_P(EveryTraining, LearnsNothingFromTheValidationButWhenToStop) {
  TrainSettings s = settings();
  s.patience = s.epochs;
  const auto losses_of = [&](const market::Panel& panel, Scaling& scaling) {
    std::vector<double> losses, validation;
    TrainControl control;
    control.epoch = [&](const EpochReport& report) {
      losses.push_back(report.prediction_loss);
      validation.push_back(*report.validation_loss);
    };
    scaling = train(panel, s, 252.0, Threads(1), control).scaling;
    return std::pair(losses, validation);
  };
  market::Panel panel = returns();
  const SampleSplit split = split_samples(panel.rows(), s);
  Scaling before, after;
  const auto [losses, validation] = losses_of(panel, before);
  for (Index t = split.end(split.validation_first); t < panel.rows(); ++t)
    for (Index i = 0; i < panel.n(); ++i)
      panel.values[static_cast<std::size_t>(t * panel.n() + i)] *= -3.0;
  const auto [other_losses, other_validation] = losses_of(panel, after);
  EXPECT_EQ(losses, other_losses);
  EXPECT_NE(validation, other_validation);
  EXPECT_EQ(before, after);
}

TEST_P(EveryTraining, KeepsTheEpochThatValidatesBest) {
  TrainSettings s = settings();
  s.epochs = 6;
  s.warm_start = 0;
  std::vector<EpochReport> reports;
  TrainControl control;
  control.epoch = [&](const EpochReport& report) { reports.push_back(report); };
  const Model model = train(returns(), s, 252.0, Threads(1), control);
  Index best = 0;
  for (std::size_t e = 1; e < reports.size(); ++e)
    if (reports[e].validation_loss < reports[static_cast<std::size_t>(best)].validation_loss)
      best = static_cast<Index>(e);
  EXPECT_EQ(model.members[0].best_epoch, best + 1);
  EXPECT_EQ(model.members[0].epochs, static_cast<Index>(reports.size()));
  EXPECT_EQ(model.members[0].validation_loss,
            reports[static_cast<std::size_t>(best)].validation_loss);
  // Training for exactly that many epochs leaves the same network.
  s.epochs = best + 1;
  s.patience = 100;
  EXPECT_EQ(train(returns(), s, 252.0, Threads(1)).members[0].network.parameters,
            model.members[0].network.parameters);
}

TEST(Training, DecidesInItsLastEpochHoweverLongTheWarmStart) {
  TrainSettings s = small_settings();
  s.epochs = 1;
  s.validation = 0.0;
  s.warm_start = 9;
  const auto parameters = [&] {
    return train(simulated_returns(9, 150, 3), s, 252.0, Threads(1)).members[0].network.parameters;
  };
  const auto decided = parameters();
  s.alpha = 0.0;
  EXPECT_NE(decided, parameters());
}

TEST(Training, OfAlphaZeroNeverTouchesTheLayer) {
  TrainSettings s = small_settings();
  s.alpha = 0.0;
  const auto bytes = [&] {
    Model model = train(simulated_returns(9, 150, 3), s, 252.0, Threads(1));
    model.settings = small_settings();
    return model_bytes(model);
  };
  const std::string pfl = bytes();
  s.layer.beta = 50.0;
  s.layer.reoptimization = layer::Reoptimization::masked;
  s.mixing = Mixing::literal;
  s.warm_start = 0;
  EXPECT_EQ(pfl, bytes());
}

TEST(Training, StopsWhenTheValidationNoLongerImproves) {
  TrainSettings s = small_settings();
  s.epochs = 200;
  s.patience = 3;
  const Model model = train(simulated_returns(6, 120, 5), s, 252.0, Threads(1));
  const Member& member = model.members[0];
  EXPECT_LT(member.epochs, 200);
  EXPECT_EQ(member.epochs - std::max(member.best_epoch, s.warm_start), 3);
}

TEST(Training, RunsAllEpochsWithoutValidation) {
  TrainSettings s = small_settings();
  s.validation = 0.0;
  const Model model = train(simulated_returns(6, 120, 5), s, 252.0, Threads(1));
  EXPECT_EQ(model.members[0].epochs, s.epochs);
  EXPECT_EQ(model.members[0].best_epoch, s.epochs);
  EXPECT_FALSE(model.members[0].validation_sharpe);
  EXPECT_EQ(model.validation_from, "");
}

TEST(Training, LowersTheLossItIsGiven) {
  TrainSettings s = small_settings();
  s.validation = 0.0;
  s.epochs = 25;
  s.warm_start = 0;
  s.alpha = 1.0;
  s.mixing = Mixing::literal;
  std::vector<double> decision;
  TrainControl control;
  control.epoch = [&](const EpochReport& report) { decision.push_back(report.decision_loss); };
  train(simulated_returns(9, 150, 3), s, 252.0, Threads(1), control);
  EXPECT_LT(decision.back(), decision.front() - 1e-4);
}

// The same ten steps in double, with Adam as its paper writes it.
std::vector<double> reference_path(const Dataset& data, const TrainSettings& s) {
  const Index n = data.n(), batch = data.split.training;
  const Shape shape = s.shape(n);
  Network<float> start(shape);
  Random random(s.seed, 0);
  start.initialize(random);
  Network<double> network(shape);
  network.parameters.assign(start.parameters.begin(), start.parameters.end());
  std::vector<double> mean(network.parameters.size()), square(mean.size()), gradient(mean.size());
  std::vector<Index> samples, ends, assets;
  for (Index i = 0; i < batch; ++i) samples.push_back(i), ends.push_back(data.split.end(i));
  for (Index i = 0; i < n; ++i) assets.push_back(i);
  const Features<double> features(s.network, s.inputs, s.lookback, data.returns, data.scaling,
                                  assets);
  std::vector<double> X(static_cast<std::size_t>(batch * features.inputs())),
      mu(static_cast<std::size_t>(batch * n)), r(mu.size()), g(mu.size()), path;
  const BasicMat<double> inputs(X.data(), batch, features.inputs());
  features.gather(ends, inputs);
  const Mat mus(mu.data(), batch, n), rs(r.data(), batch, n), gs(g.data(), batch, n);
  for (Index b = 0; b < batch; ++b) mean_target(data.returns, data.split.end(b), 1, rs.row(b));
  const layer::SparseTangent layer(s.layer_for(n), *data.risk);
  Objective objective(layer, {.alpha = s.alpha, .mixing = s.mixing, .decision = s.decision_loss},
                      batch, 1);
  Pass<double> pass(shape, batch, 1);
  for (int step = 1; step <= 10; ++step) {
    pass.forward(network, inputs, mus, Threads(1));
    for (double& m : mu) m *= data.unit;
    path.push_back(objective.evaluate(samples, mus, rs, gs, Threads(1)).total);
    for (double& x : g) x /= data.unit;
    pass.gradient(network, inputs, ConstMat(gs), gradient, Threads(1));
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      mean[i] = 0.9 * mean[i] + 0.1 * gradient[i];
      square[i] = 0.999 * square[i] + 0.001 * gradient[i] * gradient[i];
      const double m = mean[i] / (1.0 - std::pow(0.9, step));
      const double v = square[i] / (1.0 - std::pow(0.999, step));
      network.parameters[i] -= s.adam.learning_rate * m / (std::sqrt(v) + 1e-8);
    }
  }
  return path;
}

TEST(Training, FollowsThePathItAlwaysHas) {
  TrainSettings s = small_settings();
  s.validation = 0.0;
  s.epochs = 10;
  s.warm_start = 0;
  s.mixing = Mixing::literal;
  s.train_block = 0;
  const market::Panel returns = simulated_returns(9, 151, 3);
  s.batch = returns.rows() - s.lookback;  // one step an epoch
  const Dataset data(returns.matrix(), s, Threads(1));
  Workspace workspace(data, s, 1);
  MemberTraining training(data, s, 0);
  ASSERT_EQ(steps_per_epoch(data.split, s), 1);
  const std::vector<double> reference = reference_path(data, s);
  const std::vector<double> pinned = {
      0.00125683274,  0.00114851867,  0.00105846655,  0.000980456249, 0.000908932893,
      0.000838112346, 0.000773847675, 0.000715811145, 0.000660306228, 0.000607366065};
  for (std::size_t step = 0; step < 10; ++step) {
    const double loss = training.run_epoch(workspace, Threads(1), {}).loss;
    EXPECT_NEAR(loss, pinned[step], 1e-4 * std::abs(pinned[step])) << step;
    EXPECT_NEAR(loss, reference[step], 1e-4 * std::abs(reference[step])) << step;
    if (step == 0) continue;
    EXPECT_GT(std::abs(reference[step] - reference[step - 1]), 1e-3 * std::abs(reference[step]))
        << "a path that stands still proves nothing";
  }
}

// Limits change what is learned, and nothing else: neither threads nor where solutions start.
TEST(Training, UnderLimitsHasTheSameBitsForAnyThreadCount) {
  auto rules = std::make_shared<layer::LimitRules>();
  rules->long_only = true;
  rules->every.most = 0.4;
  const market::Panel returns = simulated_returns(9, 120, 3);
  for (const layer::Objective kind :
       {layer::Objective::sharpe, layer::Objective::expected_return}) {
    TrainSettings s = small_settings();
    s.validation = 0.0;
    s.epochs = 3;
    const std::string unlimited = model_bytes(train(returns, s, 252.0, Threads(1)));
    s.mandate.limits = rules;
    s.mandate.objective = {.kind = kind, .volatility = 0.006};
    const Model model = train(returns, s, 252.0, Threads(1));
    EXPECT_EQ(model_bytes(model), model_bytes(train(returns, s, 252.0, Threads(3))));
    EXPECT_NE(model_bytes(model), unlimited);
    s.layer.raw_score = true;
    s.mandate.sizing.kind = layer::Sizing::budget;
    EXPECT_THROW(s.validate(9), InputError);
  }
}

TEST(Training, SaysWhereItDiverged) {
  TrainSettings s = small_settings();
  s.adam.learning_rate = 1e30;
  try {
    train(simulated_returns(9, 150, 3), s, 252.0, Threads(1));
    FAIL() << "a learning rate of 1e30 converged";
  } catch (const Diverged& error) {
    EXPECT_THAT(error.what(), HasSubstr("member 1, epoch 1, batch 2 of"));
    EXPECT_THAT(error.what(), HasSubstr("--learning-rate"));
    EXPECT_FALSE(error.last_good);
  }
}

TEST(Training, KeepsTheLastGoodModelWhenItDiverges) {
  // Without a prediction loss nothing pulls the expectations back.
  TrainSettings s = small_settings();
  s.validation = 0.0;
  s.epochs = 400;
  s.alpha = 1.0;
  s.warm_start = 0;
  s.train_block = 0;
  s.adam.learning_rate = 1.0;
  try {
    train(simulated_returns(9, 150, 3), s, 252.0, Threads(1));
    FAIL() << "did not diverge";
  } catch (const Diverged& error) {
    ASSERT_TRUE(error.last_good) << error.what();
    EXPECT_EQ(error.last_good->members.size(), 1u);
    EXPECT_GE(error.last_good->members[0].best_epoch, 1);
    for (const float p : error.last_good->members[0].network.parameters)
      ASSERT_TRUE(std::isfinite(p));
  }
}

TEST(Training, KeepsTheSameModelForAnyThreadCountWhenItDiverges) {
  TrainSettings s = small_settings();
  s.validation = 0.0;
  s.epochs = 400;
  s.alpha = 1.0;
  s.warm_start = 0;
  s.train_block = 0;
  s.adam.learning_rate = 1.0;
  s.ensemble = 3;
  const auto kept = [&](int threads) -> std::string {
    try {
      train(simulated_returns(9, 150, 3), s, 252.0, Threads(threads));
      return "";
    } catch (const Diverged& error) {
      return error.what() + (error.last_good ? model_bytes(*error.last_good) : "");
    }
  };
  const std::string one = kept(1);
  EXPECT_THAT(one, HasSubstr("member 1"));
  EXPECT_EQ(one, kept(2));
  EXPECT_EQ(one, kept(3));
}

TEST(Training, RefusesDamagedCheckpoints) {
  const Folder folder;
  TrainSettings s = small_settings();
  TrainControl control;
  control.checkpoints = folder.path("");
  const market::Panel returns = simulated_returns(9, 150, 3);
  train(returns, s, 252.0, Threads(1), control);
  control.resume = true;
  const std::string file = folder.path("member-1"), whole = sharpen::testing::text_of(file);
  for (std::size_t i = 0; i < whole.size(); i += 97) {
    std::string altered = whole;
    altered[i] = static_cast<char>(altered[i] ^ 1);
    folder.file("member-1", altered);
    EXPECT_THROW(train(returns, s, 252.0, Threads(1), control), InputError) << i;
    folder.file("member-1", whole.substr(0, i));
    EXPECT_THROW(train(returns, s, 252.0, Threads(1), control), InputError) << i;
  }
}

TEST(Training, RefusesCheckpointsOfAnotherTraining) {
  const Folder folder;
  TrainSettings s = small_settings();
  TrainControl control;
  control.checkpoints = folder.path("");
  const market::Panel returns = simulated_returns(9, 150, 3);
  train(returns, s, 252.0, Threads(1), control);
  control.resume = true;
  const auto message = [&](const market::Panel& panel) -> std::string {
    try {
      train(panel, s, 252.0, Threads(1), control);
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message(returns), "");
  EXPECT_THAT(message(simulated_returns(9, 150, 4)), HasSubstr("another training"));
  s.alpha = 0.25;
  EXPECT_THAT(message(returns), HasSubstr("another training"));
}

std::string refusal(const TrainSettings& s, const market::Panel& panel) {
  try {
    train(panel, s, 252.0, Threads(1));
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(Training, RefusesWhatDoesNotFit) {
  const market::Panel panel = simulated_returns(6, 100, 5);
  const TrainSettings good = small_settings();
  EXPECT_EQ(refusal(good, panel), "");
  const auto with = [&](auto change) {
    TrainSettings s = good;
    change(s);
    return refusal(s, panel);
  };
  EXPECT_THAT(with([](auto& s) { s.batch = 80; }), HasSubstr("fewer than one batch of 80"));
  EXPECT_THAT(with([](auto& s) { s.train_block = 5; }),
              HasSubstr("train-block = 5 leaves nothing to learn from: the first 5 periods"));
  EXPECT_THAT(with([](auto& s) { s.train_block = 70; }),
              HasSubstr("train-block = 70 is longer than the training part of 63 samples"));
  EXPECT_EQ(with([](auto& s) { s.train_block = 63; }), "");
  EXPECT_EQ(with([](auto& s) { s.train_block = 0; }), "");
  EXPECT_EQ(with([](auto& s) { s.alpha = 0.0, s.train_block = 70; }), "");
  EXPECT_THAT(with([](auto& s) { s.mandate.k = {.count = 7, .percent = 0.0}; }),
              HasSubstr("k = 7"));
  EXPECT_THAT(with([](auto& s) { s.alpha = 1.5; }), HasSubstr("alpha = 1.5 is outside [0, 1]"));
  EXPECT_THAT(with([](auto& s) { s.alpha = -0.1; }), HasSubstr("alpha"));
  EXPECT_THAT(with([](auto& s) { s.lookback = 99; }), HasSubstr("lookback = 99 needs 100 rows"));
  EXPECT_THAT(with([](auto& s) { s.lookback = 1; }), HasSubstr("lookback"));
  EXPECT_THAT(with([](auto& s) { s.hidden = {0}; }), HasSubstr("hidden"));
  EXPECT_THAT(with([](auto& s) { s.hidden = {60000, 60000}; }), HasSubstr("parameters"));
  EXPECT_THAT(with([](auto& s) { s.validation = 0.01; }), HasSubstr("validation"));
  EXPECT_THAT(with([](auto& s) { s.adam.learning_rate = 0.0; }), HasSubstr("learning-rate"));
  EXPECT_THAT(with([](auto& s) { s.epochs = 0; }), HasSubstr("epochs"));
  EXPECT_THAT(with([](auto& s) { s.ensemble = 0; }), HasSubstr("ensemble"));
  EXPECT_THAT(with([](auto& s) { s.layer.beta = 0.0; }), HasSubstr("beta"));
  market::Panel gap = panel;
  gap.values[17] = std::nan("");
  EXPECT_THAT(refusal(good, gap), HasSubstr("has no return on"));
}

TEST(Samples, KeepTrainingTargetsOutOfTheValidation) {
  for (const Index horizon : {1, 2, 5})
    for (const double share : {0.0, 0.2, 0.5}) {
      TrainSettings s = small_settings();
      s.horizon = horizon;
      s.validation = share;
      s.batch = 1;
      const SampleSplit split = split_samples(100, s);
      ASSERT_GT(split.training, 0);
      const Index last_target = split.end(split.training - 1) + horizon - 1;
      EXPECT_EQ(split.training_rows(), last_target + 1);
      if (share == 0.0) {
        EXPECT_EQ(last_target, 99);
      } else {
        EXPECT_LT(last_target, split.end(split.validation_first));
        EXPECT_EQ(split.end(split.validation_first + split.validation - 1), 99);
        EXPECT_EQ(split.validation_first - split.training, horizon == 1 ? 0 : horizon);
      }
    }
}

TEST(Samples, ScaleByTheRowsThatTrainOnly) {
  TrainSettings s = small_settings();
  market::Panel panel = simulated_returns(6, 100, 5);
  const SampleSplit split = split_samples(panel.rows(), s);
  const Scaling before = learn_scaling(panel.matrix(), split);
  for (Index t = split.training_rows(); t < panel.rows(); ++t)
    for (Index i = 0; i < panel.n(); ++i)
      panel.values[static_cast<std::size_t>(t * panel.n() + i)] = 1e6;
  EXPECT_EQ(learn_scaling(panel.matrix(), split), before);
  panel.values[static_cast<std::size_t>((split.training_rows() - 1) * panel.n())] += 0.1;
  EXPECT_NE(learn_scaling(panel.matrix(), split), before);
}

TEST(ExpectedReturns, AreThoseOfTheNetworkOnScaledWindows) {
  const market::Panel panel = simulated_returns(5, 120, 5);
  TrainSettings s = small_settings();
  s.network = NetworkKind::shared;
  s.epochs = 1;
  const Model model = train(panel, s, 252.0, Threads(1));
  const std::vector<Index> ends = {40, 41, 90}, assets = {1, 3};
  std::vector<double> two(static_cast<std::size_t>(panel.rows() * 2)), mu(6);
  for (Index t = 0; t < panel.rows(); ++t)
    for (Index j = 0; j < 2; ++j)
      two[static_cast<std::size_t>(2 * t + j)] =
          panel.matrix()(t, assets[static_cast<std::size_t>(j)]);
  expected_returns(model, 0, ConstMat(two.data(), panel.rows(), 2), ends, assets,
                   Mat(mu.data(), 3, 2), Threads(1));
  // By hand, in double.
  const Network<float>& network = model.members[0].network;
  for (std::size_t w = 0; w < ends.size(); ++w)
    for (std::size_t j = 0; j < assets.size(); ++j) {
      std::vector<double> h;
      for (Index t = ends[w] - s.lookback; t < ends[w]; ++t)
        h.push_back((panel.matrix()(t, assets[j]) -
                     model.scaling.mean[static_cast<std::size_t>(assets[j])]) /
                    model.scaling.scale[static_cast<std::size_t>(assets[j])]);
      std::size_t at = 0;
      for (Index layer = 1; layer <= network.shape.layers(); ++layer) {
        const auto in = static_cast<std::size_t>(network.shape.width(layer - 1));
        const auto out = static_cast<std::size_t>(network.shape.width(layer));
        std::vector<double> next(out);
        for (std::size_t o = 0; o < out; ++o) {
          for (std::size_t i = 0; i < in; ++i)
            next[o] += h[i] * static_cast<double>(network.parameters[at + i * out + o]);
          next[o] += static_cast<double>(network.parameters[at + in * out + o]);
          if (layer < network.shape.layers()) next[o] = std::max(0.0, next[o]);
        }
        at += in * out + out;
        h = next;
      }
      const double expected = model.scaling.unit() * h[0];
      EXPECT_NEAR(mu[2 * w + j], expected, 1e-5 * model.scaling.unit());
    }
}

TEST(TrainingPlan, CanBeStopped) {
  const market::Panel panel = simulated_returns(9, 150, 3);
  TrainSettings without_risk = small_settings();
  without_risk.alpha = without_risk.validation = 0.0;
  without_risk.prediction_loss = PredictionLoss::squared;
  ASSERT_FALSE(without_risk.needs_risk());
  for (const TrainSettings& settings : {small_settings(), without_risk}) {
    int asked = 0;
    const auto stop = [&] { return ++asked > 1; };
    EXPECT_THROW(plan_training(panel, settings, Threads(1), {}, stop), Interrupted);
  }
}

TEST(TrainingPlan, CountsWhatTrainingUses) {
  TrainSettings s = small_settings();
  s.ensemble = 4;
  const market::Panel panel = simulated_returns(9, 150, 3);
  const TrainingPlan plan = plan_training(panel, s, Threads(1));
  const Model model = train(panel, s, 252.0, Threads(1));
  EXPECT_EQ(plan.samples, model.samples);
  EXPECT_EQ(plan.validation_samples, model.validation_samples);
  EXPECT_EQ(plan.parameters, static_cast<Index>(model.members[0].network.parameters.size()));
  EXPECT_EQ(plan.batches, steps_per_epoch(split_samples(panel.rows(), s), s));
  EXPECT_GT(plan.minutes, 0.0);
  EXPECT_GT(plan.gigabytes, 0.0);
}

}  // namespace
}  // namespace sharpen::learn
