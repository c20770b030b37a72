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
    default: return "leaves it";
  }
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

}  // namespace

bool is_suspect(Rule rule) { return rule < Rule::gap; }

std::string would_do(const Finding& finding, OnSuspect mode, const CleaningSettings& settings) {
  if (!is_suspect(finding.rule)) return finding.done;
  switch (mode) {
    case OnSuspect::report: return "leaves it";
    case OnSuspect::adjust: return adjusts(finding, settings.kind);
    case OnSuspect::drop_asset: return finding.column >= 0 ? "drops the asset" : "leaves it";
    case OnSuspect::drop_day: return drops_days(finding, settings.kind);
    case OnSuspect::error: return "refuses the panel";
  }
  return "";
}

std::string_view name(Rule rule) {
  constexpr std::array<std::string_view, kRules> kNames = {
      "nonpositive", "print", "split",  "jump", "frozen",
      "holiday",     "gap",   "starts", "ends", "no-value"};
  return kNames[static_cast<std::size_t>(rule)];
}

std::string_view name(PanelKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"prices", "returns", "gross returns"};
  return kNames[static_cast<std::size_t>(kind)];
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
  std::vector<Finding> suspects;
  std::ranges::copy_if(cleaned.findings, std::back_inserter(suspects),
                       [](const Finding& finding) { return is_suspect(finding.rule); });
  if (const Index count = cleaned.suspects(); count > 0)
    lines.push_back(fmt::format(
        "{} (‹on-suspect› = {}, decided with hindsight; ‹sharpen doctor› lists them): {}",
        counted(count, "suspect"), name(settings.on_suspect),
        some_of(suspects, static_cast<std::size_t>(count), [](const Finding& suspect) {
          return fmt::format("{}{} {}",
                             suspect.ticker.empty() ? "" : shortened(suspect.ticker) + " ",
                             name(suspect.rule), suspect.first_date);
        })));
  return lines;
}

}  // namespace sharpen::market
