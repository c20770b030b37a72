// Cleaning: what a panel of prices (or returns) may hold besides prices, found by rules, reported,
// and handled as the settings say. Rules look at the whole panel, once, before any window is cut:
// everything here is decided with hindsight. docs/cleaning.md explains each rule.
//
// With p(t) the prices of one asset where it has one, and g(t) = p(t)/p(t') over its previous
// price (1 + r(t) in a file of returns), an asset is suspect of
//   nonpositive  p(t) <= 0 (in a file of returns: a total loss, 1 + r = 0)
//   print        g(t) beyond x8 or /8, and back to within a quarter of it after 1 to 5 rows
//   split        g(t) within 3 % of m or 1/m, m = 2, 3, ...; the level stays (medians of up to 10
//                rows on either side differ by at least half of it), and the market's median move
//                that day is less than half of it
//   jump         g(t) none of these, but beyond x4 or /4, or beyond x1.8 or /1.8 and ten times
//                what the asset usually moves
//   frozen       10 rows in a row or more without change
// and a row of
//   holiday      at most a third of the assets move (nobody at all among 3 to 9 assets); assets
//                in a frozen run do not count.
// A suspect is a question, not a verdict: a real crash looks like a split.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sharpen/base/named.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::market {

enum class Universe {
  complete,   // assets with values throughout
  available,  // assets enter when they start and leave when they end: NaN before and after
};
constexpr std::array<std::string_view, 2> names(Universe) { return {"complete", "available"}; }
constexpr std::string_view name(Universe value) { return name_of(value); }

enum class OnSuspect {
  report,      // list, change nothing
  adjust,      // divide out a split ratio; carry the last price over prints and prices <= 0
  drop_asset,  // leave out assets with a suspect
  drop_day,    // leave out the rows of suspects
  error,       // refuse a panel with suspects
};
constexpr std::array<std::string_view, 5> names(OnSuspect) {
  return {"report", "adjust", "drop-asset", "drop-day", "error"};
}
constexpr std::string_view name(OnSuspect value) { return name_of(value); }

struct CleaningSettings {
  PanelKind kind = PanelKind::prices;
  Universe universe = Universe::complete;
  Index max_gap = 5;  // rows; interior gaps up to it carry the last price, longer ones drop
  OnSuspect on_suspect = OnSuspect::report;

  void validate() const;  // throws InputError
};

enum class Rule {
  // Suspects, handled by on_suspect.
  nonpositive,
  print,
  split,
  jump,
  frozen,
  holiday,
  // Missing values, handled by universe and max_gap: gap is the first of them.
  gap,       // interior
  starts,    // no value yet in the first rows
  ends,      // no value any more in the last rows
  no_value,  // none at all
};

constexpr std::size_t kRules = 10;

// Of each rule, that are listed one by one.
constexpr Index kMostFindings = 1000;

bool is_suspect(Rule rule);

struct Finding {
  Rule rule = Rule::gap;
  Index column = -1;   // of the raw panel; -1 for a whole row
  std::string ticker;  // "" for a whole row
  Index first_row = 0, last_row = 0;
  std::string first_date, last_date;
  // nonpositive: the value; print, split, jump: g(t); holiday: the share of assets that move;
  // frozen and missing values: the number of rows.
  double size = 0.0;
  Index ratio = 0;           // split: m; the price fell to 1/m if size < 1
  bool may_be_real = false;  // split, jump: the asset or the market was restless around that day
  std::string question;      // what the suspect may be, in words
  std::string done;          // what was done, in words
};

struct Dropped {
  Index column = 0;  // of the raw panel
  std::string ticker;
  std::string reason;
};

struct Cleaned {
  // In the kind of the raw panel. Complete, or (available) NaN only before an asset's start and
  // after its end. May have no assets or rows left: the caller decides whether that is an error.
  Panel panel;
  // The first kMostFindings of each rule. By column, those of a whole row last; of one column
  // suspects first, then missing values, each by row.
  std::vector<Finding> findings;
  std::array<Index, kRules> found{};      // by rule, listed or not
  std::vector<Dropped> dropped;           // assets, in the order of the columns
  std::vector<std::string> dropped_days;  // ascending
  std::vector<std::string> carried;       // assets over whose gaps the last price is carried
  Index carried_cells = 0;

  Index suspects() const;
  // How many more of a rule there are than are listed, for rules that have more.
  std::vector<std::pair<std::string_view, Index>> left_out() const;
};

// What the rules above find, by column, then row; rows without ticker last. Nothing is handled yet.
// One after the other: a panel of nothing but dirt has as many as cells.
using TakeFinding = std::function<void(Finding)>;
void find_suspects(const Panel& raw, PanelKind kind, const TakeFinding& take);

// Throws InputError for on_suspect = error if there are suspects, naming the first.
Cleaned clean(const Panel& raw, const CleaningSettings& settings);

// What a mode would do about a finding, in words: "divides earlier prices by 3".
std::string would_do(const Finding& finding, OnSuspect mode, const CleaningSettings& settings);

// Names as they are written on the command line and in JSON.
std::string_view name(Rule rule);
std::string_view name(PanelKind kind);

// One or a few lines for people who did not ask: how many assets were dropped and why, and which
// suspects there are. Empty if there is nothing to say.
std::vector<std::string> summary(const Cleaned& cleaned, const CleaningSettings& settings);

}  // namespace sharpen::market
