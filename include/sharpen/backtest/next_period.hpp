// The decision at the end of a panel, from any account: the last step of a backtest that would go
// on (docs/orders.md). It is made by the walk itself (walk_forward.hpp), over a period of which
// nothing is known yet.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sharpen/backtest/backtest.hpp"
#include "sharpen/trade/account.hpp"
#include "sharpen/trade/trader.hpp"

namespace sharpen::backtest {

struct Ready;

// What is held at the end of the panel, by column of NextPeriod::returns().
struct AccountNow {
  std::vector<double> weights;  // (n) shares of the wealth
  std::vector<char> fixed;      // (n) not 0: cannot be traded; empty: all can
  // In shares, if they are counted in lots: money, of which `elsewhere` is neither cash nor here,
  // and `owed` is what trades elsewhere cost.
  std::vector<double> shares;  // (n)
  double wealth = 1.0, elsewhere = 0.0, owed = 0.0;
  // Held fast in names that are none of the columns, in shares of the wealth.
  trade::Standing::Outside outside = {};
};

class NextPeriod {
 public:
  // As backtest() has them; a model is needed for pfl and dfl. With settings.prices, shares are
  // counted in lots. Throws InputError likewise.
  NextPeriod(const market::Panel& returns, BacktestSettings settings,
             const market::Panel* signal = nullptr, const learn::Model* model = nullptr);

  // Up to the decision, with the columns that can be held.
  const market::Panel& returns() const { return returns_; }
  // (n) names that cannot be traded today by --tradable; empty: all can.
  std::vector<char> frozen() const;
  // The same of assets that are none of the columns; of those that the file does not have, all can.
  std::vector<char> frozen_others(std::span<const std::string> assets) const;
  std::vector<double> costs() const;  // (n) per unit traded today
  // Of an asset that is none of the columns; where a file has no rate of it, the mean of these.
  double cost_of_other(const std::string& asset) const;
  // Whether today is a day of decision; if not, periods until the next one.
  bool decides() const { return wait_ == 0; }
  Index wait() const { return wait_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  trade::Rates rates() const;  // per period, but for trading

  // One period: what shall be held, what is traded for it, and why. Throws Interrupted.
  Run decide(const AccountNow& account, const Threads& threads, const Control& control) const;

 private:
  BacktestSettings settings_;
  const market::Panel* signal_;
  const learn::Model* model_;
  std::shared_ptr<const Ready> ready_;  // with the period to come
  market::Panel returns_;
  std::vector<std::string> warnings_;
  Index wait_ = 0;
};

}  // namespace sharpen::backtest
