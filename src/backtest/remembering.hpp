// Signals with a memory (trade/memory.hpp), row by row of a panel.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "base/vec.hpp"
#include "sharpen/backtest/policies.hpp"
#include "sharpen/trade/memory.hpp"

namespace sharpen::backtest {

class Remembering {
 public:
  // N periods; n columns of the panel.
  Remembering(Index periods, Index n) : memory_(periods), full_(at(n)), out_(at(n)), n_(n) {}

  Index rows() const { return memory_.rows(); }  // M
  void forget() { x_.clear(); }
  // The next row: q and variances (m) of assets, columns of the panel; NaN where it could not be
  // computed.
  void push(std::span<const Index> assets, ConstVec q, ConstVec variances);
  void push_nothing() { push({}, {}, {}); }
  // Of the row that came last, with its assets and variances; out (n), nothing for other assets.
  void signal(std::span<const Index> assets, ConstVec variances, std::span<Expectation> out);

 private:
  trade::Memory memory_;
  std::vector<double> x_;  // (rows so far, n), the last M of which count
  std::vector<double> full_, out_;
  Index n_;
};

// The rows, ascending, that the signals of decisions at `decisions` are made of, from `first` on.
std::vector<Index> remembered_rows(std::span<const Index> decisions, Index memory_rows,
                                   Index first);

}  // namespace sharpen::backtest
