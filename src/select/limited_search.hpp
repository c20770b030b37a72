// Portfolios of at most k names under limits. The value of a support is what the limits allow on
// it (layer/limited.hpp); exchanges are ranked by what they are worth while everything else stays
// on its side (layer/exchange_table.hpp), and confirmed by solving again from the last solution.
//
// The best portfolio of any number of names comes first; limits such as long-only hold few. Where
// it holds more than k, names go by least loss, then (`exchange`) names are exchanged while the
// value grows. A name held by less than it must be is either raised to that, on its side, or goes.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "layer/exchange_table.hpp"
#include "sharpen/base/control.hpp"
#include "sharpen/layer/limited.hpp"

namespace sharpen::select {

class LimitedSearch {
 public:
  LimitedSearch(const layer::ObjectiveSettings& objective, const layer::Limits& limits, Index n,
                Index k);

  // w (n), with at most k entries that are not zero; NaN where none was found, which is proved only
  // for limits that cannot hold together with any number of names. Names whose bounds exclude zero
  // stay. Throws Interrupted once `stop` says so.
  layer::LimitedEnd run(const risk::Risk& risk, Index sample, ConstVec mu, bool exchange, Vec w,
                        const Stop& stop = {});
  // The best portfolio of names in K alone (any order, no repeats), and of those whose bounds
  // exclude zero; more than k names if K has more.
  layer::LimitedEnd run_on(const risk::Risk& risk, Index sample, ConstVec mu,
                           std::span<const Index> K, Vec w);
  // From a portfolio of names in K on.
  layer::LimitedEnd improve_on(const risk::Risk& risk, Index sample, ConstVec mu,
                               std::span<const Index> K, bool exchange, Vec w,
                               const Stop& stop = {});
  // The best portfolio of any number of names, before what counts names and asks for more of those
  // that are held.
  layer::LimitedEnd run_on_all(const risk::Risk& risk, Index sample, ConstVec mu, Vec w);

  // Limits of as many rows, without names and least weights, in the place of the present ones.
  void use(const layer::PreparedLimits& limits, double risk_aversion);
  // The best that is found by moving on from each of these choices of names (limited_trade.cpp).
  layer::LimitedEnd decide(const risk::Risk& risk, Index sample, ConstVec mu,
                           std::span<const std::vector<Index>> starts, Vec w, const Stop& stop);

  const layer::LimitedSolver& solver() const { return solver_; }

 private:
  // What portfolios are compared by.
  struct Worth {
    int rank = 0;
    double value = 0.0;
    bool better_than(const Worth& other) const;
  };
  // Of a name: held to nothing, to its bounds, or to what it must be if held.
  enum class Place : char { out, in, above, below };
  struct Move {
    double worth = 0.0;
    Index out = -1, in = -1;
  };

  // How much is asked before an exchange.
  struct Effort {
    Index entrants;     // names left out that are looked at
    std::size_t tried;  // exchanges that are confirmed before giving up
    double hopeless;    // relative: an exchange that looks this much worse is not tried
    bool both_sides;    // of an entrant, not only the better one
    bool many;          // of the exchanges that one look found, not only the first
  };

  // The least weight of a name that is held only because its group needs one.
  static constexpr double kToken = 1e-3;

  Worth worth() const;
  bool solve();
  bool solve_and_settle();
  bool solve_anew();
  Index held() const;
  bool set(Index i, Place place);
  void apply(Index i, Place place, double& lower, double& upper) const;
  bool roll_back(std::size_t mark);

  // limited_names.cpp: what a choice of names is held to.
  bool may_trade(Index out, Index in) const;
  // Places change by these alone, so that the names in groups stay counted.
  void put(Index i, Place place);
  void put_all(const std::vector<Place>& places);
  void count_groups();
  bool crowded(Index i) const;
  bool crowded() const;
  double least(Index i) const;
  double enough(Index i, double bound) const;
  Place raised(Index i) const;
  bool is_short_of_least(Index i) const;
  bool raise_all(bool& changed);
  bool raise_for_groups(bool& changed);
  bool repair(const Stop& stop);
  bool raise_or_drop(Index i);

  bool forbid_idle();
  bool reduce(const Stop& stop);
  void rank_for_reduction(Index count);
  void offer_entrants(Index most);
  void offer_leavers();
  bool trade(bool exchange);
  bool make_moves();
  void improve(bool exchange, const Stop& stop);
  void find_needed(const risk::Risk& risk, Index sample, ConstVec mu, const Stop& stop);
  void best_alone(ConstVec mu, std::optional<Index> first = {});
  void try_from_here(const risk::Risk& risk, Index sample, ConstVec mu, bool exchange,
                     const Stop& stop);
  bool restart(const risk::Risk& risk, Index sample, ConstVec mu);
  bool restart_on(std::span<const Index> names, const risk::Risk& risk, Index sample, ConstVec mu);
  bool keep_if_better();
  bool remember();
  void descend(const Stop& stop);
  bool kick(Index i, const risk::Risk& risk, Index sample, ConstVec mu, const Stop& stop);
  void kick_all(const risk::Risk& risk, Index sample, ConstVec mu, const Stop& stop);
  layer::LimitedEnd give_best(const risk::Risk& risk, Index sample, ConstVec mu, Vec w);
  layer::LimitedEnd give(Vec w);

  layer::LimitedSolver solver_;
  Index n_, k_;
  std::vector<double> least_;  // (n) if held; empty: none
  std::vector<layer::NamesLimit> groups_;
  std::vector<std::vector<Index>> groups_of_;  // (n), or empty: there are none
  std::vector<Index> in_group_;                // (groups), names of each that are not out
  std::vector<Place> place_, best_place_;      // (n)
  std::vector<std::pair<Index, Place>> undo_;  // what places were before
  std::vector<char> needed_;
  std::vector<Index> order_;
  std::vector<double> by_loss_, lower_, upper_;
  std::vector<Move> moves_;
  layer::ExchangeTable table_;
  // Of the last start.
  const risk::Risk* risk_ = nullptr;
  Index sample_ = 0;
  ConstVec mu_, variance_;
  layer::LimitedEnd end_ = layer::LimitedEnd::ok;  // of the last solution
  std::optional<Worth> best_ever_;
  bool by_itself_ = false;  // each solution from nothing, not from the one before
  Index banned_ = -1;
  Effort effort_;
};

}  // namespace sharpen::select
