// Portfolios of at most k names under limits. The value of a support is what the limits allow on
// it (layer/limited.hpp); names are ranked by what they would gain, or lose about, and confirmed by
// solving again from the last solution.
//
// The best portfolio of any number of names comes first; limits such as long-only hold few. Where
// it holds more than k, names go by least loss, then (`exchange`) each is tried against the most
// promising ones left out, while the value grows.
#pragma once

#include <optional>
#include <vector>

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

 private:
  // What portfolios are compared by.
  struct Worth {
    int rank = 0;
    double value = 0.0;
    bool better_than(const Worth& other) const;
  };

  Worth worth() const;
  bool solve_again();
  bool allow(Index i, bool yes);
  Index held() const;
  bool forbid_idle();
  bool reduce(const Stop& stop);
  void fill();
  void candidates(Index most);
  bool try_with(Index i, const Worth& least);
  void rank_by_loss();
  bool exchange_one();
  bool exchange_out_in(const Worth& least);
  bool exchange_in_out(const Worth& least);
  void improve(const Stop& stop);
  void best_alone(ConstVec mu);
  bool restart(const risk::Risk& risk, Index sample, ConstVec mu, Vec w);
  bool keep_if_better();
  bool kick(Index i, const risk::Risk& risk, Index sample, ConstVec mu, Vec w, const Stop& stop);
  void kick_all(const risk::Risk& risk, Index sample, ConstVec mu, Vec w, const Stop& stop);

  layer::LimitedSolver solver_;
  Index n_, k_;
  std::vector<char> allowed_, needed_;
  std::vector<Index> order_, best_;
  std::vector<double> by_loss_, best_w_;
  ConstVec variance_;
  layer::LimitedState all_;                        // of all names
  layer::LimitedEnd end_ = layer::LimitedEnd::ok;  // of the last solution
  layer::LimitedEnd best_end_ = layer::LimitedEnd::ok;
  std::optional<Worth> best_ever_;
  Index banned_ = -1;
};

}  // namespace sharpen::select
