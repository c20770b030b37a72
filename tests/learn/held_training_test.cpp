// What a training promises whose decisions are held, remembered and paid for.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>

#include "learn/samples.hpp"
#include "learn/small_training.hpp"
#include "sharpen/learn/train.hpp"
#include "sharpen/select/select.hpp"
#include "support/files.hpp"

namespace sharpen::learn {
namespace {

using sharpen::testing::Folder;

// Where nothing decides, blocks, memory and costs are nothing to the networks.
TEST(HeldTraining, OfPredictionsKnowsNoBlocks) {
  TrainSettings s = small_settings();
  s.validation = 0.0;
  s.epochs = 2;
  const auto parameters = [&] {
    return train(simulated_returns(9, 150, 3), s, 252.0, Threads(1)).members[0].network.parameters;
  };
  for (const bool warm_start : {false, true}) {
    s.alpha = warm_start ? 0.5 : 0.0;
    s.train_block = 0;
    s.epochs = warm_start ? 2 : 1;
    s.warm_start = warm_start ? 1 : 0;
    const auto plain = parameters();
    s.train_block = 24;
    EXPECT_EQ(parameters() == plain, !warm_start);
    s.train_block = 100;
    s.train_cost_bps = 50.0;
    EXPECT_EQ(parameters() == plain, !warm_start);
  }
  // The epochs of the warm start have the losses of prediction alone.
  std::vector<double> losses;
  TrainControl control;
  control.epoch = [&](const EpochReport& report) {
    if (report.epoch == 1) losses.push_back(report.prediction_loss);
  };
  s.alpha = 0.0;
  train(simulated_returns(9, 150, 3), s, 252.0, Threads(1), control);
  s.alpha = 0.5;
  train(simulated_returns(9, 150, 3), s, 252.0, Threads(1), control);
  EXPECT_EQ(losses.at(0), losses.at(1));
}

TEST(HeldTraining, InBlocksHearsOfMemoryAndCosts) {
  TrainSettings s = small_settings();
  s.validation = 0.0;
  s.warm_start = 0;
  const auto parameters = [&] {
    return train(simulated_returns(9, 150, 3), s, 252.0, Threads(1)).members[0].network.parameters;
  };
  const auto first = parameters();
  EXPECT_EQ(parameters(), first);
  s.train_cost_bps = 50.0;
  const auto costly = parameters();
  EXPECT_NE(costly, first);
  s.rules.memory = 3;
  EXPECT_NE(parameters(), costly);
}

// Days without a covariance are days in cash, not the end of the validation.
TEST(HeldTraining, ValidatesAcrossDaysThatCannotBeDecided) {
  TrainSettings s = small_settings();
  s.lookback = 10;
  market::Panel returns = simulated_returns(9, 200, 3);
  for (Index t = 170; t < 185; ++t)
    for (Index j = 0; j < 9; ++j) returns.values[at(t * 9 + j)] = 0.0;
  for (const trade::Rule rule : {trade::Rule::none, trade::Rule::cost}) {
    s.rules.rule = rule;
    const Model model = train(returns, s, 252.0, Threads(1));
    ASSERT_TRUE(model.members[0].validation_loss.has_value());
    EXPECT_TRUE(std::isfinite(*model.members[0].validation_loss)) << name_of(rule);
  }
}

// Killed while it wrote: every member's file is of one epoch or the next.
TEST(HeldTraining, GoesOnFromFilesOfTwoEpochs) {
  TrainSettings s = small_settings();
  s.ensemble = 3;
  s.epochs = 5;
  const market::Panel returns = simulated_returns(9, 150, 3);
  const Folder folder;
  TrainControl control;
  control.checkpoints = folder.path("");
  std::vector<std::vector<std::string>> states;  // by epoch and member
  control.epoch = [&](const EpochReport& report) {
    if (report.member > 0) return;
    states.emplace_back();
    for (const char* name : {"member-1", "member-2", "member-3"})
      states.back().push_back(sharpen::testing::text_of(folder.path(name)));
  };
  const std::string whole = model_bytes(train(returns, s, 252.0, Threads(2), control));
  control.epoch = {};
  control.resume = true;
  ASSERT_GE(states.size(), 3u);
  for (std::size_t e = 0; e + 1 < states.size(); ++e)
    for (unsigned ahead = 0; ahead < 8; ++ahead) {
      for (std::size_t m = 0; m < 3; ++m)
        folder.file("member-" + std::to_string(m + 1), states[e + (ahead >> m & 1U)][m]);
      EXPECT_EQ(whole, model_bytes(train(returns, s, 252.0, Threads(2), control)))
          << e << " " << ahead;
    }
}

// With the rule none, no memory and no costs a member is judged by the k best of its score; costs
// only take from that.
TEST(HeldTraining, ValidatesByWhatItNets) {
  TrainSettings s = small_settings();
  s.alpha = 0.0;
  s.epochs = 1;
  s.rules = {.rule = trade::Rule::none, .memory = 1};
  s.train_cost_bps = 0.0;
  const market::Panel returns = simulated_returns(9, 150, 3);
  const Model model = train(returns, s, 252.0, Threads(1));
  const SampleSplit split = split_samples(returns.rows(), s);
  std::vector<Index> ends, samples, assets(9);
  for (Index v = 0; v < split.validation; ++v) {
    ends.push_back(split.end(split.validation_first + v));
    samples.push_back(v);
  }
  std::iota(assets.begin(), assets.end(), Index{0});
  std::vector<double> mu(ends.size() * 9);
  const Mat mus(mu.data(), split.validation, 9);
  expected_returns(model, 0, returns.matrix(), ends, assets, mus, Threads(1));
  const auto risk = risk::from_windows(returns.matrix(), s.lookback, ends, {}, Threads(1));
  const select::SelectSettings select = {s.layer_for(9), select::Optimizer::symmetric};
  const auto portfolios = select::select_batch(select, *risk, samples, mus, Threads(1));
  double mean = 0.0, paid = 0.0;
  std::vector<double> held(9);
  for (std::size_t v = 0; v < ends.size(); ++v) {
    double earned = 0.0;
    const ConstVec r = returns.matrix().row(ends[v]);
    const std::vector<double>& w = portfolios[v].weights;
    for (std::size_t i = 0; i < 9; ++i)
      earned += w[i] * r[i], paid += 2e-3 * std::abs(w[i] - held[i]);
    double growth = 1.0 + earned;  // costs are paid from it, but hardly change the next trade
    for (std::size_t i = 0; i < 9; ++i) held[i] = w[i] * (1.0 + r[i]) / growth;
    mean += earned / static_cast<double>(ends.size());
  }
  paid /= static_cast<double>(ends.size());
  EXPECT_NEAR(*model.members[0].validation_loss, -mean, 1e-6 * std::abs(mean) + 1e-9);
  s.train_cost_bps = 20.0;
  EXPECT_NEAR(*train(returns, s, 252.0, Threads(1)).members[0].validation_loss, -mean + paid,
              1e-2 * paid);
}

TEST(HeldTraining, KeepsOneEpochForAllMembers) {
  TrainSettings s = small_settings();
  s.ensemble = 3;
  s.epochs = 6;
  const Model model = train(simulated_returns(9, 150, 3), s, 252.0, Threads(2));
  for (const Member& member : model.members) {
    EXPECT_EQ(member.best_epoch, model.members[0].best_epoch);
    EXPECT_EQ(member.epochs, model.members[0].epochs);
    EXPECT_EQ(member.validation_loss, model.members[0].validation_loss);
  }
}

}  // namespace
}  // namespace sharpen::learn
