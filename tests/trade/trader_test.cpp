// Decisions that see what is held, against every choice of names and every pattern of trades.
#include "sharpen/trade/trader.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sharpen/base/error.hpp"
#include "support/problems.hpp"

namespace sharpen::trade {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using sharpen::testing::Problems;
using sharpen::testing::RowMatrix;
using sharpen::testing::view;

constexpr double kYear = 252.0;
constexpr double kVolatility = 0.01;

struct Case {
  Case(unsigned seed, Index n_, Index k_) : n(n_), k(k_) {
    Problems problems(seed);
    const RowMatrix window = problems.returns(80, n);
    Sigma = sharpen::testing::naive_covariance(window, 0.1);
    risk = sharpen::testing::risk_of(Sigma);
    s = problems.signal(Sigma, seed % 3 != 0);
    s /= std::sqrt(s.dot(MatrixXd(Sigma).ldlt().solve(s)));
    held = VectorXd::Zero(n);
    for (Index j = 0; j < k; ++j) held(problems.below(n)) = 0.3 * problems.normal();
    if (held.sum() < 0.0) held *= -1.0;
    costs = VectorXd::Zero(n);
    for (Index i = 0; i < n; ++i) costs(i) = 1e-3 * (0.2 + std::abs(problems.normal()));
    settings.k = {.count = k, .percent = 0.0};
    settings.sizing = {.kind = layer::Sizing::volatility, .target_volatility = kVolatility};
  }

  solve::Problem problem() const {
    return {
        .n = n, .k = k, .mu = view(s), .risk = risk.get(), .limits = limits ? &*limits : nullptr};
  }
  solve::Answer ideal() const {
    solve::Answer out;
    solve::optimizer_named(optimizer).make(settings)->decide(problem(), out);
    return out;
  }
  Standing standing() const {
    return {.holdings = view(held), .costs = view(costs), .fixed = fixed};
  }
  solve::Answer decide(Rule rule, double scale = 1.0) const {
    const VectorXd scaled = scale * costs;
    Trader trader({.rule = rule}, solve::optimizer_named(optimizer), settings, kYear);
    solve::Answer out;
    trader.decide(problem(), ideal(),
                  {.holdings = view(held), .costs = view(scaled), .fixed = fixed}, out);
    return out;
  }
  double gamma() const {
    const VectorXd w0 = weights(ideal());
    return s.dot(w0) / w0.dot(Sigma * w0);
  }
  bool is_fixed(Index i) const { return !fixed.empty() && fixed[at(i)] != 0; }
  VectorXd kappa() const { return costs / (1.0 / std::sqrt(kYear) * 30.0); }
  static VectorXd weights(const solve::Answer& answer) {
    const std::vector<double>& w = answer.portfolio.weights;
    return Eigen::Map<const VectorXd>(w.data(), static_cast<Index>(w.size()));
  }
  double utility(double gamma_, const VectorXd& w) const {
    return s.dot(w) - 0.5 * gamma_ * w.dot(Sigma * w) - kappa().dot((w - held).cwiseAbs());
  }

  Index n, k;
  std::string optimizer = "swap";
  RowMatrix Sigma;
  VectorXd s, held, costs;
  std::vector<char> fixed;
  std::optional<layer::Limits> limits;
  std::unique_ptr<risk::Risk> risk;
  solve::OptimizerSettings settings;
};

// The best utility of names in K: each is traded up, traded down or kept, and the net position is
// felt or not. One of these patterns is the optimum's, and none that is feasible is better.
double best_on(const Case& c, double gamma, const std::vector<Index>& K) {
  const auto m = static_cast<Index>(K.size());
  double best = -1e300;
  const Index patterns = static_cast<Index>(std::pow(3, m)) * 2;
  for (Index pattern = 0; pattern < patterns; ++pattern) {
    VectorXd w = VectorXd::Zero(c.n), slope = c.s;
    for (Index i = 0; i < c.n; ++i)
      if (c.is_fixed(i)) w(i) = c.held(i);
    std::vector<Index> moving;
    Index code = pattern / 2;
    for (const Index i : K) {
      const Index side = code % 3 - 1;
      code /= 3;
      if (side == 0) {
        w(i) = c.held(i);
      } else {
        moving.push_back(i);
        slope(i) -= static_cast<double>(side) * c.kappa()(i);
      }
    }
    const bool neutral = pattern % 2 == 1;
    if (neutral && moving.empty()) continue;
    const auto f = static_cast<Index>(moving.size());
    MatrixXd A = MatrixXd::Zero(f + neutral, f + neutral);
    VectorXd b = VectorXd::Zero(f + neutral);
    const VectorXd pull = slope - gamma * (c.Sigma * w);
    for (Index a = 0; a < f; ++a) {
      b(a) = pull(moving[at(a)]);
      for (Index e = 0; e < f; ++e) A(a, e) = gamma * c.Sigma(moving[at(a)], moving[at(e)]);
      if (neutral) A(a, f) = A(f, a) = 1.0;
    }
    if (neutral) b(f) = -w.sum();
    if (f > 0) {
      const VectorXd x = A.fullPivLu().solve(b);
      for (Index a = 0; a < f; ++a) w(moving[at(a)]) = x(a);
    }
    if (w.sum() >= -1e-12) best = std::max(best, c.utility(gamma, w));
  }
  return best;
}

double best_of_all(const Case& c) {
  const double gamma = c.gamma();
  double best = -1e300;
  for (unsigned set = 0; set < (1U << c.n); ++set) {
    std::vector<Index> K;
    Index names = 0;
    bool free = true;
    for (Index i = 0; i < c.n; ++i) {
      const bool in = ((set >> i) & 1U) != 0;
      names += in || (c.is_fixed(i) && c.held(i) != 0.0);
      free = free && !(in && c.is_fixed(i));
      if (in) K.push_back(i);
    }
    if (free && names <= c.k) best = std::max(best, best_on(c, gamma, K));
  }
  return best;
}

TEST(Trader, FindsTheBestOfAllPortfolios) {
  int missed = 0;
  const int cases = 30;
  for (unsigned seed = 0; seed < cases; ++seed) {
    Case c(seed, 6, 3);
    if (seed % 3 == 1) {  // one that is held, and one that cannot be bought
      c.fixed.assign(6, 0);
      c.fixed[seed % 6] = c.fixed[(seed + 1) % 6] = 1;
      c.held(seed % 6) = 0.05;
      c.held((seed + 1) % 6) = 0.0;
    }
    const solve::Answer out = c.decide(Rule::cost);
    ASSERT_EQ(out.portfolio.outcome.status, Status::ok) << seed;
    const VectorXd w = Case::weights(out);
    EXPECT_LE((w.array() != 0.0).count(), c.k);
    EXPECT_GE(w.sum(), -1e-12);
    const double best = best_of_all(c), value = c.utility(c.gamma(), w);
    EXPECT_LE(value, best + 1e-12) << seed;
    missed += value < best - 1e-9;
  }
  EXPECT_LE(missed, 1);
}

TEST(Trader, KeepsToTheBitWhatItDoesNotTrade) {
  Index kept = 0, traded = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    const Case c(seed, 12, 5);
    const VectorXd w = Case::weights(c.decide(Rule::cost, 10.0));
    for (Index i = 0; i < c.n; ++i) {
      const double change = std::abs(w(i) - c.held(i));
      EXPECT_TRUE(change == 0.0 || change > 1e-9) << seed << " " << i << " " << change;
      kept += change == 0.0 && c.held(i) != 0.0;
      traded += change > 0.0;
    }
  }
  EXPECT_GT(kept, 10);
  EXPECT_GT(traded, 10);
}

TEST(Trader, IsTheIdealWhereTradingIsFree) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    Case c(seed, 10, 4);
    EXPECT_EQ(c.decide(Rule::none).portfolio.weights, c.ideal().portfolio.weights);
    EXPECT_EQ(c.decide(Rule::cost, 0.0).portfolio.weights, c.ideal().portfolio.weights);
    const VectorXd near = Case::weights(c.decide(Rule::cost, 1e-9));
    EXPECT_LT((near - Case::weights(c.ideal())).cwiseAbs().maxCoeff(), 1e-6) << seed;
  }
}

TEST(Trader, ATurnoverLimitHoldsAlsoWhereTradingIsFree) {
  for (unsigned seed = 1; seed <= 10; ++seed)
    for (const Rule rule : {Rule::cost, Rule::band}) {
      Case c(seed, 10, 4);
      c.limits.emplace();
      c.settings.objective = {.kind = layer::Objective::expected_return, .volatility = kVolatility};
      const solve::Answer free = c.ideal();
      c.limits->turnover = 0.05;
      c.limits->holdings.assign(c.held.data(), c.held.data() + 10);
      Trader trader({.rule = rule}, solve::optimizer_named("swap"), c.settings, kYear);
      solve::Answer out;
      trader.decide(c.problem(), free, {.holdings = view(c.held)}, out);
      const VectorXd w = Case::weights(out);
      EXPECT_TRUE(out.portfolio.outcome.solved()) << seed;
      EXPECT_LE((w - c.held).cwiseAbs().sum(), 0.05 + 1e-9) << seed;
      EXPECT_GT((w - c.held).cwiseAbs().sum(), 1e-4) << seed << " " << static_cast<int>(rule);
    }
}

TEST(Trader, LetsAnOptimizerKeepToTheNamesItChose) {
  Index others = 0;
  for (unsigned seed = 1; seed <= 20; ++seed)
    for (const char* optimizer : {"symmetric", "greedy", "oscar"}) {
      Case c(seed, 20, 4);
      c.optimizer = optimizer;
      const std::vector<Index> chosen = c.ideal().portfolio.support;
      for (const Index i : c.decide(Rule::cost, 0.1).portfolio.support)
        EXPECT_TRUE(c.held(i) != 0.0 || std::ranges::find(chosen, i) != chosen.end())
            << optimizer << " " << seed << " " << i;
      Case by_swap(seed, 20, 4);
      others += by_swap.ideal().portfolio.support != chosen;
    }
  EXPECT_GT(others, 20) << "they do choose other names than swap";
}

TEST(Trader, DustIsNoNameThatMayBeKept) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Case c(seed, 20, 3);
    c.held.setZero();
    c.held.head(5) << 0.4, 0.3, -0.2, 1e-16, -2e-16;
    EXPECT_LE(c.decide(Rule::cost).portfolio.support.size(), 3u) << seed;
  }
}

TEST(Trader, AGrossExposureOfOneIsNotExceeded) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Case c(seed, 12, 4);
    c.settings.sizing = {.kind = layer::Sizing::gross};
    c.held /= 2.0 * c.held.cwiseAbs().sum();
    const double gross = Case::weights(c.decide(Rule::cost, 0.05)).cwiseAbs().sum();
    EXPECT_LE(gross, 1.0 + 1e-9) << seed;
    EXPECT_GT(gross, 0.2) << seed;
  }
}

TEST(Trader, NeverTradesAtAHugeCost) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Case c(seed, 10, 4);
    if (seed % 2 == 0) c.held *= -1.0;  // a net position that drifted below zero
    c.costs.setConstant(100.0);
    EXPECT_EQ(Case::weights(c.decide(Rule::cost)), c.held);
    c.held.setZero();
    EXPECT_EQ(Case::weights(c.decide(Rule::cost)), c.held);
  }
}

TEST(Trader, TradesLessTheMoreItCosts) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Case c(seed, 8, 8);  // every name may be held: the problem is convex
    double before = 1e300;
    for (const double scale : {0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0}) {
      const VectorXd w = Case::weights(c.decide(Rule::cost, scale));
      const double paid = c.costs.dot((w - c.held).cwiseAbs());
      EXPECT_LE(paid, before + 1e-12) << seed << " " << scale;
      before = paid;
    }
  }
}

TEST(Trader, FixedNamesKeepTheirBitsAndCountAmongTheNames) {
  for (unsigned seed = 0; seed < 20; ++seed)
    for (const Rule rule : {Rule::none, Rule::band, Rule::cost})
      for (const char* optimizer : {"swap", "greedy", "mssrm"}) {
        Case c(seed, 10, 4);
        c.optimizer = optimizer;
        if (rule == Rule::cost && c.optimizer == "mssrm") continue;
        c.fixed.assign(10, 0);
        c.fixed[seed % 10] = c.fixed[(seed + 3) % 10] = 1;
        c.held(seed % 10) = 0.123 + 0.01 * seed;
        const solve::Answer out = c.decide(rule);
        ASSERT_TRUE(out.portfolio.outcome.solved()) << name(out.portfolio.outcome.status);
        const VectorXd w = Case::weights(out);
        EXPECT_TRUE(w.allFinite());
        for (Index i = 0; i < c.n; ++i)
          EXPECT_TRUE(!c.fixed[at(i)] || w(i) == c.held(i)) << seed << name(rule) << optimizer;
        EXPECT_LE((w.array() != 0.0).count(), c.k);
        EXPECT_EQ((w.array() != 0.0).count(), std::ssize(out.portfolio.support));
        EXPECT_TRUE(c.optimizer == "mssrm" || w.sum() >= -1e-10) << seed << name(rule);
      }
}

TEST(Trader, MoreFixedNamesThanAreAllowedAreAllThatIsHeld) {
  Case c(1, 8, 2);
  c.held.setZero();
  c.fixed.assign(8, 0);
  for (const Index i : {1, 3, 4, 6}) {
    c.held(i) = 0.1;
    c.fixed[at(i)] = 1;
  }
  for (const Rule rule : {Rule::none, Rule::band, Rule::cost})
    EXPECT_EQ(Case::weights(c.decide(rule)), c.held) << name(rule);
}

TEST(Trader, AnIdealThatTradesNothingFixedStaysAsItIs) {
  Case c(2, 8, 3);
  const VectorXd w0 = Case::weights(c.ideal());
  c.fixed.assign(8, 0);
  for (Index i = 0; i < c.n; ++i)
    if (w0(i) == 0.0) {
      c.fixed[at(i)] = 1;
      c.held(i) = 0.0;
    }
  EXPECT_EQ(Case::weights(c.decide(Rule::none)), w0);
  EXPECT_EQ(Case::weights(c.decide(Rule::cost, 0.0)), w0);
}

TEST(Trader, WithoutASignalWhatIsHeldIsKept) {
  for (const bool broken : {false, true}) {
    Case c(3, 8, 3);
    c.s.setZero();
    if (broken) c.s(2) = sharpen::testing::kNaN;
    const solve::Answer ideal = c.ideal();
    for (const Rule rule : {Rule::band, Rule::cost}) {
      const solve::Answer out = c.decide(rule);
      EXPECT_EQ(Case::weights(out), c.held) << name(rule);
      EXPECT_EQ(out.portfolio.outcome.status, ideal.portfolio.outcome.status);
    }
  }
}

TEST(Trader, DecidesOnWhatIsHeldWhereTheIdealHoldsNothing) {
  Case c(4, 6, 1);
  c.s = -c.s.cwiseAbs();  // one name alone, none of which earns: nothing is best
  c.held.setZero();
  c.held(2) = 2.0;
  EXPECT_TRUE(c.ideal().portfolio.support.empty());
  const VectorXd w = Case::weights(c.decide(Rule::cost));
  EXPECT_LT(w(2), 2.0);
  EXPECT_GE(w.sum(), 0.0);
  c.costs.setConstant(100.0);
  EXPECT_EQ(Case::weights(c.decide(Rule::cost)), c.held);
}

TEST(Trader, KeepsTheLimitsOfTheProblem) {
  for (unsigned seed = 0; seed < 20; ++seed)
    for (const auto kind :
         {layer::Objective::sharpe, layer::Objective::expected_return, layer::Objective::utility})
      for (const Rule rule : {Rule::cost, Rule::band, Rule::none}) {
        Case c(seed, 9, 4);
        c.held = c.held.cwiseAbs();
        if (c.held.sum() > 0.0) c.held /= std::max(1.0, c.held.sum());
        c.limits.emplace();
        c.limits->lower.assign(9, 0.0);
        c.limits->upper.assign(9, 0.45);
        if (kind != layer::Objective::sharpe)
          c.limits->rows.push_back(
              {.name = "net <= 1", .coefficients = std::vector<double>(9, 1.0), .upper = 1.0});
        c.settings.objective = {.kind = kind, .volatility = kVolatility, .risk_aversion = 80.0};
        c.settings.limits = std::make_shared<const layer::LimitRules>();
        const VectorXd w = Case::weights(c.decide(rule));
        const std::string what = fmt::format("{} {} {}", seed, name_of(kind), name(rule));
        EXPECT_GE(w.minCoeff(), -1e-12) << what;
        EXPECT_LE(w.maxCoeff(), 0.45 + 1e-10) << what;
        EXPECT_LE((w.array() != 0.0).count(), 4) << what;
        EXPECT_LE(w.sum(), 1.0 + 1e-9) << what;
        EXPECT_GE(w.sum(), kind == layer::Objective::sharpe ? 1.0 - 1e-9 : 0.0) << what;
        if (rule != Rule::cost) continue;
        const VectorXd near = Case::weights(c.decide(rule, 1e-9));
        EXPECT_LT((near - Case::weights(c.ideal())).cwiseAbs().maxCoeff(), 1e-5) << what;
      }
}

TEST(Trader, BandMovesToTheNearEdgeOfEachTarget) {
  Case c(5, 6, 3);
  c.optimizer = "mssrm";  // keeps no limits: the band is all there is
  const VectorXd w0 = Case::weights(c.ideal());
  c.held = w0;
  std::vector<Index> K;
  for (Index i = 0; i < c.n; ++i)
    if (w0(i) != 0.0) K.push_back(i);
  ASSERT_EQ(K.size(), 3U);
  const Index other = w0(0) == 0.0 ? 0 : w0(1) == 0.0 ? 1 : w0(2) == 0.0 ? 2 : 3;
  c.held(K[0]) = 1.2 * w0(K[0]);
  c.held(K[1]) = 1.5 * w0(K[1]);
  c.held(K[2]) = 0.0;
  c.held(other) = 0.05;
  const VectorXd w = Case::weights(c.decide(Rule::band));
  EXPECT_EQ(w(K[0]), c.held(K[0]));
  EXPECT_NEAR(w(K[1]), 1.3 * w0(K[1]), 1e-15);
  EXPECT_NEAR(w(K[2]), 0.7 * w0(K[2]), 1e-15);
  EXPECT_EQ(w(other), 0.0);
}

// S(K) by the formulas of select.hpp.
double value_of(const Case& c, const std::vector<Index>& K) {
  const auto m = static_cast<Index>(K.size());
  if (m == 0) return 0.0;
  MatrixXd S(m, m);
  VectorXd mu(m);
  for (Index a = 0; a < m; ++a) {
    mu(a) = c.s(K[at(a)]);
    for (Index b = 0; b < m; ++b) S(a, b) = c.Sigma(K[at(a)], K[at(b)]);
  }
  const VectorXd x = S.ldlt().solve(mu), one = S.ldlt().solve(VectorXd::Ones(m));
  const double C = mu.dot(x), B = x.sum();
  return B > 0.0 ? C : C - B * B / one.sum();
}

TEST(Trader, BandPrefersHeldNamesUnlessAnotherGainsThreeTimesAsMuch) {
  Index preferred = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Case c(seed, 9, 3);
    const VectorXd w = Case::weights(c.decide(Rule::band));
    std::vector<Index> K;
    for (Index i = 0; i < c.n; ++i)
      if (w(i) != 0.0) K.push_back(i);
    EXPECT_LE(std::ssize(K), c.k);
    EXPECT_GE(w.sum(), -1e-12);
    for (const Index h : K) preferred += Case::weights(c.ideal())(h) == 0.0;
    if (std::ssize(K) < c.k) continue;
    for (const Index j : K) {
      if (c.held(j) != 0.0) continue;
      std::vector<Index> rest;
      for (const Index i : K)
        if (i != j) rest.push_back(i);
      const double without = value_of(c, rest), gain = value_of(c, K) - without;
      for (Index h = 0; h < c.n; ++h) {
        if (c.held(h) == 0.0 || w(h) != 0.0) continue;
        std::vector<Index> with = rest;
        with.push_back(h);
        EXPECT_GT(gain, 3.0 * (value_of(c, with) - without) - 1e-9) << seed << " " << j << " " << h;
      }
    }
  }
  EXPECT_GT(preferred, 5);
}

TEST(Trader, SaysWhatATradeGainsAndCosts) {
  Index done = 0, left = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    Case c(seed, 8, 8);
    c.settings.net = seed % 2 == 0 ? layer::Net::any : layer::Net::positive;
    c.costs *= 5.0;
    Trader trader({.rule = Rule::cost}, solve::optimizer_named("swap"), c.settings, kYear);
    solve::Answer out;
    const solve::Answer ideal = c.ideal();
    trader.decide(c.problem(), ideal, c.standing(), out);
    const VectorXd w = Case::weights(out), w0 = Case::weights(ideal);
    const double scale = 30.0 / std::sqrt(kYear);
    const auto u = [&](const VectorXd& x) {
      return c.s.dot(x) - 0.5 * c.gamma() * x.dot(c.Sigma * x);
    };
    const bool neutral = std::abs(w.sum()) < 1e-9;
    for (const TradeReason& reason : trader.reasons(c.problem(), ideal, c.standing(), out)) {
      const Index i = reason.asset;
      EXPECT_EQ(reason.from, c.held(i));
      EXPECT_EQ(reason.to, w(i));
      EXPECT_EQ(reason.ideal, w0(i));
      EXPECT_EQ(reason.done, w(i) != c.held(i));
      const double to = reason.done ? w(i) : w0(i);
      EXPECT_NEAR(reason.cost, c.costs(i) * std::abs(to - c.held(i)), 1e-15);
      if (reason.done) {
        ++done;
        EXPECT_GE(reason.gain, reason.cost - 1e-9) << seed << " " << i;
      } else {
        ++left;
        EXPECT_LE(reason.gain, reason.cost + 1e-9) << seed << " " << i;
      }
      if (neutral) continue;
      VectorXd x = w;
      x(i) = reason.done ? c.held(i) : w0(i);
      const double gain = scale * (reason.done ? u(w) - u(x) : u(x) - u(w));
      EXPECT_NEAR(reason.gain, gain, 1e-12) << seed << " " << i;
      if (!reason.done || w(i) == 0.0) continue;
      // A unit more gains what it costs, to first order.
      const double slope = c.s(i) - c.gamma() * (c.Sigma * w)(i);
      EXPECT_NEAR(slope, std::copysign(c.kappa()(i), w(i) - c.held(i)), 1e-9);
    }
  }
  EXPECT_GT(done, 20);
  EXPECT_GT(left, 20);
}

// mu in whatever unit: the gain is that of the signal that it stands for.
TEST(Trader, SaysTheSameOfASignalInAnotherUnit) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    Case c(seed, 8, 5);
    Trader trader({.rule = seed % 2 == 0 ? Rule::none : Rule::band}, solve::optimizer_named("swap"),
                  c.settings, kYear);
    std::vector<TradeReason> reasons[2];
    for (const double unit : {1.0, 64.0}) {
      c.s *= unit;
      solve::Answer out;
      trader.decide(c.problem(), c.ideal(), c.standing(), out);
      reasons[unit == 1.0 ? 0 : 1] =
          trader.reasons(c.problem(), c.ideal(), c.standing(), out, unit);
    }
    ASSERT_FALSE(reasons[0].empty());
    ASSERT_EQ(reasons[0].size(), reasons[1].size());
    for (std::size_t i = 0; i < reasons[0].size(); ++i)
      EXPECT_NEAR(reasons[0][i].gain, reasons[1][i].gain, 1e-12);
  }
}

// A walk through drifting prices: an account that one trader decides for.
TEST(Trader, DecidesWithoutRegardToWhatItDecidedBefore) {
  for (const Rule rule : {Rule::cost, Rule::band}) {
    Problems problems(9);
    Case c(9, 12, 4);
    Trader one({.rule = rule}, solve::optimizer_named("swap"), c.settings, kYear);
    for (int day = 0; day < 25; ++day) {
      c.s += 0.3 * c.s.norm() / std::sqrt(12.0) * problems.vector(12);
      solve::Answer out;
      one.decide(c.problem(), c.ideal(), c.standing(), out);
      EXPECT_EQ(out.portfolio.weights, c.decide(rule).portfolio.weights) << name(rule) << day;
      const VectorXd w = Case::weights(out), r = 0.02 * problems.vector(12);
      c.held = (w.array() * (1.0 + r.array())).matrix() / (1.0 + w.dot(r));
    }
  }
}

TEST(Trader, ChangesNoShareInAWalkAtAHugeCost) {
  Problems problems(10);
  Case c(10, 12, 4);
  VectorXd shares = c.held;
  c.costs.setConstant(100.0);
  double wealth = 1.0;
  VectorXd prices = VectorXd::Ones(12);
  Trader one({.rule = Rule::cost}, solve::optimizer_named("swap"), c.settings, kYear);
  for (int day = 0; day < 60; ++day) {
    c.s = problems.signal(c.Sigma, day % 2 == 0);
    solve::Answer out;
    one.decide(c.problem(), c.ideal(), c.standing(), out);
    ASSERT_EQ(Case::weights(out), c.held) << day;
    const VectorXd r = 0.02 * problems.vector(12);
    wealth *= 1.0 + c.held.dot(r);
    prices = (prices.array() * (1.0 + r.array())).matrix();
    c.held = (shares.array() * prices.array()).matrix() / wealth;
  }
}

TEST(Trader, RefusesTheRuleCostWhereTheOptimizerKnowsNoCosts) {
  EXPECT_THROW(Trader({.rule = Rule::cost}, solve::optimizer_named("mssrm"), {}, kYear),
               InputError);
}

}  // namespace
}  // namespace sharpen::trade
