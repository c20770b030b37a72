// A panel on its way from raw to clean.
//
//   1. decisions without a rule, then suspects one by one: what concerns an asset alone is done
//      (a price is missing, carried or divided), what concerns days is noted;
//   2. which assets stay, by the universe and the longest gap, and which days: those of holidays of
//      the assets that stay, and of their suspects. Again, until no asset leaves any more;
//   3. what is left of the gaps is filled, and the panel put together.
//
// Rows are numbered as in the raw panel throughout.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/vec.hpp"
#include "market/decision_book.hpp"
#include "market/suspects.hpp"

namespace sharpen::market {

class Cleaner {
 public:
  Cleaner(const Panel& raw, const Evidence& evidence, const CleaningSettings& settings,
          const Decisions& decisions);

  Cleaned run();
  // How many names and rows run() would leave.
  std::pair<Index, Index> count();

 private:
  // A row can be taken out with its prices (the next return then spans it), or with its returns
  // (the prices before it are rescaled, so that the move of that day is in no return).
  enum class Fate : char { kept, without_prices, without_returns };
  // Why an asset cannot be traded in a row.
  enum Still : char { traded = 0, no_price = 1, halted = 2 };
  // What is done about a mark, and whether somebody decided so.
  struct Handling {
    OnSuspect how = OnSuspect::report;
    bool decided = false;
    double ratio = 0.0;        // that a decision gives
    bool made_before = false;  // and that is not divided out again
  };
  // What became of a ratio that somebody decided on.
  enum class Division { none, made, made_before };
  struct Divided {
    Index column, row;
    Division how;
  };
  struct Split {
    Index column, row;
    double ratio;
    bool fell;
  };
  // Rows that go if the asset stays.
  struct DayDrop {
    Index column, first, last;
    bool of_level, moves;
  };
  struct Stillness {
    Index column, first, last;
    Still why;
  };
  // Where an asset has no value, by positions in the rows that keep their prices.
  struct Gap {
    std::size_t from = 0, to = 0;  // one past the end
    Index rows() const { return static_cast<Index>(to - from); }
  };
  struct AssetGaps {
    std::size_t start = 0, end = 0;  // of its values
    std::vector<Gap> inside;
    bool unseen = false;  // no value in a row that stays
  };

  bool prices() const { return settings_.kind == PanelKind::prices; }
  double& value(Index t, Index j) { return values_[at(t * raw_.n() + j)]; }
  bool is_missing(Index t, Index j) { return missing_row_[at(t)] != 0 || std::isnan(value(t, j)); }
  // A return over which the price stands still, and what is added to a value to get 1 + r.
  double no_return() const { return settings_.kind == PanelKind::returns ? 0.0 : 1.0; }
  double shift() const { return settings_.kind == PanelKind::returns ? 1.0 : 0.0; }

  // cleaning.cpp: suspects and decisions.
  void decide();
  void apply_direct(const DecisionBook::Direct& direct);
  void halt_cells(Index j, Index first, Index last);
  void decide_gaps(Index j);
  Handling handling(const Mark& mark);
  void handle(const Mark& mark, OnSuspect how);
  void take_as_missing(Index first, Index last, Index j);
  Handling handle_decided(const Mark& mark, const Decision& d);
  void wait_for(const Mark& mark);
  void carry_over_print(const Mark& mark);
  void note_days(const Mark& mark);
  void drop_asset(Index j, const std::string& reason, bool by_choice);
  void settle_days();
  void mark_days(const DayDrop& drop);
  void pass_on_moves();
  void refuse_suspects() const;
  Index next_value(Index t, Index j) const;

  // cleaning_adjust.cpp: ratios.
  Index priced_before(Index t, Index j) const;
  double raw_move(Index t, Index j) const;
  double usual_move_around(Index t, Index j) const;
  Division divide_by(Index j, Index t, const Decision& d);
  void adjust_return(Index t, Index j, double ratio, bool fell);
  void adjust_splits();

  // cleaning_gaps.cpp: which assets stay, and what their gaps become.
  void settle();
  std::vector<Index> priced_rows() const;
  template <class Missing>
  AssetGaps gaps_of(const std::vector<Index>& rows, const Missing& missing) const;
  AssetGaps gaps_of(Index j, const std::vector<Index>& rows);
  std::string reason_to_drop(const AssetGaps& gaps, const std::vector<Index>& rows) const;
  bool drop_by_gaps(const std::vector<Index>& rows);
  bool would_stay_raw(Index j, const std::vector<Index>& rows) const;
  void handle_gaps();
  void handle_gaps_of(Index j, const std::vector<Index>& rows);
  void handle_edges(Index j, const std::vector<Index>& rows, const AssetGaps& gaps);
  void leave(Index j, const std::vector<Index>& rows, const Gap& gap);
  void fill(Index j, const std::vector<Index>& rows, const Gap& gap, double with);
  void add(Rule rule, Index j, Index first, Index last, Index size, std::string done);

  // cleaning_list.cpp: what was found, in words, and the panel.
  void list();
  void list_mark(const Mark& mark, Handling handled);
  Finding in_words_with(const Mark& mark, Handling handled) const;
  void add_to_runs(const Mark& mark, Handling handled);
  void keep(Finding finding);
  void note(DecisionDoubt doubt, const Decision& d, Index j, Index t, double move);
  void note_idle();
  void assemble();
  void assemble_halts(const std::vector<Index>& columns);
  void append_row(Index t, const std::vector<Index>& columns, const std::vector<double>& factor);

  const Panel& raw_;
  const Evidence& evidence_;
  const CleaningSettings& settings_;
  DecisionBook book_;
  std::vector<double> values_;
  std::vector<char> keep_asset_;
  std::vector<char> made_missing_;  // (n): whether a value of the asset was taken away
  std::vector<char> has_gaps_;      // (n): whether it may have missing values
  std::vector<char> missing_row_;   // (rows): a holiday whose prices are taken as missing
  std::vector<Fate> fixed_;         // (rows): what decisions say, whatever assets stay
  std::vector<Fate> row_;
  std::vector<char> moves_;        // (rows): a split or jump whose move shall be in no return
  std::vector<Handling> handled_;  // of evidence_.marks
  std::vector<Mark> holidays_;     // of the assets that stay
  std::vector<Handling> holidays_handled_;
  std::vector<DayDrop> day_drops_;
  std::vector<Split> splits_;     // of prices, to be adjusted
  std::vector<Divided> divided_;  // by decisions without a rule
  std::vector<Stillness> still_;
  // Where in out_.runs findings are that are alike: rule, rows, ratio, how, decided.
  using Likeness = std::tuple<Rule, Index, Index, Index, OnSuspect, bool>;
  std::map<Likeness, std::size_t> run_of_;
  std::set<const Decision*> spoken_of_;  // in out_.notes
  std::array<Index, kSuspectRules> runs_of_rule_{};
  std::array<Index, kRules> last_column_;  // that a finding of the rule was counted for
  Cleaned out_;
};

}  // namespace sharpen::market
