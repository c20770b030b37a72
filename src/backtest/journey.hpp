// One account on its way through the panel.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "sharpen/backtest/walk_forward.hpp"
#include "sharpen/trade/account.hpp"

namespace sharpen::backtest {

class Journey {
 public:
  // Makes decision i of the walk.
  using Decide = std::function<void(Index i, const Standing& standing, Decision& out)>;

  // From `first_row` of the panel, with what the settings say is held. run: gets the columns of the
  // run; null: only the returns are kept. What is referred to must outlive the journey.
  Journey(const market::Panel& returns, const WalkSettings& settings, Index first_row, Index delay,
          Decide decide, Run* run);

  // Lives through the rows before `end`, or to ruin.
  void advance_to(Index end);
  bool ruined() const { return ruined_; }
  const std::vector<double>& returns() const { return net_; }  // after costs

 private:
  // A decision on its way to the market.
  struct Order {
    Index row = 0;  // that it is filled for
    Decision decision;
    std::vector<Index> unchanged;  // names that it leaves as they are

    // weights (n): what is held, to what the order makes of it.
    void fill(Vec weights) const;
  };

  void decide(Index row, Index i);
  void live(Index row);
  // What shall be held over `row`. True if an asset that ended is sold.
  bool set_target(Index row, const Order* filled);
  std::span<const char> fixed_before(Index row) const;
  void record(Index row, const trade::Period& period, bool traded, PeriodStatus status);
  void count(const Decision& filled);
  // Where shares are counted: what they are worth before `row`; and what is held of the target, in
  // whole lots.
  void note_prices(Index row);
  void value_shares(Index row);
  void round_target(Index row);
  void note_trades();
  double cash() const;

  const market::Panel& panel_;
  const WalkSettings& settings_;
  Index row_, delay_;
  Index next_ = 0;  // decision
  Decide decide_;
  Run* run_;
  trade::Account account_;
  std::deque<Order> orders_;      // oldest first
  std::vector<double> target_;    // (n)
  std::vector<double> expected_;  // (n) what will be held when all orders are filled
  std::vector<double> net_;
  std::optional<trade::LotRounder> rounder_;  // none: weights only
  std::vector<double> shares_, prices_;       // (n), the last prices there are
  double wealth_;
  bool filled_any_ = false, ruined_ = false;
};

}  // namespace sharpen::backtest
