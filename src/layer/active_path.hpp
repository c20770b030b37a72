// Portfolios under limits: the quadratic programme
//   min  1/2 w^T H w - theta (mu^T w - kappa^T |w - h|)
//   s.t. lower <= w <= upper,  lower_r <= a_r^T w <= upper_r,
//        |w|_1 <= gross,  |w - h|_1 <= turnover
// for H positive definite, solved by following a path of optima.
//
// An asset is free, or rests at a knot: a bound, 0 if gross is limited, h if trading is limited or
// costs. With multipliers lambda of the rows, nu of gross and tau of turnover, let
//   e = theta mu - H w - A^T lambda,
//   phi_i(w) = nu |w| + (theta kappa_i + tau) |w - h_i|  between the bounds.
// The conditions of optimality are: e_i is the slope of phi_i if i is free, and lies between its
// slopes to the left and to the right of a knot (a bound ends at an infinite slope); active rows
// are met and their multipliers have the right sign; the others leave a gap.
//
// Any state that has the signs right is the optimum of *some* data: of those that lie as far from
// ours as it fails to be stationary. So the data, and with them the optimum, move on a straight
// line from there to ours, until a sign is about to turn. Then that asset or row changes sides and
// the line goes on. Where a row that becomes active depends on those that are, multipliers move
// instead, until another one lets go; if none does, the limits cannot hold together. A start needs
// no feasible point, and one near the answer is near it in steps. Ties are resolved by moving the
// state a little into everything that it touches: that changes the data it is optimal for, not
// ours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "layer/free_factor.hpp"
#include "layer/limit_table.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::layer {

struct ExchangeTable;

// H = Sigma_s + diag(more).
struct Curvature {
  const risk::Risk* risk = nullptr;
  Index sample = 0;
  ConstVec more = {};  // (n); empty: zero

  void column(Index j, Vec out, Vec scratch) const;
};

inline double upwards(bool yes) { return yes ? 1.0 : -1.0; }

// Where a path ended: enough to start the next one there, for data that are like these.
struct ActiveSet {
  std::vector<double> w;            // (n)
  std::vector<double> e;            // (n)
  std::vector<double> multipliers;  // (rows)
  std::vector<std::int8_t> side;    // (rows) +1 at the upper limit, -1 at the lower one, 0 inactive
  std::vector<std::int8_t> piece;   // (n) 0 at a knot; +1, -1: free, in the piece above, below `w`
                                    // if that is a knot, around it if not
  double theta = 0.0;
};

class ActivePath {
 public:
  enum class End { reached, infeasible, stuck };

  explicit ActivePath(LimitTable limits);

  // Everything rests where it is held, or at the bound nearest to that. What H and mu (n) refer to
  // must live as long as the path is followed.
  void begin(const Curvature& H, ConstVec mu, double theta);
  void begin_again(double theta) { begin(H_, mu_, theta); }  // of the same, under the same bounds
  void resume(const Curvature& H, ConstVec mu, const ActiveSet& start);
  void keep(ActiveSet& out) const;
  // The bounds (n) for the next start.
  void reset(ConstVec lower, ConstVec upper);
  // A table of the same size, for the next start.
  void reset(const LimitTable& limits);
  // Other bounds for asset i from here on; they hold at the end of the next way. False if that
  // cannot be.
  bool set_bounds(Index i, double lower, double upper);

  // What holds of the optima w0 + theta w1 of the present assets and rows; |x|^2 is x^T Sigma x.
  struct Segment {
    double risk0 = 0.0, risk01 = 0.0, risk1 = 0.0;  // |w0|^2, w0^T Sigma w1, |w1|^2
    double curved0 = 0.0;                           // w0^T H w0
    double return0 = 0.0, return1 = 0.0;            // mu^T w less costs, of w0 and of w1
    double return0_size = 0.0;                      // what return0 is the sum of
  };
  using Wanted = std::optional<double> (*)(const Segment&, double target);

  // To the optimum at theta.
  End follow(double theta);
  // From an optimum, along optima of growing (direction > 0) or falling theta, to the one that is
  // `wanted` of the segment on which it lies; none: beyond that segment. Ends at theta = 0, or
  // kMostTheta times the first theta, where there is none.
  End follow(Wanted wanted, double target, int direction);
  static constexpr double kMostTheta = 0x1p34;
  // The optimum of the present assets and rows at theta, or where it is wanted, as it is whatever
  // the way was: with assets and rows in their order. Only after one that was reached.
  End finish(double theta) { return finish(theta, nullptr, 0.0); }
  End finish(Wanted wanted, double target) { return finish(theta_, wanted, target); }

  double theta() const { return theta_; }
  const Curvature& curvature() const { return H_; }
  double entered() const { return entered_; }  // where the present segment began
  ConstVec weights() const { return w_; }
  ConstVec multipliers() const { return lambda_; }  // (rows)
  ConstVec residual() const { return e_; }
  bool is_free(Index i) const { return factor_.is_free(i); }
  double variance(Index i) const { return H_.risk->diagonal(H_.sample)[at(i)]; }
  // By how much e is above the slope to the right, below that to the left, were there no bounds.
  double gain_above(Index i) const {
    return e_[at(i)] - slope(i, w_[at(i)], true, lambda_, theta_);
  }
  double gain_below(Index i) const {
    return slope(i, w_[at(i)], false, lambda_, theta_) - e_[at(i)];
  }
  Index steps() const { return steps_; }
  // Of limits that cannot hold together: multipliers (rows), of which every w between its bounds
  // makes a sum of rows larger than the limits allow.
  ConstVec proof() const { return ray_; }

  // The present segment; fixed_part() and signal_part() are its w0 and w1 until the next call.
  Segment segment();
  ConstVec fixed_part() const { return to_.w; }
  ConstVec signal_part() const { return along_.w; }
  // H w0 and H w1.
  ConstVec curved_fixed_part() const { return to_.Hw; }
  ConstVec curved_signal_part() const { return along_.Hw; }
  // g (n) becomes x of [H_FF A_RF^T; A_RF 0] [x_F; rho] = [g_F; 0], zero elsewhere.
  void project(Vec g);
  // What a sum g^T w gains per unit by which the knots move at which assets rest, at this theta:
  // g - H x - A^T rho there, zero elsewhere.
  void pull_of_knots(Vec g);
  // Fills in what the leavers and entrants of the table come to, of the last optimum.
  void exchanges(ExchangeTable& table);

 private:
  struct Block {
    double alpha = 1.0;  // how far of the way
    double fall = 0.0;   // how far the sign would turn: of equal alphas the largest is taken
    Index row = -1, asset = -1;
    int direction = 0;
    void offer(double now, double then, double tolerance, const Block& what);
    bool none() const { return row < 0 && asset < 0; }
  };
  struct State {
    std::vector<double> w, Hw, e;       // (n)
    std::vector<double> lambda, value;  // (rows): multipliers, and a_r^T w
  };

  double slope(Index i, double w, bool right, ConstVec multipliers, double theta) const;
  double right_slope(Index i, double w, ConstVec multipliers, double theta) const;
  double left_slope(Index i, double w, ConstVec multipliers, double theta) const;
  void slopes(ConstVec multipliers, double theta, Vec left, Vec right) const;
  double coefficient(Index r, Index i) const;
  double row_value(Index r) const;
  double coefficient_towards(Index r, Index i, int direction) const;
  double cost_past_holding(Index i) const;
  double pull_towards(const State& state, Index i, int direction, double cost) const;

  void clear(const Curvature& H, ConstVec mu, double theta);
  void rest(Index i, double sign);
  void set_piece(Index i, int direction);
  void free(Index i);
  void release(Index i, int direction);
  void pass(Index i, int direction);
  void activate(Index r, int side);
  void deactivate(Index r);
  ConstVec coefficients(Index r);
  double missing(ConstVec combination) const;
  bool start_equalities();

  bool settle(Index row, Index asset, int direction);
  void point_ray(Index q, Index row, Index asset, int direction);
  bool exchange(Index q, Index row, Index asset, int direction);

  void solve(double theta, double fixed, State& out);
  void refine(double theta, double fixed, double held, State& out);
  void spread(double theta, double fixed, double held, State& out);
  double scale(double theta, ConstVec w) const;
  Block first_block(double theta);
  void advance(double alpha, double theta);
  bool change(const Block& block);
  template <class Aim>
  End walk(const Aim& aim);
  void aim_at(double theta);
  End finish(double theta, Wanted wanted, double target);
  void shake(double size);
  void tidy();

  LimitTable limits_;
  Index n_, rows_;
  Curvature H_;
  ConstVec mu_;
  FreeFactor factor_;
  double theta_ = 0.0;
  double entered_ = 0.0;  // theta when an asset or a row changed sides last
  Index steps_ = 0, shakes_ = 0;
  std::vector<double> w_, e_, lambda_, gap_above_, gap_below_;
  std::vector<std::int8_t> side_;
  std::vector<double> low_, high_, gross_sign_, trade_sign_;  // the pieces of free assets
  std::vector<double> H_rest_, row_rest_;                     // H w and rows of the assets at rest
  double size_rest_ = 0.0, largest_signal_ = 0.0;             // of H w at rest, of mu
  State to_, along_;                                          // where the state goes
  std::vector<double> ray_;
  std::vector<double> end_left_, end_right_;  // (n) infinite where a bound, or being free, ends phi
  std::vector<double> left_, right_, pull_;   // (n)
  std::vector<double> by_asset_, by_row_, scratch_;
  std::vector<Index> order_;
  bool refine_ = false;  // the last solutions are worth their digits
  bool tidy_ = false;    // nothing changed since everything was put in order
};

}  // namespace sharpen::layer
