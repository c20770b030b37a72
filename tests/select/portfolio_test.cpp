// The exact portfolio, scores, statuses, batches and the memory contract.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "select/naive.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "support/linear_algebra.hpp"

namespace sharpen::select::testing {
namespace {

using layer::Net;
using layer::Sizing;
using sharpen::testing::Problems;
using sharpen::testing::view;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::array kOptimizers{Optimizer::oscar, Optimizer::symmetric, Optimizer::greedy,
                                 Optimizer::swap};

SelectSettings settings_for(Index k, Optimizer optimizer) {
  SelectSettings settings;
  settings.k = k;
  settings.optimizer = optimizer;
  return settings;
}

Support largest(VectorXd scores, Index k) {
  Support order(static_cast<std::size_t>(scores.size()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](Index i, Index j) { return std::abs(scores[i]) > std::abs(scores[j]); });
  order.resize(static_cast<std::size_t>(k));
  std::sort(order.begin(), order.end());
  return order;
}

TEST(Scores, RankByTheirDefinitionOnBothFaces) {
  Problems problems(21);
  for (int round = 0; round < 40; ++round) {
    const MatrixXd Sigma = random_covariance(problems, 25);
    const VectorXd mu = problems.signal(Sigma, round % 2 == 0);
    for (const Net net : {Net::positive, Net::any}) {
      const VectorXd b = Sigma.llt().solve(VectorXd::Ones(25));
      const double B = b.dot(mu);
      const double shift = B > 0 || net == Net::any ? 0.0 : B / b.sum();
      const VectorXd m = mu.array() - shift;
      EXPECT_EQ(run(Sigma, mu, 6, Optimizer::oscar, net).support,
                largest(Sigma.llt().matrixL().solve(m), 6));
      EXPECT_EQ(run(Sigma, mu, 6, Optimizer::symmetric, net).support,
                largest(sharpen::testing::inverse_root(Sigma) * m, 6));
    }
  }
}

TEST(Portfolio, IsTheBestOnItsSupportForEverySizing) {
  Problems problems(22);
  for (int round = 0; round < 40; ++round) {
    const MatrixXd Sigma = random_covariance(problems, 15);
    const auto risk = exact_risk(Sigma);
    const VectorXd mu = problems.signal(Sigma, round % 2 == 0);
    for (const Sizing kind : {Sizing::budget, Sizing::volatility, Sizing::gross}) {
      SelectSettings settings = settings_for(5, Optimizer::swap);
      settings.sizing.kind = kind;
      const Portfolio p = run(*risk, mu, settings);
      ASSERT_TRUE(p.outcome.solved());
      const double best = std::sqrt(naive_value(Sigma, mu, p.support, Net::positive));
      EXPECT_NEAR(p.sharpe, best, 1e-10 * best);
      EXPECT_NEAR(sharpe_of(Sigma, mu, p), p.sharpe, 1e-12 * p.sharpe);

      const Eigen::Map<const VectorXd> w(p.weights.data(), 15);
      for (Index j = 0; j < 15; ++j) EXPECT_TRUE(holds(p.support, j) || w[j] == 0.0);
      const double sd = std::sqrt(w.dot(Sigma * w));
      if (kind == Sizing::volatility) {
        EXPECT_NEAR(sd, 0.10, 1e-12);
      }
      if (kind == Sizing::gross) {
        EXPECT_NEAR(w.lpNorm<1>(), 1.0, 1e-12);
      }
      if (kind == Sizing::budget) {
        const double t = w.sum() / sd;  // w = y / (t + c) with y of unit risk
        EXPECT_NEAR(sd * (t + 0.01), 1.0, 1e-9);
      }
      if (p.outcome.status == Status::neutral_face) {
        EXPECT_NEAR(w.sum() / sd, 0.0, 1e-10);
      }
      if (p.outcome.status == Status::ok) {
        EXPECT_GT(w.sum(), 0.0);
      }
    }
  }
}

TEST(Portfolio, DecidesTheFaceAgainOnTheSupport) {
  // All assets: B < 0 because of the third. The first alone is long.
  const MatrixXd Sigma = VectorXd{{1.0, 1.0, 0.01}}.asDiagonal();
  const VectorXd mu{{2.0, 1.0, -1.0}};
  const auto risk = exact_risk(Sigma);
  Selector selector(settings_for(2, Optimizer::greedy), *risk);
  Portfolio p;
  const Support K{1, 0};  // any order
  selector.run_on(*risk, 0, view(mu), K, p);
  EXPECT_EQ(p.outcome.status, Status::ok);
  EXPECT_TRUE(p.outcome.neutral_first);
  EXPECT_EQ(p.support, (Support{0, 1}));
  EXPECT_NEAR(*p.value, 5.0, 1e-14);
  EXPECT_NEAR(p.sharpe, std::sqrt(5.0), 1e-14);
  EXPECT_NEAR(p.weights[0], 2.0 / 3.0, 1e-15);
  EXPECT_NEAR(p.weights[1], 1.0 / 3.0, 1e-15);
  EXPECT_EQ(p.weights[2], 0.0);
}

TEST(Portfolio, OfAllAssetsIsTheFullProblem) {
  Problems problems(23);
  for (const Index n : {1, 2, 7, 40}) {
    const MatrixXd Sigma = random_covariance(problems, n);
    for (const double sign : {1.0, -1.0}) {
      VectorXd mu = sign * problems.vector(n);
      if (n == 1) mu[0] = sign;
      Support all(static_cast<std::size_t>(n));
      std::iota(all.begin(), all.end(), 0);
      const double full = full_sharpe(*exact_risk(Sigma), 0, view(mu), Net::positive);
      for (const Optimizer o : kOptimizers) {
        const Portfolio p = run(Sigma, mu, n, o);
        if (n == 1 && sign < 0) {
          EXPECT_EQ(p.outcome.status, Status::no_signal);
          EXPECT_EQ(full, 0.0);
          continue;
        }
        EXPECT_EQ(p.support, all) << name(o);
        EXPECT_NEAR(*p.value, naive_value(Sigma, mu, all, Net::positive), 1e-9 * *p.value);
        EXPECT_NEAR(p.sharpe, full, 1e-12 * full);
      }
    }
  }
}

TEST(Portfolio, HoldsTheBestSingleAsset) {
  const MatrixXd Sigma = VectorXd{{4.0, 1.0, 9.0}}.asDiagonal();
  const VectorXd mu{{3.0, 1.0, -9.0}};
  const Portfolio p = run(Sigma, mu, 1, Optimizer::swap);
  EXPECT_EQ(p.support, (Support{0}));
  EXPECT_DOUBLE_EQ(p.sharpe, 1.5);
  EXPECT_EQ(p.weights, (std::vector<double>{1.0, 0.0, 0.0}));
  // A short position is better where the net position is free.
  const Portfolio q = run(Sigma, mu, 1, Optimizer::swap, Net::any);
  EXPECT_EQ(q.support, (Support{2}));
  EXPECT_DOUBLE_EQ(q.sharpe, 3.0);
  EXPECT_EQ(q.weights, (std::vector<double>{0.0, 0.0, -1.0}));
  EXPECT_EQ(q.outcome.status, Status::ok);
}

void expect_cash(const Portfolio& p, std::size_t n) {
  EXPECT_EQ(p.outcome.status, Status::no_signal);
  EXPECT_TRUE(p.support.empty());
  EXPECT_EQ(p.weights, std::vector<double>(n, 0.0));
  EXPECT_EQ(p.sharpe, 0.0);
  EXPECT_EQ(*p.value, 0.0);
}

TEST(Portfolio, IsCashWhereNoDirectionExists) {
  Problems problems(24);
  const MatrixXd Sigma = random_covariance(problems, 12);
  const VectorXd negative = -problems.vector(12).cwiseAbs();
  for (const Optimizer o : kOptimizers) {
    SCOPED_TRACE(name(o));
    for (const Index k : {1, 4, 12}) {
      expect_cash(run(Sigma, VectorXd::Zero(12), k, o), 12);
      expect_cash(run(Sigma, VectorXd::Zero(12), k, o, Net::any), 12);
      expect_cash(run(Sigma, VectorXd::Constant(12, -0.3), k, o), 12);
      expect_cash(run(Sigma, VectorXd::Constant(12, 1e-300), k, o), 12);
      EXPECT_EQ(run(Sigma, VectorXd::Constant(12, 0.3), k, o).outcome.status, Status::ok);
    }
    expect_cash(run(Sigma, negative, 1, o), 12);
    EXPECT_EQ(run(Sigma, negative, 2, o).outcome.status, Status::neutral_face);
  }
  const auto risk = exact_risk(Sigma);
  EXPECT_EQ(full_sharpe(*risk, 0, view(VectorXd(VectorXd::Zero(12))), Net::positive), 0.0);
  const VectorXd constant = VectorXd::Constant(12, -0.3);
  EXPECT_EQ(full_sharpe(*risk, 0, view(constant), Net::positive), 0.0);
  EXPECT_GT(full_sharpe(*risk, 0, view(constant), Net::any), 0.0);
}

TEST(Portfolio, IsNaNForASignalThatIsNotFinite) {
  Problems problems(25);
  const MatrixXd Sigma = random_covariance(problems, 8);
  for (const double bad : {kNaN, kInf, -kInf}) {
    VectorXd mu = problems.vector(8);
    mu[5] = bad;
    for (const Optimizer o : kOptimizers) {
      const Portfolio p = run(Sigma, mu, 3, o);
      EXPECT_EQ(p.outcome.status, Status::invalid_input);
      EXPECT_TRUE(p.support.empty());
      ASSERT_EQ(p.weights.size(), 8u);
      for (const double w : p.weights) EXPECT_TRUE(std::isnan(w));
      EXPECT_TRUE(std::isnan(p.sharpe));
      EXPECT_FALSE(p.value.has_value());
    }
    EXPECT_TRUE(std::isnan(full_sharpe(*exact_risk(Sigma), 0, view(mu), Net::positive)));
  }
}

TEST(Portfolio, IsNaNWhereTheRiskIsUnusable) {
  Problems problems(26);
  sharpen::testing::RowMatrix returns = problems.returns(30, 6);
  returns.topRows(10).setConstant(0.01);  // nothing moves in the first window
  const std::array<Index, 2> ends{10, 30};
  const auto risk = risk::from_windows(view(returns), 10, ends, {}, Threads(1));
  ASSERT_EQ(risk->status(0), Status::invalid_input);
  sharpen::testing::RowMatrix mu = problems.matrix(2, 6);
  const std::array<Index, 2> samples{0, 1};
  const auto batch =
      select_batch(settings_for(2, Optimizer::swap), *risk, samples, view(mu), Threads(1));
  EXPECT_EQ(batch[0].outcome.status, Status::invalid_input);
  EXPECT_TRUE(std::isnan(batch[0].weights[0]));
  EXPECT_TRUE(batch[1].outcome.solved());
}

TEST(Portfolio, DoesNotDependOnTheScaleOfTheSignal) {
  Problems problems(27);
  const MatrixXd Sigma = random_covariance(problems, 30);
  for (const bool positive : {true, false}) {
    const VectorXd mu = problems.signal(Sigma, positive);
    for (const Optimizer o : kOptimizers) {
      const Portfolio p = run(Sigma, mu, 6, o);
      for (const int power : {-900, -3, 1, 500, 1000}) {
        const Portfolio q = run(Sigma, mu * std::ldexp(1.0, power), 6, o);
        EXPECT_EQ(q.support, p.support);
        EXPECT_EQ(q.weights, p.weights) << name(o) << " at 2^" << power;
        EXPECT_EQ(q.sharpe, std::ldexp(p.sharpe, power));
        EXPECT_EQ(q.outcome, p.outcome);
      }
      const Portfolio q = run(Sigma, mu * 3.7, 6, o);
      EXPECT_EQ(q.support, p.support);
      for (std::size_t j = 0; j < 30; ++j) EXPECT_NEAR(q.weights[j], p.weights[j], 1e-12);
    }
  }
}

TEST(Portfolio, ReportsTheJitterItsCovarianceNeeded) {
  Problems problems(28);
  const MatrixXd base = random_covariance(problems, 6);
  MatrixXd Sigma(12, 12);
  Sigma << base, base, base, base;
  const auto risk = exact_risk(Sigma);
  ASSERT_GT(risk->jitter(0), 0.0);
  const VectorXd mu = problems.vector(12);
  Selector selector(settings_for(4, Optimizer::swap), *risk);
  Portfolio p;
  const Support twins{0, 1, 6, 7};
  selector.run_on(*risk, 0, view(mu), twins, p);
  EXPECT_TRUE(p.outcome.solved());
  EXPECT_GE(p.outcome.jitter, risk->jitter(0));
  const Support apart{0, 1, 2, 3};
  selector.run_on(*risk, 0, view(mu), apart, p);
  EXPECT_EQ(p.outcome.jitter, risk->jitter(0));
}

TEST(Selector, AgreesBetweenDenseAndLowRank) {
  Problems problems(29);
  const sharpen::testing::RowMatrix returns = problems.returns(60, 90);
  const std::array<Index, 1> ends{50};
  for (const bool positive : {true, false}) {
    const VectorXd mu =
        problems.signal(sharpen::testing::naive_covariance(returns.topRows(50), 0.1), positive);
    for (const Optimizer o : kOptimizers) {
      std::array<Portfolio, 2> out;
      for (const bool dense : {true, false}) {
        risk::RiskSettings settings;
        settings.form = dense ? risk::Form::dense : risk::Form::low_rank;
        const auto risk = risk::from_windows(view(returns), 50, ends, settings, Threads(1));
        out[dense] = run(*risk, mu, settings_for(9, o));
      }
      EXPECT_EQ(out[0].support, out[1].support) << name(o);
      EXPECT_NEAR(out[0].sharpe, out[1].sharpe, 1e-9 * out[1].sharpe);
      for (std::size_t j = 0; j < 90; ++j) EXPECT_NEAR(out[0].weights[j], out[1].weights[j], 1e-9);
    }
  }
}

TEST(SelectBatch, HasTheBitsOfLoneRunsForAnyThreadCount) {
  Problems problems(30);
  const sharpen::testing::RowMatrix returns = problems.returns(90, 40);
  std::vector<Index> ends, samples;
  for (Index end = 50; end <= 90; ++end) ends.push_back(end);
  for (Index i = 0; i < 60; ++i) samples.push_back((7 * i) % 41);
  const auto risk = risk::from_windows(view(returns), 50, ends, {}, Threads(1));
  sharpen::testing::RowMatrix mu = problems.matrix(60, 40);
  mu.row(3).setZero();
  mu(5, 17) = kNaN;
  for (const Optimizer o : kOptimizers) {
    const SelectSettings settings = settings_for(7, o);
    const auto one = select_batch(settings, *risk, samples, view(mu), Threads(1));
    const auto two = select_batch(settings, *risk, samples, view(mu), Threads(2));
    ASSERT_EQ(one.size(), 60u);
    EXPECT_EQ(one[3].outcome.status, Status::no_signal);
    EXPECT_EQ(one[5].outcome.status, Status::invalid_input);
    for (std::size_t i = 0; i < 60; ++i) {
      Portfolio alone;
      Selector(settings, *risk).run(*risk, samples[i], view(mu).row(static_cast<Index>(i)), alone);
      for (const Portfolio* other : std::array<const Portfolio*, 2>{&two[i], &alone}) {
        EXPECT_EQ(other->outcome, one[i].outcome);
        EXPECT_EQ(other->support, one[i].support);
        if (i == 5) continue;
        EXPECT_EQ(other->weights, one[i].weights);
        EXPECT_EQ(other->sharpe, one[i].sharpe);
        EXPECT_EQ(other->value, one[i].value);
      }
    }
  }
}

template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(SelectSettings, RefusesASearchThatWouldNotFitIntoMemory) {
  SelectSettings settings;
  settings.k = 10000;
  settings.optimizer = Optimizer::swap;
  EXPECT_EQ(message_of([&] { settings.validate(100000); }),
            "k = 10000 of 100000 assets needs 11 GB of memory by optimizer swap: choose 2290 names "
            "at most, or optimizer symmetric, which searches less");
  settings.k = 2290;
  EXPECT_NO_THROW(settings.validate(100000));
  settings.k = 2291;
  EXPECT_NE(message_of([&] { settings.validate(100000); }).find("choose 2290 "), std::string::npos);
  settings.optimizer = Optimizer::greedy;
  EXPECT_NO_THROW(settings.validate(100000));
  settings.optimizer = Optimizer::symmetric;
  settings.k = 10000;
  EXPECT_NO_THROW(settings.validate(100000));
  settings.k = 20000;
  EXPECT_EQ(message_of([&] { settings.validate(100000); }),
            "k = 20000 of 100000 assets needs 6 GB of memory by optimizer symmetric: choose 11180 "
            "names at most");
  settings.k = 100000;  // every name: there is no search
  EXPECT_NO_THROW(settings.validate(100000));
}

TEST(SelectSettings, SaysWhichFieldIsOutOfBounds) {
  SelectSettings settings;
  settings.k = 0;
  EXPECT_EQ(message_of([&] { settings.validate(5); }),
            "k = 0 is outside [1, 5]: choose at least one name and at most all 5 assets");
  settings.k = 6;
  EXPECT_EQ(message_of([&] { settings.validate(5); }),
            "k = 6 is outside [1, 5]: choose at least one name and at most all 5 assets");
  settings.k = 5;
  EXPECT_NO_THROW(settings.validate(5));
  settings.net = Net::any;
  EXPECT_NO_THROW(settings.validate(5));
  settings.sizing.kind = Sizing::budget;
  EXPECT_NE(message_of([&] { settings.validate(5); }).find("net = any"), std::string::npos);
  settings.net = Net::positive;
  settings.sizing.offset = -1.0;
  EXPECT_NE(message_of([&] { settings.validate(5); }).find("offset"), std::string::npos);
}

TEST(Selector, RejectsWrongShapesAndSupports) {
  Problems problems(32);
  const MatrixXd Sigma = random_covariance(problems, 5);
  const auto risk = exact_risk(Sigma);
  const auto other = exact_risk(random_covariance(problems, 6));
  Selector selector(settings_for(2, Optimizer::swap), *risk);
  const VectorXd mu = problems.vector(5), longer = problems.vector(6);
  Portfolio p;
  EXPECT_EQ(message_of([&] { selector.run(*risk, 0, view(longer), p); }),
            "mu has 6 entries, but the risk model has 5 assets");
  EXPECT_EQ(message_of([&] { selector.run(*risk, 1, view(mu), p); }),
            "sample = 1 is outside [0, 1) of the risk model");
  EXPECT_EQ(message_of([&] { selector.run(*other, 0, view(longer), p); }),
            "the risk model has 6 assets, but the selector was set up for 5");
  const auto run_on = [&](const Support& K) {
    return message_of([&] { selector.run_on(*risk, 0, view(mu), K, p); });
  };
  EXPECT_EQ(run_on({0, 1, 2}), "the support has 3 assets, more than k = 2");
  EXPECT_EQ(run_on({0, 5}), "support asset 5 is outside [0, 5)");
  EXPECT_EQ(run_on({-1}), "support asset -1 is outside [0, 5)");
  EXPECT_EQ(run_on({3, 3}), "support asset 3 is repeated");
  EXPECT_EQ(run_on({}), "no error");
  expect_cash(p, 5);
  const std::array<Index, 2> samples{0, 0};
  EXPECT_EQ(message_of([&] {
              const sharpen::testing::RowMatrix one = problems.matrix(1, 5);
              select_batch(settings_for(2, Optimizer::swap), *risk, samples, view(one), Threads(1));
            }),
            "mu has 1 rows for 2 samples");
}

TEST(Selector, AsksForThePartsItsScoreNeeds) {
  Problems problems(33);
  const sharpen::testing::RowMatrix returns = problems.returns(12, 40);
  const std::array<Index, 1> ends{12};
  risk::RiskSettings settings;
  settings.form = risk::Form::low_rank;
  settings.parts = {.lower = false, .root = false};
  const auto risk = risk::from_windows(view(returns), 12, ends, settings, Threads(1));
  EXPECT_NE(message_of([&] { Selector(settings_for(3, Optimizer::oscar), *risk); }).find("lower"),
            std::string::npos);
  EXPECT_NO_THROW(Selector(settings_for(3, Optimizer::swap), *risk));
}

}  // namespace
}  // namespace sharpen::select::testing
