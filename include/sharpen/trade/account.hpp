// The account: what is held, what it drifts to, and what that costs.
//
// Shares of wealth W at the end of a period: v (n), the rest is cash. A trade to w, then a period
// of returns r with risk-free rate f, in shares of W:
//   gross     = w^T r + (1 - sum w) f                  cash earns f, what is borrowed pays it
//   trading   = sum_i c_i |w_i - v_i|                  paid from cash
//   short_fee = fee sum_i max(0, -w_i)                 per period
//   financing = spread max(0, sum w - 1)               per period, above f
//   W next    = W (1 + gross - trading - short_fee - financing)
//   v next    = w (1 + r) / (1 + gross - all costs)
// A name without a return earned nothing. The account is ruined when W next <= 0: nothing is left
// of it then, v = 0.
#pragma once

#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::trade {

// What a period cost, by kind, in shares of the wealth before it.
struct Costs {
  double trading = 0.0, short_fee = 0.0, financing = 0.0;

  double total() const { return trading + short_fee + financing; }
};

// Per period, of one period.
struct Rates {
  ConstVec trading = {};  // (n) c per unit traded: 5e-4 for 5 basis points
  double short_fee = 0.0, financing = 0.0, risk_free = 0.0;
};

struct Period {
  double gross = 0.0;     // return before costs
  double turnover = 0.0;  // sum |w - v|
  Costs costs;
  bool ruined = false;

  double net() const { return gross - costs.total(); }
};

class Account {
 public:
  explicit Account(Index n);  // all cash

  // v (n), of wealth as it is now.
  ConstVec weights() const { return held_; }
  void hold(ConstVec weights) { held_.assign(weights.begin(), weights.end()); }
  // Trades to `target` (n) and lives through `returns` (n, NaN for none). `target` may be what
  // weights() gives.
  Period live(ConstVec target, ConstVec returns, const Rates& rates);

 private:
  std::vector<double> held_;
};

}  // namespace sharpen::trade
