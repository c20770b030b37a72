// A policy maps windows of past returns to weights; the engine (walk_forward.hpp) does the rest.
//
// A decision is made at the end of panel row d, knows the rows up to and including d, and is held
// over row d + 1. Whatever a policy keeps (a signal, a trained network) must keep to that rule too.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sharpen/base/control.hpp"
#include "sharpen/base/status.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/trade/trader.hpp"

namespace sharpen::backtest {

struct Position {
  Index asset = 0;  // column of the panel
  double weight = 0.0;

  bool operator==(const Position&) const = default;
};

struct Decision {
  Outcome outcome;
  std::vector<Position> positions;  // non-zero weights, ascending by asset; empty for cash
  // Whether names at the weight they were held at are not traded, however late the order is filled.
  bool keeps_unchanged = false;
  // Of an optimizer that iterates: its steps, and whether it proved what it promises
  // (docs/baselines.md).
  Index iterations = 0;
  bool certified = false;
  std::vector<trade::TradeReason> reasons = {};  // by column of the panel, if they are asked for
};

// Consecutive decisions over the same assets, with windows of the same length T. Window i is
// rows [ends[i] - T, ends[i]) of `returns`; a policy may read later rows for later windows only.
struct WindowBatch {
  ConstMat returns;               // (R, m), finite; nothing after the last window
  Index lookback = 0;             // T; 0 before the first row of the panel
  std::span<const Index> ends;    // ascending, rows of `returns`
  Index first_row = 0;            // of the panel, that row 0 of `returns` is
  std::span<const Index> assets;  // (m) columns of the panel, ascending
  Stop stop = {};                 // for policies that take their time over one decision

  Index size() const { return static_cast<Index>(ends.size()); }
  Index end(Index i) const { return ends[static_cast<std::size_t>(i)]; }
  ConstMat window(Index i) const { return returns.middle_rows(end(i) - lookback, lookback); }
  // The panel row at whose end decision i is made; -1 before the first one.
  Index decision_row(Index i) const { return first_row + end(i) - 1; }
};

// What a decision may know of the account, by column of the panel.
struct Standing {
  ConstVec holdings = {};                 // (n) weights before the trade
  ConstVec costs = {};                    // (n) per unit traded; empty: none
  std::span<const char> fixed = {};       // (n) not 0: cannot be traded now; empty: all can
  trade::Standing::Outside outside = {};  // held fast in names that the panel does not have
};

// What the decisions of a batch need that does not depend on the account, until they are made.
class PreparedBatch {
 public:
  virtual ~PreparedBatch() = default;
};

// Makes prepared decisions one by one, in the order of time, for one account.
class Settler {
 public:
  virtual ~Settler() = default;
  // Decision i of the batch; overwrites `out`. Never throws for the values of anything.
  virtual void settle(const WindowBatch& batch, const PreparedBatch& prepared, Index i,
                      const Standing& standing, Decision& out) = 0;
};

class Policy {
 public:
  virtual ~Policy() = default;

  // Rows without which there is no decision: 0 for a policy that needs no history. Such a policy
  // is given windows of the least history only, the others windows of the full lookback.
  virtual Index least_history() const = 0;

  // Whether the asset may be held at all by a decision at the end of panel row `row`. For what
  // the policy itself may lack, such as a prediction; windows with gaps are the engine's affair.
  virtual bool usable(Index /*row*/, Index /*asset*/) const { return true; }

  // Decisions per batch: few enough to share the memory of m assets and windows of T rows.
  virtual Index batch_size(Index /*m*/, Index /*T*/) const { return 32; }

  // True for a policy that carries something from one decision to the next: its batches then
  // come one after the other, oldest first.
  virtual bool sequential() const { return false; }

  // Fills one Decision per window. Called from several threads at once unless sequential. Never
  // throws for the values of returns: a decision that cannot be made is an outcome. May throw
  // Interrupted.
  virtual void decide(const WindowBatch& batch, std::span<Decision> out) const = 0;

  // Whether decisions look at what is held. They are then made in two stages in place of decide():
  // prepare(), which is called as decide() is, and a settler for each account.
  virtual bool sees_account() const { return false; }
  virtual std::unique_ptr<PreparedBatch> prepare(const WindowBatch& /*batch*/) const {
    return nullptr;
  }
  virtual std::unique_ptr<Settler> settler() const { return nullptr; }
};

}  // namespace sharpen::backtest
