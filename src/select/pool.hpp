// The most promising of many assets as a problem of their own, in which the search under limits
// takes its time; the others hold nothing. What it finds is then confronted with all n assets, and
// those that would gain come into the pool, until that changes nothing.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "select/limited_search.hpp"

namespace sharpen::select {

class PoolRisk;

// What asset i, of which nothing is held, would gain per unit of weight to first order, from e
// (layer/active_path.hpp). Names that are traded without being held are in a pool always.
double gain_of_entry(const layer::Limits& limits, Index i, double e, ConstVec multipliers,
                     double theta);
// The limits of these names (ascending) alone.
void take_limits(const layer::Limits& limits, std::span<const Index> names, layer::Limits& out);

class Pool {
 public:
  Pool(const layer::ObjectiveSettings& objective, const layer::Limits& limits, Index n, Index k);
  ~Pool();

  // Whether n assets are worth it, for k names and for any number of them.
  static bool pays(Index n, Index k);
  // As LimitedSearch::run; nothing if the pool has no answer, and all assets have to be asked.
  std::optional<layer::LimitedEnd> run(const risk::Risk& risk, Index sample, ConstVec mu,
                                       bool exchange, Vec w, const Stop& stop);
  // As LimitedSearch::run_on_all.
  std::optional<layer::LimitedEnd> run_on_all(const risk::Risk& risk, Index sample, ConstVec mu,
                                              Vec w, const Stop& stop);

  const LimitedSearch& search() const { return *search_; }  // after a run

 private:
  bool begin(const risk::Risk& risk, Index sample, ConstVec mu, Vec w);
  void rank_alone(const risk::Risk& risk, Index sample, ConstVec mu);
  bool rank_by_gain(const risk::Risk& risk, Index sample, ConstVec mu, ConstVec w);
  void fill(const risk::Risk& risk, Index sample, ConstVec mu, ConstVec w);
  layer::LimitedEnd search(bool exchange, bool anew, Vec w, const Stop& stop);

  layer::ObjectiveSettings objective_;
  const layer::Limits& limits_;
  Index n_, k_, most_;
  layer::Limits inside_;       // of the names in the pool
  std::vector<Index> names_;   // ascending
  std::vector<char> must_;     // (n) whose weight, or trade, is not zero whatever is chosen
  std::vector<double> score_;  // (n)
  std::vector<Index> order_;
  std::vector<double> mu_, w_, Sw_, scratch_;
  std::unique_ptr<PoolRisk> risk_;
  std::optional<LimitedSearch> search_;
};

}  // namespace sharpen::select
