// From weights to whole shares.
//
// An account of wealth W in money holds shares h (n) at prices p and the cash C. A decision w (n),
// v before it, asks for x_i = w_i W / p_i shares; held are
//   s_i = h_i                      where w_i = v_i: what is not traded keeps its shares,
//   s_i = lot round(x_i / lot)     else, half away from zero; w_i = 0 is zero shares.
// Orders of less value than the minimum are left out. Rounding never spends what is not there:
//   C - owed - sum_i (s_i - h_i) p_i - costs >= min(0, cash that was decided, C - sum_i (w_i - v_i)
//   W),
// for which purchases are cut by lots: first those that were rounded up, the most value first, then
// the largest ones.
#pragma once

#include <cstdint>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::trade {

struct LotSettings {
  double lot = 1.0;        // 0: fractions of a share, s_i = x_i
  double min_order = 0.0;  // in money
};

// What kept an order from being as it was decided.
enum class Curb : std::uint8_t { none, lot, minimum, cash };

// An account in shares, before a decision is carried out.
struct ShareAccount {
  ConstVec shares;  // (n) h
  ConstVec prices;  // (n) p > 0 where something is held or wanted
  double wealth = 0.0, cash = 0.0;
  double owed = 0.0;  // of the cash, for what is traded elsewhere: no decision knows of it
};

class LotRounder {
 public:
  LotRounder(const LotSettings& settings, Index n);

  // From weights `held` to `wanted` (n). costs (n): per unit traded; empty: none.
  void run(const ShareAccount& account, ConstVec held, ConstVec wanted, ConstVec costs);

  ConstVec shares() const { return shares_; }  // (n) s
  Curb curb(Index i) const { return curbs_[at(i)]; }
  double wanted(Index i) const { return exact_[at(i)]; }  // x, or what is held if w = v

 private:
  double cost(Index i) const { return costs_.empty() ? 0.0 : costs_[at(i)]; }
  double bought(Index i) const { return shares_[at(i)] - account_.shares[at(i)]; }
  double cash_left() const;
  void leave_out_small_orders();
  void keep_cash(double least);
  // Lots off a purchase, at least as many as bring in `missing`, at most `most` of them.
  double cut(Index i, double missing, double most);

  LotSettings settings_;
  ShareAccount account_;
  ConstVec costs_;
  std::vector<double> shares_, exact_;
  std::vector<Curb> curbs_;
  std::vector<Index> order_;
};

}  // namespace sharpen::trade
