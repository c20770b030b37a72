// Portfolios under limits in small markets whose answers are plain: ends of every kind, and limits
// that are not in order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "layer/limited_instances.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::layer::limited {
namespace {

using ::testing::HasSubstr;

// A small market of uncorrelated names.
struct Small {
  explicit Small(std::vector<double> signal)
      : mu(Eigen::Map<const VectorXd>(signal.data(), static_cast<Index>(signal.size()))),
        w(mu.size()),
        risk(risk_of(1e-4 * RowMatrix::Identity(mu.size(), mu.size()))) {}

  LimitedEnd solve(const ObjectiveSettings& objective, const Limits& limits, ConstVec more = {}) {
    LimitedSolver solver(objective, limits, mu.size());
    return solver.forward(*risk, 0, view(mu), more, state, view(w));
  }

  VectorXd mu, w;
  std::unique_ptr<risk::Risk> risk;
  LimitedState state;
};

// Rows that say what others say are no contradiction.
TEST(Limited, EqualitiesMayFollowFromEachOther) {
  Small market({0.01, 0.02, 0.03, -0.01});
  Limits limits;
  limits.lower.assign(4, 0.0);
  limits.rows = {{"net again", {1.0, 1.0, 1.0, 1.0}, 1.0, 1.0},
                 {"nothing", {0.0, 0.0, 0.0, 0.0}, 0.0, 0.0}};
  EXPECT_EQ(market.solve({}, limits), LimitedEnd::ok);
  EXPECT_NEAR(market.w(2), 0.5, 1e-12);
  limits.rows = {{"first", {1.0, 1.0, 0.0, 0.0}, 0.4, 0.4},
                 {"rest", {0.0, 0.0, 1.0, 1.0}, 0.6, 0.6}};
  market.state = {};
  EXPECT_EQ(market.solve({}, limits), LimitedEnd::ok);
  EXPECT_NEAR(market.w(0) + market.w(1), 0.4, 1e-12);
  limits.rows[1].lower = limits.rows[1].upper = 0.7;
  market.state = {};
  EXPECT_EQ(market.solve({}, limits), LimitedEnd::infeasible);
}

TEST(Limited, EveryWeightMayBeGiven) {
  Small market({0.01, -0.02});
  Limits limits;
  limits.lower = limits.upper = {0.25, 0.75};
  EXPECT_NE(market.solve({}, limits), LimitedEnd::infeasible);
  EXPECT_EQ(market.w(0), 0.25);
  EXPECT_EQ(market.w(1), 0.75);
  limits.lower = limits.upper = {0.25, 0.5};
  market.state = {};
  EXPECT_EQ(market.solve({}, limits), LimitedEnd::infeasible);
}

// Without a best portfolio of net position 1, and without risk to spend, theta has no value of its
// own: starts from such states do not drift.
TEST(Limited, EndsWithoutAThetaCanBeStartedFrom) {
  Small neutral({-0.01, -0.02, -0.03});
  Small rich({0.01, 0.02, 0.03});
  Limits caps;
  caps.lower.assign(3, 0.0);
  caps.upper.assign(3, 0.1);
  ObjectiveSettings spend;
  spend.kind = Objective::expected_return;
  spend.volatility = 1.0;
  for (int i = 0; i < 80; ++i) {
    ASSERT_EQ(neutral.solve({}, {}), LimitedEnd::neutral) << i;
    EXPECT_NEAR(neutral.w(0), 0.5, 1e-9) << i;
    ASSERT_EQ(rich.solve(spend, caps), LimitedEnd::below_risk) << i;
    EXPECT_NEAR(rich.w.sum(), 0.3, 1e-12) << i;
  }
}

// What adds up to zero but for rounding is zero: the best position has no net.
TEST(Limited, AReturnOfRoundingIsNone) {
  for (const std::vector<double>& mu : {std::vector<double>{0.1, 0.2, -0.3}, {0.3, -0.1, -0.2}}) {
    Small market(mu);
    EXPECT_EQ(market.solve({}, {}), LimitedEnd::neutral);
    EXPECT_LT(market.w.lpNorm<1>(), 1.0 + 1e-9);
  }
}

// Under a mask the risk of the path falls before it grows.
TEST(Limited, RiskIsSpentWhereItFallsAtFirst) {
  Small market({0.1, 0.0});
  ObjectiveSettings objective;
  objective.kind = Objective::expected_return;
  objective.volatility = std::sqrt(0.6e-4);
  Limits net;
  net.rows = {{"net", {1.0, 1.0}, 1.0, 1.0}};
  const std::vector<double> more = {8e-4, 0.0};
  EXPECT_EQ(market.solve(objective, net, more), LimitedEnd::ok);
  EXPECT_NEAR(market.w.squaredNorm(), 0.6, 1e-9);
  EXPECT_GT(market.w(0), market.w(1));
}

TEST(Limited, AMaskThatIsNotFiniteIsAnOutcome) {
  Small market({0.1, 0.2});
  const std::vector<double> more = {0.0, kInf};
  EXPECT_EQ(market.solve({}, {}, more), LimitedEnd::invalid_input);
}

TEST(Limits, SayWhatIsNotInOrder) {
  const auto message = [](const Limits& limits) -> std::string {
    try {
      limits.validate(2);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  Limits limits;
  EXPECT_EQ(message(limits), "");
  limits.lower = {0.0, 0.3};
  limits.upper = {1.0, 0.2};
  EXPECT_THAT(message(limits), HasSubstr("the weight of asset 2 must lie between 0.3 and 0.2"));
  limits = {};
  limits.lower = {0.0};
  EXPECT_THAT(message(limits), HasSubstr("lower has 1 entries for 2 assets"));
  limits = {};
  limits.rows = {{"Energy", {1.0, std::nan("")}, 0.0, 1.0}};
  EXPECT_THAT(message(limits), HasSubstr("row 'Energy' of asset 2 is nan"));
  limits = {};
  limits.gross = -1.0;
  EXPECT_THAT(message(limits), HasSubstr("gross is at most -1"));
  limits = {};
  limits.turnover = 0.1;
  EXPECT_THAT(message(limits), HasSubstr("give holdings"));
  limits.holdings = {0.0, 0.0};
  limits.costs = {0.0, -1e-4};
  EXPECT_THAT(message(limits), HasSubstr("the cost of asset 2 is -0.0001"));
}

}  // namespace
}  // namespace sharpen::layer::limited
