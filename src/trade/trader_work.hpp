// What a Trader works with: one decision at a time, in memory that is kept.
#pragma once

#include <optional>
#include <vector>

#include "sharpen/select/limited.hpp"
#include "sharpen/trade/trader.hpp"

namespace sharpen::trade {

struct Trader::Work {
  Work(const Ruling& ruling_, const solve::OptimizerInfo& optimizer,
       const solve::OptimizerSettings& settings_, double periods_per_year);

  // The decision at hand.
  void look_at(const solve::Problem& problem_, const solve::Answer& ideal_,
               const Standing& standing);
  void decide(solve::Answer& out);

  bool is_fixed(Index i) const { return !fixed.empty() && fixed[at(i)] != 0; }
  bool any_fixed() const;
  bool ideal_keeps_fixed() const;  // and leaves room for what is outside
  bool has_costs() const;
  bool ideal_keeps_turnover() const;
  Index most_names() const;  // k less those outside, or as many as are fixed

  void hold(const Outcome& outcome, select::Portfolio& out);
  void describe(select::Portfolio& out);
  void patch(select::Portfolio& out) const;
  void scale_around_fixed(std::span<const Index> others, select::Portfolio& out) const;
  void make_around_fixed(select::Portfolio& out);
  void solve_around_fixed(select::Portfolio& out);
  void weigh_costs(select::Portfolio& out);
  void keep_to_chosen_names();
  void set_limits();
  void leave_room_for_outside();
  void set_net_limit();
  void limit_net_of_sharpe();
  std::optional<double> risk_aversion();
  double risk_aversion_of_best_name() const;
  bool would_not_trade(double gamma);
  select::LimitedSelector& selector(const layer::ObjectiveSettings& objective);

  // band.cpp
  void move_in_band(select::Portfolio& out);
  layer::ObjectiveSettings own_objective() const;
  void prefer_held_names(select::Portfolio& out);
  void allow_only(std::span<const Index> K);
  bool keeps_all_limits(ConstVec w) const;
  void project(select::Portfolio& out);

  // reasons.cpp
  double worth_of_net(ConstVec w, ConstVec slope) const;
  std::vector<TradeReason> reasons(ConstVec w, double unit);

  const Ruling ruling;
  const bool keeps_limits;
  const bool invests_fully;  // whatever the sizing is
  const select::Optimizer which;
  const solve::OptimizerSettings settings;
  const double horizon_sharpe;  // S H: what a unit of the signal's return is worth over the horizon

  const solve::Problem* problem = nullptr;
  const solve::Answer* ideal = nullptr;
  std::span<const char> fixed;
  Standing::Outside outside;
  std::vector<double> held, kappa, Sw, scratch;  // (n) v, c / (S H)
  layer::Limits limits;

  std::optional<select::LimitedSelector> limited;
  Index n = 0, k = 0;  // of `limited`
  layer::ObjectiveSettings objective;
};

}  // namespace sharpen::trade
