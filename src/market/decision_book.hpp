// Decisions by the rows and columns of one panel.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sharpen/market/decisions.hpp"

namespace sharpen::market {

class DecisionBook {
 public:
  DecisionBook(const Decisions& decisions, const Panel& raw);

  bool empty() const { return decisions_.empty(); }
  bool given() const { return decisions_.given(); }

  // The decision about what a rule finds in an asset (-1: in all of them) from row t on; null if
  // there is none. Fastest when asked column by column.
  const Decision* about(Rule rule, Index column, Index t);

  // Those without a rule, which act whether something is found or not, and their rows; only such as
  // have any in this panel.
  struct Direct {
    const Decision* decision = nullptr;
    std::vector<Index> columns;  // none: all
    Index first = 0, last = 0;
  };
  std::vector<Direct> direct();

  // Whether a decision is about gaps: of this asset, or of all.
  bool about_gaps(Index column) const;

  void use(const Decision& decision) { used_[position_of(decision)] = 1; }
  std::vector<Index> unused() const;
  // Those of them that are about assets and rows of this panel, and the others unspoken of.
  std::vector<const Decision*> idle() const;
  std::string where(const Decision& d) const { return decisions_.where(d); }
  const std::vector<std::string>& absent() const { return decisions_.absent; }

 private:
  // The decision of every row, by rule and without one; -1: none.
  static constexpr std::size_t kBuckets = kSuspectRules + 2;
  static constexpr std::size_t kAnyRule = kBuckets - 1;
  using Painted = std::array<std::vector<std::int32_t>, kBuckets>;

  std::size_t position_of(const Decision& decision) const {
    return static_cast<std::size_t>(&decision - decisions_.all.data());
  }
  void paint(std::size_t decision, Painted& out) const;
  const Decision* painted(const Painted& on, Rule rule, Index t) const;

  struct Span {
    Index first = 0, last = -1;
  };
  const Decisions& decisions_;
  Index rows_;
  std::vector<Span> spans_;  // rows of each decision
  std::vector<char> used_;
  std::unordered_map<Index, std::vector<std::size_t>> of_column_;
  Painted for_all_, for_column_;
  Index column_ = -1;  // that for_column_ is about
  bool gaps_of_all_ = false;
};

}  // namespace sharpen::market
