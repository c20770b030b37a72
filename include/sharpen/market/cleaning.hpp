// Cleaning: what a panel of prices (or returns) may hold besides prices, found by rules, reported,
// and handled as the settings say. Rules look at the whole panel, once, before any window is cut:
// everything here is decided with hindsight. docs/cleaning.md explains each rule.
//
// With p(t) the prices of one asset where it has one, and g(t) = p(t)/p(t') over its previous
// price (1 + r(t) in a file of returns), an asset is suspect of
//   nonpositive  p(t) <= 0 (in a file of returns: a total loss, 1 + r = 0), rows in a row together
//   print        g(t) beyond x8 or /8, and back to within a quarter of it after 1 to 5 rows
//   split        g(t) within 3 % of m or 1/m, m = 2, 3, ...; the level stays (medians of up to 10
//                rows on either side differ by at least half of it), and the market's median move
//                that day is less than half of it
//   jump         g(t) none of these, but beyond x4 or /4, or beyond x1.8 or /1.8 and ten times
//                what the asset usually moves
//   frozen       10 rows in a row or more without change
// and a row of
//   holiday      at most a third of the assets that stay move (nobody at all among 3 to 9 assets);
//                assets in a frozen run, or without a price for as long, do not count.
// A suspect is a question, not a verdict: a real crash looks like a split. What is done about it
// is decided one by one (decisions.hpp), or else by its kind (SuspectRules). An asset that is left
// out, by the universe or otherwise, takes no day with it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sharpen/base/field.hpp"
#include "sharpen/base/named.hpp"
#include "sharpen/market/halts.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::market {

enum class Universe {
  complete,   // assets with values throughout
  available,  // assets enter when they start and leave when they end, or for a gap: NaN meanwhile
};
constexpr std::array<std::string_view, 2> names(Universe) { return {"complete", "available"}; }
constexpr std::string_view name(Universe value) { return name_of(value); }

enum class OnSuspect {
  report,      // list, change nothing
  adjust,      // divide out a split ratio; carry the last price over prints and prices <= 0
  missing,     // take the prices as missing, as gaps are
  halt,        // the asset cannot be traded there; where its price is none the last one is carried
  drop_asset,  // leave out assets with a suspect
  drop_day,    // leave out the rows of suspects
  error,       // refuse a panel with suspects
};
constexpr std::array<std::string_view, 7> names(OnSuspect) {
  return {"report", "adjust", "missing", "halt", "drop-asset", "drop-day", "error"};
}
constexpr std::string_view name(OnSuspect value) { return name_of(value); }

enum class Rule {
  // Suspects, handled by decisions and on_suspect.
  nonpositive,
  print,
  split,
  jump,
  frozen,
  holiday,
  // Missing values, handled by universe and max_gap: gap is the first of them.
  gap,       // between two values
  starts,    // no value yet in the first rows
  ends,      // no value any more in the last rows
  no_value,  // none at all
};
constexpr std::array<std::string_view, 10> names(Rule) {
  return {"nonpositive", "print", "split",  "jump", "frozen",
          "holiday",     "gap",   "starts", "ends", "no-value"};
}
constexpr std::string_view name(Rule rule) { return name_of(rule); }

constexpr std::size_t kRules = names(Rule()).size();
constexpr auto kSuspectRules = static_cast<std::size_t>(Rule::gap);
constexpr std::size_t index_of(Rule rule) { return static_cast<std::size_t>(rule); }

bool is_suspect(Rule rule);

// Whether a way to handle suspects means something for this kind of them: no split is missing.
bool handles(OnSuspect how, Rule rule);

// What is done about suspects, kind by kind; what is not said is done carefully (carefully(),
// below). Written as settings write it: "careful"; "adjust", which means all kinds and leaves those
// alone that it means nothing for; "split=adjust,jump=report"; "report,split=adjust".
struct SuspectRules {
  std::array<std::optional<OnSuspect>, kSuspectRules> said = {};

  SuspectRules() = default;
  SuspectRules(OnSuspect all);  // NOLINT(google-explicit-constructor): one word means all kinds

  OnSuspect of(Rule rule, bool may_be_real, bool fresh, PanelKind kind) const;
  std::vector<std::string> words() const;
  static SuspectRules read(const std::vector<std::string>& words);  // throws settings::Misfit
  bool operator==(const SuspectRules&) const = default;
};
std::string name(const SuspectRules& rules);

// What a careful analyst does about a suspect of whom nobody said anything: prices <= 0 are
// missing, prints are carried over, splits divided out unless they may be real moves, jumps left,
// frozen prices not traded and holidays left out. A split or a jump so fresh that the price may
// still come back is not traded until it is known. In a file of returns a total loss and the
// returns of a holiday are left, for what is taken out there is lost, and so are runs of zeros:
// whoever made the file had prices and may mean them.
OnSuspect carefully(Rule rule, bool may_be_real, bool fresh, PanelKind kind);

// The most rows or names, in percent, that cleaning may take out.
struct Loss {
  double percent = 5.0;

  bool operator==(const Loss&) const = default;
};

struct CleaningSettings {
  PanelKind kind = PanelKind::prices;
  Universe universe = Universe::complete;
  Index max_gap = 5;  // rows; gaps up to it carry the last price, longer ones drop
  SuspectRules on_suspect = {};
  Loss allow_loss = {};
  std::string decisions = {};  // a file, or what it would say, in lines; "": none

  void validate() const;  // throws InputError
};

// Of each rule, that are listed one by one; and of runs of like findings.
constexpr Index kMostFindings = 1000;

struct Finding {
  Rule rule = Rule::gap;
  Index column = -1;   // of the raw panel; -1 for a whole row
  std::string ticker;  // "" for a whole row
  Index first_row = 0, last_row = 0;
  std::string first_date, last_date;
  // nonpositive: the first value; print, split, jump: g(t); holiday: the share of assets that move;
  // frozen and missing values: the number of rows.
  double size = 0.0;
  Index ratio = 0;           // split: m; the price fell to 1/m if size < 1
  Index silent = 0;          // split, jump: rows without a change or a price just before
  bool may_be_real = false;  // split, jump: the asset or the market was restless around that day
  // split, jump: fewer rows follow than a wrong price may last; and whether it is one that would be
  // no return if it were a split or a wrong price.
  bool fresh = false, is_no_return = false;
  std::string question;               // what the suspect may be, in words
  std::string done;                   // what was done, in words
  OnSuspect how = OnSuspect::report;  // suspects: what was done about it
  bool decided = false;               // by a decision, not by its kind
};

// Findings of one rule that are alike: on the same rows, in one asset or several.
struct FindingRun {
  Finding first;
  Index count = 0;             // findings
  std::vector<Index> columns;  // of the raw panel; none for whole rows
};

// What there is of a rule in the whole panel.
struct RuleCount {
  Index found = 0, assets = 0, rows = 0;                      // rows: over all assets
  Finding worst;                                              // the largest move, the longest run
  std::array<Index, names(OnSuspect()).size()> handled = {};  // of suspects of assets that stay
  Index undecided = 0;                                        // by no decision, where there are any
};

struct Dropped {
  Index column = 0;  // of the raw panel
  std::string ticker;
  std::string reason;
  bool by_choice = false;  // of on_suspect or a decision, and not what the universe asks for
};

// Why a decision has to be spoken of.
enum class DecisionDoubt {
  idle,         // nothing that it decides on is there
  absent,       // nor is the asset or the day
  made_before,  // its ratio seems to have been divided out already: not done again
  larger,       // its ratio makes the day's move larger
  near_one,     // an ordinary move hides whether its ratio has been divided out before: done
};

struct DecisionNote {
  DecisionDoubt doubt = DecisionDoubt::idle;
  std::string words;  // "d.toml:12 (split of S003 on 2019-08-08)"
};

struct Cleaned {
  // In the kind of the raw panel. Complete, or (available) NaN only before an asset's start, and
  // from max_gap rows after its last price on until it has one again. May have no assets or rows
  // left: the caller decides whether that is an error.
  Panel panel;
  // The first kMostFindings of each rule. By column, those of a whole row last; of one column
  // suspects first, then missing values, each by row.
  std::vector<Finding> findings;
  std::vector<FindingRun> runs;  // of suspects, by rule and row; kMostFindings of each rule
  std::array<RuleCount, kRules> found{};  // by rule, listed or not
  std::vector<Index> suspects_of;         // (n of the raw panel)
  std::vector<Dropped> dropped;           // assets, in the order of the columns
  std::vector<std::string> dropped_days;  // ascending
  std::vector<std::string> carried;       // assets over whose gaps the last price is carried
  Halts halts;                            // by the rows and columns of `panel`
  Index carried_cells = 0;
  std::vector<Finding> undecided;  // the first suspects without a decision, where there are any
  std::vector<Index> unused;       // decisions that found nothing to act on
  std::vector<DecisionNote> notes;
  std::string keeps_nonpositive;  // "d.toml:12": a decision that keeps a price <= 0; "": none

  Index suspects() const;
  // How many more of a rule there are than are listed, for rules that have more.
  std::vector<std::pair<std::string_view, Index>> left_out() const;
  // Taken out by choice, in percent of the panel's rows, and of the names that the universe keeps.
  double lost_rows() const;
  double lost_names() const;
};

// The cleaned panel as it is written: without the prices that are carried into a gap for which the
// asset leaves. A file knows no halts, and they would read as prices before a gap that begins
// later; so what is written and cleaned again is the same.
Panel as_written(const Cleaned& cleaned);

struct Decisions;

// Throws InputError for on_suspect = error if there are suspects, naming the first. The decisions
// are those that settings.decisions names, read and checked already (panel_input.hpp).
Cleaned clean(const Panel& raw, const CleaningSettings& settings);
Cleaned clean(const Panel& raw, const CleaningSettings& settings, const Decisions& decisions);

// What a choice would leave of the panel.
struct Choice {
  std::string on_suspect;  // as --on-suspect takes it
  Index names = 0, rows = 0;
};

// Dates that keep assets which all of them together would leave out.
struct DateRange {
  std::string from, to;
  Index names = 0, rows = 0;  // complete ones, as --max-gap has it
};

struct Examined {
  Cleaned cleaned;
  std::vector<Choice> choices;  // careful, and each word for all kinds
  // All dates; those with the most prices of complete assets; and of those with at least half of
  // the rows the ones with the most names. Only such as keep more names than the one before.
  std::vector<DateRange> ranges;
};
Examined examine(const Panel& raw, const CleaningSettings& settings, const Decisions& decisions);

// Throws InputError where more is lost than settings.allow_loss allows.
void refuse_loss(const Cleaned& cleaned, const CleaningSettings& settings);

// Throws InputError where a price of the cleaned panel has no return, and says what keeps it there.
void refuse_nonpositive(const Cleaned& cleaned, const CleaningSettings& settings);

// What a mode would do about a finding, in words: "divides earlier prices by 3".
std::string would_do(const Finding& finding, OnSuspect mode, const CleaningSettings& settings);

// Names as they are written on the command line and in JSON.
std::string_view name(PanelKind kind);

// What has to be said of decisions, one line for each reason. A part of the summary below.
std::vector<std::string> decision_notes(const Cleaned& cleaned);

// One or a few lines for people who did not ask: how many assets were dropped and why, and which
// suspects there are. Empty if there is nothing to say.
std::vector<std::string> summary(const Cleaned& cleaned, const CleaningSettings& settings);

}  // namespace sharpen::market

namespace sharpen::settings {

template <>
struct Held<market::SuspectRules> {
  static constexpr Kind kind = Kind::list;
  static std::optional<Value> show(const market::SuspectRules& held) { return held.words(); }
  static void read(const Value& value, market::SuspectRules& out) {
    out = market::SuspectRules::read(std::get<std::vector<std::string>>(value));
  }
};

template <>
struct Held<market::Loss> {
  static constexpr Kind kind = Kind::text;
  static std::optional<Value> show(const market::Loss& held);  // "5%"
  static void read(const Value& value, market::Loss& out);     // throws Misfit
};

}  // namespace sharpen::settings
