// k names on which limits can hold, whatever the signal: a tree over names that are held, not held
// or open. A node asks whether the limits can hold with what is decided, the number of names
// relaxed to sum over open names of w_i / (the most of it) <= names left to choose.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "sharpen/base/control.hpp"
#include "sharpen/layer/limits.hpp"
#include "sharpen/layer/objective.hpp"

namespace sharpen::select {

class FeasibleNames {
 public:
  // Whether a portfolio on these names keeps the limits, those on names included.
  using Accept = std::function<bool(std::span<const Index> K)>;

  FeasibleNames(const layer::Limits& limits, layer::Objective objective, Index n, Index k);

  // True once `accept` has taken a choice. Throws Interrupted.
  bool run(const Accept& accept, const Stop& stop);
  // After a run that found nothing: there is none, and that is sure.
  bool none() const { return complete_; }

 private:
  enum class Fate : char { open, held, out };

  bool descend(const Accept& accept, const Stop& stop);
  bool settle(std::vector<Fate>& fate) const;
  void apply(const std::vector<Fate>& fate);
  bool offer(const std::vector<Fate>& fate, ConstVec w, const Accept& accept);
  bool counts_right(ConstVec w) const;
  Index next(const std::vector<Fate>& fate, ConstVec w) const;

  const layer::Limits& given_;
  const Index n_, k_;
  layer::Limits limits_;      // given_ without what counts names, and the row that stands for it
  std::vector<double> most_;  // (n) that can be held of a name; unlimited
  std::vector<Fate> fate_;    // (n)
  std::vector<Index> K_;
  Index nodes_left_;
  bool complete_ = true;
};

}  // namespace sharpen::select
