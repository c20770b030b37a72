// Decisions about what cleaning finds in a panel, written down in a file that a person edits:
//
//   [[decision]]
//   rule = "split"          a kind of suspects, or gap; left out: whatever is there, found or not
//   tickers = ["3697"]      left out: all assets, and rows of the whole panel
//   from = "2025-01-22"     what is decided on begins on a date from here
//   to = "2025-01-22"       to here, both included; left out: on any date
//   action = "adjust"       adjust, missing, halt, drop-day, drop-asset or keep
//   ratio = 3               of adjust: what earlier prices are divided by, where it is not found
//   reason = "3-for-1 split"
//
// A decision that names tickers comes before one for all assets, and of two such the one that names
// a rule. What a decision acts on is looked for anew every time: a split that has been divided out
// already is none any more, so that decisions applied twice are decisions applied once, and rows
// that are added later change nothing about those before.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/market/cleaning.hpp"

namespace sharpen::market {

struct Decision {
  std::optional<Rule> rule;
  std::vector<std::string> tickers;  // none: all
  std::string from, to;              // "": open
  OnSuspect action = OnSuspect::report;
  double ratio = 0.0;  // 0: what is found
  std::string reason;
  Index line = 0;  // of the file, for messages
};

struct Decisions {
  std::string file;  // what messages call it
  std::vector<Decision> all;
  // What they were made for: assets they speak of that need not be there any more, and its dates.
  std::vector<std::string> tickers;
  std::string first_date, last_date;
  std::vector<std::string> absent;  // what they speak of that a panel does not have any more

  bool empty() const { return all.empty(); }
  // Whether there is a file of them, though it may hold none.
  bool given() const { return !file.empty(); }
  // "decisions.toml:12"
  std::string where(const Decision& decision) const;
};

// What a decision says, in a few words: "adjust, split of S003 on 2019-08-08".
std::string words_of(const Decision& decision);

// `text` names a file, or is what it would say, in lines. Throws InputError with file, line and
// remedy; also for two decisions that cross.
Decisions read_decisions(const std::string& text);
// The text behind it.
std::string decisions_text(const std::string& text);

// Throws InputError for tickers and dates that the whole panel does not have, and for decisions of
// another panel. Those of a panel that the decisions have been applied to, or that has lost assets
// since, may be gone: what is, in words ("d.toml:12: no ticker "S021""), unless the file says that
// its panel had it.
std::vector<std::string> check_known(const Decisions& decisions, const Panel& panel);

// One decision for every run of like suspects that has none yet, and for every long gap: what the
// settings would do about it, or for an asset that is nothing but dirt that it be dropped. As a
// file; behind what `before` says, where that is not empty.
struct Proposal {
  std::string text;
  Index decisions = 0;  // new ones
};
Proposal propose(const Panel& raw, const std::string& file, const Cleaned& cleaned,
                 const CleaningSettings& settings, const std::string& before);

}  // namespace sharpen::market
