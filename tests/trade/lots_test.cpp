#include "sharpen/trade/lots.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sharpen/base/random.hpp"

namespace sharpen::trade {
namespace {

using ::testing::ElementsAre;

// An account of three names and what becomes of a decision.
struct Desk {
  std::vector<double> shares = {0.0, 0.0, 0.0}, prices = {10.0, 25.0, 40.0};
  double cash = 1000.0;
  LotSettings settings = {.lot = 1.0, .min_order = 0.0};
  std::vector<double> costs = {};
  double owed = 0.0;

  double wealth() const {
    double sum = cash;
    for (std::size_t i = 0; i < shares.size(); ++i) sum += shares[i] * prices[i];
    return sum;
  }
  std::vector<double> weights() const {
    std::vector<double> out;
    for (std::size_t i = 0; i < shares.size(); ++i) out.push_back(shares[i] * prices[i] / wealth());
    return out;
  }
  LotRounder run(const std::vector<double>& wanted) const {
    LotRounder rounder(settings, static_cast<Index>(shares.size()));
    rounder.run(
        {.shares = shares, .prices = prices, .wealth = wealth(), .cash = cash, .owed = owed},
        weights(), wanted, costs);
    return rounder;
  }
  double cash_after(const LotRounder& rounder) const {
    double out = cash - owed;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const double value = (rounder.shares()[i] - shares[i]) * prices[i];
      out -= value + (costs.empty() ? 0.0 : costs[i] * std::abs(value));
    }
    return out;
  }
};

TEST(LotRounder, RoundsToTheNearestLotHalfAwayFromZero) {
  Desk desk;
  desk.settings.lot = 5.0;
  // 17.5 shares are three and a half lots; -20 are four; 6.25 are one and a quarter.
  const LotRounder found = desk.run({0.175, -0.5, 0.25});
  EXPECT_THAT(found.shares(), ElementsAre(20.0, -20.0, 5.0));
}

TEST(LotRounder, WhatIsNotTradedKeepsItsShares) {
  Desk desk;
  desk.shares = {7.0, -3.0, 0.0};
  desk.settings.lot = 5.0;
  std::vector<double> wanted = desk.weights();
  EXPECT_THAT(desk.run(wanted).shares(), ElementsAre(7.0, -3.0, 0.0));
  wanted[2] = 0.4;
  EXPECT_THAT(desk.run(wanted).shares(), ElementsAre(7.0, -3.0, 10.0));
}

TEST(LotRounder, WhatGoesEndsAtZero) {
  Desk desk;
  desk.shares = {-300.0, 13.0, 0.0};
  desk.cash = 9000.0;
  desk.settings.lot = 100.0;
  const LotRounder found = desk.run({0.0, 0.0, 0.0});
  EXPECT_THAT(found.shares(), ElementsAre(0.0, 0.0, 0.0));
  EXPECT_FALSE(std::signbit(found.shares()[0]));
}

TEST(LotRounder, LeavesOutOrdersBelowTheMinimum) {
  Desk desk;
  desk.settings.min_order = 100.0;
  const LotRounder found = desk.run({0.09, 0.1, 0.001});
  EXPECT_THAT(found.shares(), ElementsAre(0.0, 4.0, 0.0));
  EXPECT_EQ(found.curb(0), Curb::minimum);
  EXPECT_EQ(found.curb(1), Curb::none);
  EXPECT_EQ(found.curb(2), Curb::lot);
}

TEST(LotRounder, NeverSpendsCashThatIsNotThere) {
  Random random(7, 0);
  int cut = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Desk desk;
    desk.costs = {5e-4, 1e-3, 2e-3};
    desk.settings.lot = trial % 2 == 0 ? 1.0 : 4.0;
    desk.settings.min_order = trial % 3 == 0 ? 60.0 : 0.0;
    for (double& shares : desk.shares)
      shares = std::round(20.0 * random.uniform_open() - 5.0) * desk.settings.lot;
    if (!(desk.wealth() > 100.0)) continue;
    std::vector<double> wanted;
    double sum = 0.0;
    for (int i = 0; i < 3; ++i) sum += wanted.emplace_back(1.5 * random.uniform_open() - 0.3);
    if (trial % 5 == 0)
      for (double& w : wanted) w /= sum;  // nothing is left beside
    if (trial % 5 == 0) sum = 1.0;
    const LotRounder found = desk.run(wanted);
    double decided = desk.cash;
    bool buys = false;
    for (std::size_t i = 0; i < 3; ++i) {
      decided -= (wanted[i] - desk.weights()[i]) * desk.wealth();
      buys = buys || found.shares()[i] > desk.shares[i];
      cut += found.curb(static_cast<Index>(i)) == Curb::cash;
      const double traded = std::abs(found.shares()[i] - desk.shares[i]) * desk.prices[i];
      EXPECT_TRUE(traded == 0.0 || traded >= desk.settings.min_order) << trial;
    }
    // Sales alone may cost what is not there, and nothing can be cut then.
    if (buys) {
      EXPECT_GE(desk.cash_after(found), std::min(0.0, decided) - 1e-9) << trial;
    }
  }
  EXPECT_GT(cut, 100);
}

// Without lots shares are what was decided, but for small orders and for cash.
TEST(LotRounder, KeepsTheMinimumAndTheCashOfFractions) {
  Desk desk;
  desk.settings = {.lot = 0.0, .min_order = 100.0};
  desk.shares = {0.5, 0.0, 0.0};
  desk.cash = 995.0;
  const LotRounder found = desk.run({0.05, 0.5, 0.333});
  EXPECT_THAT(found.shares(), ElementsAre(0.5, 20.0, 8.325));
  EXPECT_EQ(found.curb(0), Curb::minimum);
  EXPECT_EQ(found.curb(1), Curb::none);
  // All of the wealth is wanted, and neither costs nor what is owed elsewhere is there.
  desk.costs = {1e-3, 1e-3, 1e-3};
  desk.owed = 30.0;
  const LotRounder all = desk.run({0.0, 0.6, 0.4});
  EXPECT_NEAR(desk.cash_after(all), 0.0, 1e-9);
  EXPECT_EQ(all.curb(1), Curb::cash);
  desk.settings.lot = 1.0;
  EXPECT_GE(desk.cash_after(desk.run({0.0, 0.6, 0.4})), 0.0);
}

// Found by looking at every way to round up or down: cutting gives up as little as it can of one.
TEST(LotRounder, CutsWhatWasRoundedUpFirst) {
  Desk desk;  // 1000: 45.6 shares of 10, 10.88 of 25, 6.8 of 40: all rounded up
  const LotRounder found = desk.run({0.456, 0.272, 0.272});
  EXPECT_THAT(found.shares(), ElementsAre(46.0, 11.0, 6.0));
  EXPECT_EQ(found.curb(2), Curb::cash);
  EXPECT_NEAR(desk.cash_after(found), 25.0, 1e-9);
}

}  // namespace
}  // namespace sharpen::trade
