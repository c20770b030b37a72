// What cleaning says: names, what modes do, and the summary.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/input_file.hpp"
#include "sharpen/market/cleaning.hpp"

namespace sharpen::market {

namespace {

constexpr std::size_t kMostNamed = 5;

std::string adjusts(const Finding& finding, PanelKind kind) {
  const bool prices = kind == PanelKind::prices;
  switch (finding.rule) {
    case Rule::split: {
      const bool fell = finding.size < 1.0;
      if (!prices)
        return fmt::format("{} the gross return by {}", fell ? "multiplies" : "divides",
                           finding.ratio);
      return fmt::format("{} earlier prices by {}", fell ? "divides" : "multiplies", finding.ratio);
    }
    case Rule::nonpositive: return prices ? "takes it as missing" : "leaves it";
    case Rule::print: return "carries the last price over it";
    case Rule::jump: return "divides earlier prices by the ratio";  // that a decision gives
    default: return "leaves it";
  }
}

std::string takes_as_missing(const Finding& finding, PanelKind kind) {
  if (finding.rule == Rule::split) return "leaves it";
  if (finding.rule == Rule::holiday) return "takes the row as missing";
  if (finding.rule == Rule::print && kind != PanelKind::prices) return adjusts(finding, kind);
  const Index rows = finding.last_row - finding.first_row + 1;
  return rows == 1 ? "takes it as missing" : fmt::format("takes {} rows as missing", rows);
}

std::string halts(const Finding& finding) {
  if (finding.fresh)
    return finding.is_no_return ? "carries the last price and does not trade it until it is known"
                                : "does not trade it until it is known";
  if (finding.rule == Rule::split) return "leaves it";
  if (finding.rule == Rule::holiday) return "trades nothing that day";
  const Index rows = finding.last_row - finding.first_row + 1;
  return rows == 1 ? "does not trade it that day"
                   : fmt::format("does not trade it for {} rows", rows);
}

std::string drops_days(const Finding& finding, PanelKind kind) {
  switch (finding.rule) {
    case Rule::split:
    case Rule::jump: return "drops that row's returns";
    case Rule::frozen:
      return fmt::format("drops the returns of {} rows", finding.last_row - finding.first_row + 1);
    case Rule::print:
      if (kind != PanelKind::prices) return "drops the rows there and back";
      [[fallthrough]];
    default: break;
  }
  const Index rows = finding.last_row - finding.first_row + 1;
  return rows == 1 ? "drops the row" : fmt::format("drops {} rows", rows);
}

// "A (why), B (why) and 3 more", of `count` items the first of which are given.
template <class Range, class Text>
std::string some_of(const Range& items, std::size_t count, const Text& text) {
  std::string out;
  for (std::size_t i = 0; i < std::min(kMostNamed, items.size()); ++i)
    out.append(i == 0 ? "" : ", ").append(text(items[i]));
  if (count > kMostNamed) out += fmt::format(" and {} more", count - kMostNamed);
  return out;
}

std::string suspect_words(const Finding& suspect) {
  return fmt::format("{}{} {}", suspect.ticker.empty() ? "" : shortened(suspect.ticker) + " ",
                     name(suspect.rule), suspect.first_date);
}

// "on-suspect = careful: report 2, adjust 1"
std::string handled_words(const Cleaned& cleaned, const CleaningSettings& settings) {
  std::string ways;
  for (std::size_t how = 0; how < names(OnSuspect()).size(); ++how) {
    Index count = 0;
    for (const RuleCount& rule : cleaned.found) count += rule.handled[how];
    if (count > 0)
      ways += fmt::format("{}{} {}", ways.empty() ? ": " : ", ", name(static_cast<OnSuspect>(how)),
                          count);
  }
  return fmt::format("‹on-suspect› = {}{}{}", name(settings.on_suspect),
                     settings.decisions.empty() ? "" : " and ‹decisions›", ways);
}

}  // namespace

std::string would_do(const Finding& finding, OnSuspect mode, const CleaningSettings& settings) {
  if (!is_suspect(finding.rule)) return finding.done;
  switch (mode) {
    case OnSuspect::report: return "leaves it";
    case OnSuspect::adjust: return adjusts(finding, settings.kind);
    case OnSuspect::missing: return takes_as_missing(finding, settings.kind);
    case OnSuspect::halt: return halts(finding);
    case OnSuspect::drop_asset: return finding.column >= 0 ? "drops the asset" : "leaves it";
    case OnSuspect::drop_day: return drops_days(finding, settings.kind);
    case OnSuspect::error: return "refuses the panel";
  }
  return "";
}

std::string_view name(PanelKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"prices", "returns", "gross returns"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<std::string> decision_notes(const Cleaned& cleaned) {
  std::vector<std::string> lines;
  const auto add = [&](DecisionDoubt doubt, std::string_view what, std::string_view rest) {
    std::vector<std::string> words;
    for (const DecisionNote& each : cleaned.notes)
      if (each.doubt == doubt) words.push_back(each.words);
    if (words.empty()) return;
    lines.push_back(
        fmt::format("{} {}: {}", counted(static_cast<Index>(words.size()), what), rest,
                    some_of(words, words.size(), [](const auto& each) { return each; })));
  };
  add(DecisionDoubt::idle, "decision",
      "found nothing to act on, as in a panel that they have cleaned already; else correct "
      "assets, dates or rules");
  add(DecisionDoubt::absent, "decision", "of ‹decisions› about what the panel does not have");
  add(DecisionDoubt::made_before, "ratio",
      "of ‹decisions› not divided out, as they seem to have been already; else correct the date");
  add(DecisionDoubt::larger, "ratio", "of ‹decisions› divided out that make a move larger");
  add(DecisionDoubt::near_one, "ratio",
      "of ‹decisions› divided out though an ordinary move hides whether they have been already; "
      "give the panel as it was before cleaning");
  return lines;
}

std::vector<std::string> summary(const Cleaned& cleaned, const CleaningSettings& settings) {
  std::vector<std::string> lines;
  const auto assets = cleaned.dropped.size() + cleaned.panel.tickers.size();
  if (!cleaned.dropped.empty())
    lines.push_back(fmt::format(
        "{} of {} assets are left out, decided with hindsight: {}", cleaned.dropped.size(), assets,
        some_of(cleaned.dropped, cleaned.dropped.size(), [](const Dropped& asset) {
          return fmt::format("{} ({})", shortened(asset.ticker), asset.reason);
        })));
  if (!cleaned.carried.empty())
    lines.push_back(fmt::format("the last price is carried over {} of {}",
                                counted(cleaned.carried_cells, "missing cell"),
                                some_of(cleaned.carried, cleaned.carried.size(), shortened)));
  if (!cleaned.dropped_days.empty())
    lines.push_back(fmt::format(
        "{} of {} rows are left out, decided with hindsight: {}", cleaned.dropped_days.size(),
        cleaned.dropped_days.size() + cleaned.panel.dates.size(),
        some_of(cleaned.dropped_days, cleaned.dropped_days.size(), shortened)));
  std::vector<Finding> suspects;
  std::ranges::copy_if(cleaned.findings, std::back_inserter(suspects),
                       [](const Finding& finding) { return is_suspect(finding.rule); });
  if (const Index count = cleaned.suspects(); count > 0)
    lines.push_back(fmt::format("{} ({}, decided with hindsight; ‹sharpen doctor› lists them): {}",
                                counted(count, "suspect"), handled_words(cleaned, settings),
                                some_of(suspects, static_cast<std::size_t>(count), suspect_words)));
  if (!cleaned.undecided.empty()) {
    Index count = 0;
    for (const RuleCount& rule : cleaned.found) count += rule.undecided;
    lines.push_back(fmt::format(
        "{} without a decision, handled by ‹on-suspect› = {}; ‹sharpen doctor› ‹--decisions FILE› "
        "‹--decide FILE› proposes some: {}",
        counted(count, "suspect"), name(settings.on_suspect),
        some_of(cleaned.undecided, static_cast<std::size_t>(count), suspect_words)));
  }
  for (std::string& line : decision_notes(cleaned)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace sharpen::market
