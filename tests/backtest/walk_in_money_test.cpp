// Runs of known targets against an account that is kept in money: drift, costs by kind, delays and
// frozen names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <map>

#include "backtest/panels.hpp"
#include "sharpen/backtest/walk_forward.hpp"
#include "support/files.hpp"

namespace sharpen::backtest::testing {
namespace {

// Weights from the last two rows of the window, some of them short.
double wanted(const market::Panel& panel, Index row, Index j) {
  return 2.0 * panel.matrix()(row, j) - panel.matrix()(row - 1, j) + 0.05;
}

class FromLastRows : public Policy {
 public:
  explicit FromLastRows(const market::Panel& panel) : panel_(panel) {}
  Index least_history() const override { return 2; }
  void decide(const WindowBatch& batch, std::span<Decision> out) const override {
    for (Index i = 0; i < batch.size(); ++i) {
      out[sharpen::at(i)].outcome.status = Status::ok;
      for (const Index j : batch.assets)
        out[sharpen::at(i)].positions.push_back({j, wanted(panel_, batch.decision_row(i), j)});
    }
  }

 private:
  const market::Panel& panel_;
};

constexpr Index kFirst = 4;  // row that is held
constexpr double kRiskFree = 1e-4, kShortFee = 3e-5, kFinancing = 2e-5;

double cost_of(Index j) { return 1e-4 * static_cast<double>(j % 4); }

struct Conditions {
  Index rebalance, delay;
  bool freezes;

  bool frozen(Index row, Index j) const { return freezes && (7 * j + 13 * row) % 11 == 0; }
};

WalkSettings walk_under(const Conditions& conditions, const market::Panel& panel) {
  WalkSettings walk;
  walk.lookback = walk.min_history = kFirst;
  walk.rebalance = conditions.rebalance;
  walk.delay = conditions.delay;
  walk.risk_free = kRiskFree;
  walk.short_fee = kShortFee;
  walk.financing = kFinancing;
  std::string file = "asset,bps\n";
  for (Index j = 0; j < panel.n(); ++j)
    file += fmt::format("{},{}\n", panel.tickers[sharpen::at(j)], j % 4);
  walk.costs =
      std::make_shared<trade::CostBook>(settings::NumberOrFile{.number = 0.0, .file = file},
                                        panel.tickers, panel.left_out, panel.dates.front());
  for (Index t = 0; t < panel.rows(); ++t)
    for (Index j = 0; j < panel.n(); ++j) walk.frozen.push_back(conditions.frozen(t, j));
  return walk;
}

// What is owned of each asset and in cash, in money; costs are paid from cash.
class MoneyAccount {
 public:
  MoneyAccount(const market::Panel& panel, const Conditions& conditions)
      : panel_(panel), conditions_(conditions), money_(sharpen::at(panel.n()), 0.0) {}

  void decide(Index row) {
    std::map<Index, double> order;
    for (Index j = 0; j < panel_.n(); ++j) {
      order[j] = wanted(panel_, row - 1, j);
      if (conditions_.frozen(row - 1, j))
        order[j] = orders_.empty() ? weight(j) : orders_.back().at(j);
    }
    orders_.push_back(order);
  }

  void fill(Index row) {
    const double before = wealth();
    for (Index j = 0; j < panel_.n(); ++j) {
      if (conditions_.frozen(row - 1, j)) continue;
      const double trade = orders_.front().at(j) * before - money_[sharpen::at(j)];
      money_[sharpen::at(j)] += trade;
      cash_ -= trade;
      turnover += std::abs(trade) / before;
      trading += cost_of(j) * std::abs(trade) / before;
    }
    orders_.pop_front();
  }

  void live(Index row) {
    const double before = wealth();
    for (const double m : money_) fee += kShortFee * std::max(0.0, -m) / before;
    financing = kFinancing * std::max(0.0, -cash_ / before);
    cash_ *= 1.0 + kRiskFree;
    for (Index j = 0; j < panel_.n(); ++j) money_[sharpen::at(j)] *= 1.0 + panel_.matrix()(row, j);
    gross = wealth() / before - 1.0;
    cash_ -= before * (trading + fee + financing);
    net = wealth() / before - 1.0;
  }

  void begin_period() { turnover = trading = fee = financing = 0.0; }
  double weight(Index j) const { return money_[sharpen::at(j)] / wealth(); }

  double turnover = 0.0, trading = 0.0, fee = 0.0, financing = 0.0, gross = 0.0, net = 0.0;

 private:
  double wealth() const {
    double all = cash_;
    for (const double m : money_) all += m;
    return all;
  }

  const market::Panel& panel_;
  Conditions conditions_;
  std::vector<double> money_;
  double cash_ = 1.0;
  std::deque<std::map<Index, double>> orders_;
};

void expect_the_account_in_money(const market::Panel& panel, const Conditions& conditions) {
  const backtest::Run run =
      walk_forward(panel, FromLastRows(panel), walk_under(conditions, panel), Threads(1));
  ASSERT_EQ(run.periods(), panel.rows() - kFirst);
  MoneyAccount account(panel, conditions);
  double fees = 0.0, financing = 0.0;
  for (Index row = kFirst; row < panel.rows(); ++row) {
    const auto p = sharpen::at(row - kFirst);
    const Index since = row - kFirst, decided = since - conditions.delay;
    account.begin_period();
    if (since % conditions.rebalance == 0) account.decide(row);
    const bool fills = decided >= 0 && decided % conditions.rebalance == 0;
    if (fills) {
      account.fill(row);
      EXPECT_NEAR(run.turnover[p], account.turnover, 1e-12);
    } else {
      EXPECT_TRUE(std::isnan(run.turnover[p]));
    }
    for (const Position& held : run.weights_of(since))
      ASSERT_NEAR(held.weight, account.weight(held.asset), 1e-12);
    account.live(row);
    ASSERT_NEAR(run.gross_returns[p], account.gross, 1e-12) << run.dates[p];
    ASSERT_NEAR(run.trading_costs[p], account.trading, 1e-12) << run.dates[p];
    ASSERT_NEAR(run.short_fees[p], account.fee, 1e-12) << run.dates[p];
    ASSERT_NEAR(run.financing[p], account.financing, 1e-12) << run.dates[p];
    ASSERT_NEAR(run.returns[p], account.net, 1e-12) << run.dates[p];
    EXPECT_EQ(run.costs[p], run.trading_costs[p] + run.short_fees[p] + run.financing[p]);
    EXPECT_EQ(run.status[p] == PeriodStatus::idle, decided < 0);
    fees += account.fee;
    financing += account.financing;
  }
  EXPECT_GT(fees, 0.0);
  if (panel.n() > 10) {
    EXPECT_GT(financing, 0.0);
  }
}

TEST(WalkInMoney, AgreesOnRealData) {
  const std::string folder = sharpen::testing::data_folder();
  if (folder.empty())
    GTEST_SKIP() << "the test data are not here; set SHARPEN_TEST_DATA to their folder";
  const market::Panel panel = market::simple_returns(market::select_dates(
      market::read_panel(folder + "/sp500_20_1990_2022.csv", market::PanelKind::prices), "2018",
      "2022"));
  for (const Index rebalance : {1, 4})
    for (const Index delay : {0, 1, 3, 6})
      for (const bool freezes : {false, true})
        expect_the_account_in_money(panel, {rebalance, delay, freezes});
}

TEST(WalkInMoney, AgreesOnSimulatedData) {
  for (const Index delay : {0, 2}) {
    market::Panel panel = random_panel(80, 5, 3);
    for (double& r : panel.values) r *= 5.0;  // so that some weights are short
    expect_the_account_in_money(panel, {3, delay, true});
  }
}

}  // namespace
}  // namespace sharpen::backtest::testing
