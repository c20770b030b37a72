// Decisions that follow each other (LimitedSelector::run_from), in a pool of few assets: those that
// are held, those that would be if trading were free, and those that promise most beside them. What
// is found in it is confronted with all n assets, and the pool filled anew while others promise
// more. Depends on nothing but what it is given; memory is set up once.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "select/limited_search.hpp"
#include "select/pool_risk.hpp"

namespace sharpen::select {

class TradePool {
 public:
  TradePool(Index n, Index k);

  // As LimitedSearch::run, for the objective utility; nothing if the pool has no answer, and all
  // assets have to be asked.
  std::optional<layer::LimitedEnd> run(const risk::Risk& risk, Index sample, ConstVec mu,
                                       const layer::Limits& limits, double risk_aversion,
                                       std::span<const Index> names, Vec w, const Stop& stop);

 private:
  bool gather(const layer::Limits& limits, std::span<const Index> names);
  void rank(const risk::Risk& risk, Index sample, ConstVec mu, const layer::Limits& limits,
            double theta, ConstVec multipliers, ConstVec w);
  bool covers_best();
  void fill(const risk::Risk& risk, Index sample, ConstVec mu, const layer::Limits& limits,
            double risk_aversion);
  void start_from(ConstVec held, std::vector<Index>& out) const;

  Index n_, k_, size_;
  std::vector<char> in_;      // (n) must be in the pool
  std::vector<char> inside_;  // (n) is in it
  std::vector<Index> names_;  // ascending
  std::vector<Index> order_;
  std::vector<double> score_;  // (n)
  std::vector<double> Sw_, scratch_, mu_, w_, wanted_;
  std::vector<std::vector<Index>> starts_;
  layer::Limits limits_;  // of the pool
  PoolRisk risk_;
  std::optional<LimitedSearch> search_;
  Index rows_ = -1;  // of `search_`
};

}  // namespace sharpen::select
