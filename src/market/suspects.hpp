// What the rules of cleaning.hpp find in a raw panel, before anything is done about it: found once,
// whatever is tried with it afterwards.
#pragma once

#include <cstdint>
#include <vector>

#include "sharpen/market/cleaning.hpp"

namespace sharpen::market {

// A suspect without its words: a panel of nothing but dirt has as many as cells.
struct Mark {
  Rule rule = Rule::jump;
  std::int32_t column = -1, first = 0, last = 0;  // rows
  std::int32_t ratio = 0;                         // split: m
  std::int32_t silent = 0;                        // split, jump: rows without a change or a price
  // split, jump: so few rows follow that the price may still come back.
  bool fresh = false;
  double size = 0.0;
  double market = 0.0, usual = 0.0;  // split, jump: what moves were usual there
};

// Which assets move in which row, so that rows can be judged by the assets that stay.
class Movements {
 public:
  Movements(Index rows, Index n);

  // The asset has its first value in row `first` (-1: before the panel) and its last in `last`.
  void add_asset(Index j, Index first, Index last);
  void add_move(Index t, Index j);
  // Frozen, or without a price for as long: whether it moves says nothing of the row.
  void add_still(Index j, Index first, Index last) { still_.push_back({j, first, last}); }

  // Rows on which nearly nobody moves of the assets with keep[j] != 0.
  std::vector<Mark> holidays(const std::vector<char>& keep) const;
  // "3 of 40 assets move" of a mark that holidays() gave.
  static Index alive_of(const Mark& holiday) { return holiday.ratio; }

 private:
  struct Span {
    Index asset, first, last;
  };
  Index rows_, words_;  // words of 64 rows
  std::vector<Span> alive_, still_;
  std::vector<std::uint64_t> moved_;  // (n, words)
};

struct Evidence {
  std::vector<Mark> marks;  // of assets, by column, then by row
  Movements moves;
};

Evidence find_suspects(const Panel& raw, PanelKind kind);

// Whether the asset or the market was restless around it.
bool may_be_real(const Mark& mark);
// Whether a fresh move is one that, as a split or a wrong price, would be no return.
bool is_no_return(const Mark& mark);
Finding in_words(const Mark& mark, const Panel& raw, PanelKind kind);

}  // namespace sharpen::market
