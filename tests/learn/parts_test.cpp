// Trainings whose samples are of the names of their days: against the same day by day, the gradient
// against finite differences, and what a training with gaps promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "learn/block.hpp"
#include "learn/decisions.hpp"
#include "learn/member.hpp"
#include "learn/samples.hpp"
#include "learn/small_training.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/learn/train.hpp"
#include "support/gradient_check.hpp"
#include "support/problems.hpp"

namespace sharpen::learn {
namespace {

using sharpen::testing::check_gradient;
using sharpen::testing::Problems;
using sharpen::testing::RowMatrix;
using sharpen::testing::view;
using ::testing::HasSubstr;

constexpr Index kNames = 6, kWindow = 14, kSamples = 12;

// Who is there: two leave in the middle, one of them comes back, one joins late, and on one day
// there is nobody.
std::vector<char> who_is_there(Index empty = -1) {
  std::vector<char> out(kSamples * kNames, 1);
  for (Index s = 0; s < kSamples; ++s) {
    const auto day = static_cast<std::size_t>(s * kNames);
    out[day + 1] = s < 5 ? 1 : 0;
    out[day + 3] = s < 4 || s > 8 ? 1 : 0;
    out[day + 5] = s > 6 ? 1 : 0;
    if (s == empty) std::fill_n(out.begin() + s * kNames, kNames, 0);
  }
  return out;
}

std::vector<Index> names_of(const std::vector<char>& there, Index sample) {
  std::vector<Index> out;
  for (Index j = 0; j < kNames; ++j)
    if (there[static_cast<std::size_t>(sample * kNames + j)] != 0) out.push_back(j);
  return out;
}

struct GappyMarket {
  explicit GappyMarket(Index empty = -1) : there(who_is_there(empty)) {
    Problems problems(11);
    returns = problems.returns(kWindow + kSamples + 2, kNames);
    for (Index s = 0; s < kSamples; ++s) ends.push_back(kWindow + s);
    risk.emplace(view(std::as_const(returns)), kWindow, ends, there, risk::RiskSettings{},
                 Threads(1), Control{});
  }
  // Of one day alone.
  std::unique_ptr<risk::Risk> alone(Index sample, RowMatrix& part) const {
    const std::vector<Index> names = names_of(there, sample);
    part.resize(kWindow, static_cast<Index>(names.size()));
    for (std::size_t i = 0; i < names.size(); ++i)
      part.col(static_cast<Index>(i)) = returns.block(sample, names[i], kWindow, 1);
    return risk::from_windows(view(std::as_const(part)), kWindow, std::vector<Index>{kWindow}, {},
                              Threads(1));
  }

  std::vector<char> there;
  RowMatrix returns;
  std::vector<Index> ends;
  std::optional<PartedRisk> risk;
};

TEST(Parts, ActAsTheNamesOfTheDayAlone) {
  const GappyMarket market(2);
  Problems problems(3);
  const RowMatrix vectors = problems.matrix(2, kNames);
  std::vector<double> scratch(static_cast<std::size_t>(market.risk->scratch_size()));
  for (Index s = 0; s < kSamples; ++s) {
    const std::vector<Index> names = names_of(market.there, s);
    if (names.empty()) {
      EXPECT_EQ(market.risk->status(s), Status::invalid_input);
      continue;
    }
    RowMatrix part;
    const auto alone = market.alone(s, part);
    std::vector<double> own(static_cast<std::size_t>(alone->scratch_size()));
    const auto m = names.size();
    std::vector<double> in(m), expected(m), out(kNames), mask(m, 0.6), all(kNames, 0.6);
    gather_names(view(vectors).row(0), names, in);
    const auto check = [&](const char* what) {
      for (Index j = 0, i = 0; j < kNames; ++j) {
        const bool is_there = i < static_cast<Index>(m) && names[static_cast<std::size_t>(i)] == j;
        EXPECT_NEAR(out[static_cast<std::size_t>(j)],
                    is_there ? expected[static_cast<std::size_t>(i)] : 0.0, 1e-9)
            << what << " " << s << " " << j;
        i += is_there;
      }
    };
    const ConstVec v = view(vectors).row(0);
    EXPECT_NEAR(market.risk->solve(s, v, out, scratch), alone->solve(0, in, expected, own), 1e-9);
    check("solve");
    market.risk->apply(s, v, out, scratch);
    alone->apply(0, in, expected, own);
    check("apply");
    market.risk->root_solve(s, v, out, scratch);
    alone->root_solve(0, in, expected, own);
    check("root_solve");
    market.risk->lower_solve(s, v, out, scratch);
    alone->lower_solve(0, in, expected, own);
    check("lower_solve");
    market.risk->lower_solve_t(s, v, out, scratch);
    alone->lower_solve_t(0, in, expected, own);
    check("lower_solve_t");
    std::vector<double> factor(static_cast<std::size_t>(market.risk->restriction_size()));
    ASSERT_TRUE(market.risk->restrict_to(s, all, factor, scratch));
    market.risk->restricted_solve(s, all, factor, v, out, scratch);
    ASSERT_TRUE(alone->restrict_to(0, mask, factor, own));
    alone->restricted_solve(0, mask, factor, in, expected, own);
    check("restricted_solve");
    std::ranges::copy(market.risk->diagonal(s), out.begin());
    std::ranges::copy(alone->diagonal(0), expected.begin());
    check("diagonal");
    std::ranges::copy(market.risk->ones_solution(s), out.begin());
    std::ranges::copy(alone->ones_solution(0), expected.begin());
    check("ones_solution");
    EXPECT_NEAR(market.risk->ones_norm2(s), alone->ones_norm2(0), 1e-6);
    market.risk->column(s, names[0], out, scratch);
    alone->column(0, 0, expected, own);
    check("column");
  }
}

layer::LayerSettings layer_of_part(Index m) {
  layer::LayerSettings settings;
  settings.k = std::min<Index>(2, m);
  settings.beta = 3.0;
  settings.sizing = {.kind = layer::Sizing::volatility, .target_volatility = 0.02};
  settings.reoptimization = layer::Reoptimization::masked;
  return settings;
}

std::unique_ptr<PartedDecisions> decisions(const GappyMarket& market) {
  return std::make_unique<PartedDecisions>(
      *market.risk, [](const SamplePart& part) { return layer_of_part(part.m()); }, kSamples, 1);
}

TEST(Parts, DecideAsTheNamesOfTheDayAlone) {
  const GappyMarket market(2);
  Problems problems(4);
  RowMatrix mu = 0.01 * problems.matrix(kSamples, kNames), w(kSamples, kNames);
  std::vector<Index> samples(kSamples);
  std::iota(samples.begin(), samples.end(), Index{0});
  std::vector<Outcome> outcomes(kSamples);
  const auto all = decisions(market);
  all->forward(samples, view(std::as_const(mu)), view(w), outcomes, Threads(1), {});
  for (Index s = 0; s < kSamples; ++s) {
    const std::vector<Index> names = names_of(market.there, s);
    if (names.empty()) {
      EXPECT_TRUE(std::isnan(w(s, 0)));
      continue;
    }
    RowMatrix part, own(1, static_cast<Index>(names.size())), weights = own;
    const auto alone = market.alone(s, part);
    const layer::SparseTangent layer(layer_of_part(own.cols()), *alone);
    layer::LayerCache cache(layer, 1, 1);
    for (std::size_t i = 0; i < names.size(); ++i) own(0, static_cast<Index>(i)) = mu(s, names[i]);
    std::vector<Outcome> outcome(1);
    layer.forward(std::vector<Index>{0}, view(std::as_const(own)), cache, view(weights), outcome,
                  Threads(1));
    for (Index j = 0, i = 0; j < kNames; ++j) {
      const bool is_there = i < own.cols() && names[static_cast<std::size_t>(i)] == j;
      EXPECT_NEAR(w(s, j), is_there ? weights(0, i) : 0.0, 1e-10) << s << " " << j;
      i += is_there;
    }
  }
}

TEST(Parts, HaveTheGradientOfTheLossOfABlock) {
  for (const Index empty : {Index{-1}, Index{7}}) {
    const GappyMarket market(empty);
    Problems problems(5);
    RowMatrix mu = 0.01 * problems.matrix(kSamples, kNames);
    for (Index s = 0; s < kSamples; ++s)
      for (Index j = 0; j < kNames; ++j)
        if (market.there[static_cast<std::size_t>(s * kNames + j)] == 0) mu(s, j) = 0.0;
    BlockObjective objective(decisions(market),
                             {.alpha = 0.9, .prediction = PredictionLoss::risk, .unit = 0.01}, 2,
                             0.01, kSamples, 1);
    const Index warm = objective.warm(), scored = kSamples - warm;
    RowMatrix r = market.returns.middleRows(kWindow + warm, scored), rho = r,
              gradient(kSamples, kNames);
    for (Index t = 0; t < scored; ++t)
      for (Index j = 0; j < kNames; ++j)
        if (market.there[static_cast<std::size_t>((warm + t) * kNames + j)] == 0) r(t, j) = 0.0;
    std::vector<Index> samples(kSamples);
    std::iota(samples.begin(), samples.end(), Index{0});
    const auto evaluate = [&](const RowMatrix& at, RowMatrix& out) {
      return objective.evaluate(samples, view(at), view(std::as_const(r)), view(std::as_const(rho)),
                                view(out), Threads(1));
    };
    evaluate(mu, gradient);
    std::vector<Index> places;
    for (Index i = 0; i < mu.size(); ++i) {
      if (market.there[static_cast<std::size_t>(i)] != 0) {
        places.push_back(i);
      } else {
        EXPECT_EQ(gradient.data()[i], 0.0) << "nothing is learned of who is not there";
      }
    }
    Eigen::VectorXd x(static_cast<Index>(places.size())), analytic = x, steps = x;
    for (Index i = 0; i < x.size(); ++i) {
      x[i] = mu.data()[places[static_cast<std::size_t>(i)]];
      analytic[i] = gradient.data()[places[static_cast<std::size_t>(i)]];
      steps[i] = 2e-4;
    }
    RowMatrix unused(kSamples, kNames);
    const auto loss = [&](const Eigen::VectorXd& moved) {
      RowMatrix at = mu;
      for (Index i = 0; i < moved.size(); ++i)
        at.data()[places[static_cast<std::size_t>(i)]] = moved[i];
      return evaluate(at, unused).total;
    };
    const auto report = check_gradient(loss, x, analytic, steps, 1e-5);
    EXPECT_TRUE(report.ok) << report.log;
  }
}

TrainSettings gappy_settings() {
  TrainSettings s = small_settings();
  s.network = NetworkKind::shared;
  s.inputs = Inputs::sums;
  s.prediction_loss = PredictionLoss::risk;
  return s;
}

// Names that start late, end early, and are gone for a while.
market::Panel gappy_returns(Index assets, Index days) {
  market::Panel panel = simulated_returns(assets, days, 5);
  const auto gap = [&](Index asset, Index from, Index to) {
    for (Index t = from; t < to; ++t)
      panel.values[static_cast<std::size_t>(t * assets + asset)] = std::nan("");
  };
  gap(1, 0, 60);
  gap(2, 150, panel.rows());
  gap(3, 90, 130);
  return panel;
}

TEST(GappyTraining, OfEverybodyAlwaysIsTheUsualOneToTheBit) {
  const market::Panel panel = simulated_returns(7, 220, 5);
  const std::vector<char> everybody(static_cast<std::size_t>((panel.rows() + 1) * panel.n()), 1);
  for (const Index block : {Index{24}, Index{0}}) {
    TrainSettings s = gappy_settings();
    s.train_block = block;
    EXPECT_EQ(model_bytes(train(panel, s, 252.0, Threads(1))),
              model_bytes(train(panel, s, 252.0, Threads(1), {}, everybody)));
  }
}

TEST(GappyTraining, DoesNotDependOnTheNumberOfThreads) {
  const market::Panel panel = gappy_returns(7, 220);
  for (const double validation : {0.0, 0.2})
    for (const Index block : {Index{24}, Index{0}}) {
      TrainSettings s = gappy_settings();
      s.validation = validation;
      s.train_block = block;
      s.ensemble = 2;
      const Model one = train(panel, s, 252.0, Threads(1));
      EXPECT_EQ(model_bytes(one), model_bytes(train(panel, s, 252.0, Threads(3))));
      for (const float p : one.members[0].network.parameters) ASSERT_TRUE(std::isfinite(p));
      EXPECT_EQ(one.members[0].validation_sharpe.has_value(), validation > 0.0);
    }
}

TEST(GappyTraining, LearnsNothingFromWhoIsNoMember) {
  const market::Panel panel = simulated_returns(6, 220, 5);
  // The last name is never a member: its returns may be anything.
  std::vector<char> members(static_cast<std::size_t>((panel.rows() + 1) * 6), 1);
  for (std::size_t t = 5; t < members.size(); t += 6) members[t] = 0;
  market::Panel other = panel;
  for (Index t = 0; t < panel.rows(); ++t)
    other.values[static_cast<std::size_t>(t * 6 + 5)] *= -1.0;
  TrainSettings s = gappy_settings();
  s.alpha = 0.5;
  const Model a = train(panel, s, 252.0, Threads(1), {}, members);
  const Model b = train(other, s, 252.0, Threads(1), {}, members);
  EXPECT_EQ(a.members[0].network.parameters, b.members[0].network.parameters);
  // As a member it has a say.
  const Model c = train(other, s, 252.0, Threads(1));
  EXPECT_NE(b.members[0].network.parameters, c.members[0].network.parameters);
}

TEST(GappyTraining, KnowsNothingOfTheDayAfterItsSamples) {
  const market::Panel panel = gappy_returns(7, 220);
  std::vector<Index> ends = {100, 120, 160};
  const auto eligible = eligible_names(panel.matrix(), 20, ends, {});
  market::Panel other = panel;
  for (Index t = 120; t < panel.rows(); ++t)
    for (Index j = 0; j < 7; ++j) other.values[static_cast<std::size_t>(t * 7 + j)] = std::nan("");
  const auto then = eligible_names(other.matrix(), 20, ends, {});
  EXPECT_TRUE(std::equal(eligible.begin(), eligible.begin() + 14, then.begin()));
  EXPECT_EQ(eligible[3], 0) << "gone since row 90";
  EXPECT_EQ(eligible[7 + 3], 0);
  EXPECT_EQ(eligible[2 * 7 + 3], 1) << "back for 20 rows and more";
  EXPECT_EQ(eligible[2 * 7 + 2], 0) << "ended in row 150";
}

TEST(GappyTraining, NeedsASharedNetworkAndSomebodyToLearnFrom) {
  const market::Panel panel = gappy_returns(7, 220);
  const auto message = [&](const TrainSettings& s, std::span<const char> members) {
    try {
      train(panel, s, 252.0, Threads(1), {}, members);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  TrainSettings joint = gappy_settings();
  joint.network = NetworkKind::joint;
  EXPECT_THAT(message(joint, {}), HasSubstr("network = joint needs every asset throughout; use "
                                            "universe complete, or network shared"));
  const std::vector<char> nobody(static_cast<std::size_t>((panel.rows() + 1) * 7), 0);
  EXPECT_THAT(message(gappy_settings(), nobody), HasSubstr("no asset could be held on any day"));
  EXPECT_GT(plan_training(panel, gappy_settings(), Threads(1)).samples, 0);
}

}  // namespace
}  // namespace sharpen::learn
