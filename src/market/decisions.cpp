// Files of decisions.
#include "sharpen/market/decisions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/input_file.hpp"
#include "base/settings_toml.hpp"
#include "market/calendar.hpp"
#include "market/file_or_text.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::market {

namespace {

constexpr std::size_t kLargestDecisions = std::size_t{64} << 20;
constexpr std::string_view kKeep = "keep";

bool is_before(std::string_view a, std::string_view b) { return compare_dates(a, b) < 0; }

class DecisionReader {
 public:
  explicit DecisionReader(std::string file) { out_.file = std::move(file); }

  Decisions read(std::string_view text) {
    const toml::table file = settings::parse_toml(text, out_.file, kLargestDecisions);
    for (const settings::TomlLine& line : settings::toml_lines(file)) {
      line_ = static_cast<Index>(line.number);
      if (line.key == "decision" && line.node->is_array_of_tables()) {
        for (const toml::node& each : *line.node->as_array()) read_decision(*each.as_table());
      } else if (line.key == "panel" && line.node->is_table()) {
        read_panel_of(*line.node->as_table());
      } else {
        fail(
            fmt::format("{} is neither a [[decision]] nor [panel]; begin each decision with "
                        "[[decision]]",
                        printable(line.key)));
      }
    }
    refuse_crossing();
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format("{}:{}: {}", out_.file, line_, what));
  }

  std::string text_in(std::string_view key, const toml::node& node) const {
    const auto text = node.value_exact<std::string>();
    if (!text) fail(fmt::format("{} = {} must be a text in quotes", key, toml_words(node)));
    if (!is_plain_text(*text))
      fail(
          fmt::format("{} = {} holds control characters; write plain text", key, printable(*text)));
    return *text;
  }

  static std::string toml_words(const toml::node& node) { return settings::toml_shown(node); }

  std::vector<std::string> names_in(std::string_view key, const toml::node& node) const {
    std::vector<std::string> out;
    if (const toml::array* array = node.as_array())
      for (const toml::node& item : *array) out.push_back(text_in(key, item));
    else
      out.push_back(text_in(key, node));
    if (out.empty()) fail(fmt::format("{} = [] names none; leave the key out for all assets", key));
    return out;
  }

  std::string date_in(std::string_view key, const toml::node& node) const {
    const std::string text = node.is_date() ? toml_words(node) : text_in(key, node);
    ParsedDate date = parse_date(text);
    if (date.format == DateFormat::none)
      fail(fmt::format("{} = {} {}; write YYYY-MM-DD or YYYY-MM", key, shown(text), date.fault));
    return std::move(date.iso);
  }

  double ratio_in(const toml::node& node) const {
    const auto ratio = node.value<double>();
    if (!ratio || !(*ratio > 0.0) || !std::isfinite(*ratio) || *ratio == 1.0)
      fail(
          fmt::format("ratio = {} must be a positive number other than 1: what earlier prices are "
                      "divided by, 3 for a 3-for-1 split",
                      toml_words(node)));
    return *ratio;
  }

  OnSuspect action_in(const toml::node& node) const {
    const std::string text = text_in("action", node);
    if (text == kKeep) return OnSuspect::report;
    const auto action = value_named<OnSuspect>(text);
    constexpr std::array<std::string_view, 6> kActions = {"adjust",   "missing",    "halt",
                                                          "drop-day", "drop-asset", kKeep};
    if (!action || std::ranges::find(kActions, text) == kActions.end())
      fail(fmt::format(
          "action = {} is not one of adjust, missing, halt, drop-day, drop-asset, keep{}",
          printable(text), did_you_mean(text, kActions)));
    return *action;
  }

  Rule rule_in(const toml::node& node) const {
    const std::string text = text_in("rule", node);
    const auto rule = value_named<Rule>(text);
    const auto all = names(Rule());
    const auto known = std::span<const std::string_view>(all).first(kSuspectRules + 1);
    if (!rule || index_of(*rule) >= known.size())
      fail(fmt::format("rule = {} is not one of {}{}", printable(text), fmt::join(known, ", "),
                       did_you_mean(text, known)));
    return *rule;
  }

  void read_decision(const toml::table& table) {
    Decision out;
    out.line = line_ = static_cast<Index>(table.source().begin.line);
    bool acts = false;
    for (const settings::TomlLine& line : settings::toml_lines(table)) {
      line_ = static_cast<Index>(line.number);
      if (line.key == "rule")
        out.rule = rule_in(*line.node);
      else if (line.key == "tickers")
        out.tickers = names_in(line.key, *line.node);
      else if (line.key == "from")
        out.from = date_in(line.key, *line.node);
      else if (line.key == "to")
        out.to = date_in(line.key, *line.node);
      else if (line.key == "action")
        out.action = action_in(*line.node);
      else if (line.key == "ratio")
        out.ratio = ratio_in(*line.node);
      else if (line.key == "reason")
        out.reason = text_in(line.key, *line.node);
      else
        refuse_key(line.key);
      acts = acts || line.key == "action";
    }
    line_ = out.line;
    if (!acts)
      fail(
          "a decision without action; add one of adjust, missing, halt, drop-day, "
          "drop-asset, keep");
    check(out);
    out_.all.push_back(std::move(out));
  }

  [[noreturn]] void refuse_key(std::string_view key) const {
    constexpr std::array<std::string_view, 7> kKeys = {"rule",   "tickers", "from",  "to",
                                                       "action", "ratio",   "reason"};
    fail(fmt::format("{} is not a key of a decision{}", printable(key), did_you_mean(key, kKeys)));
  }

  void check(const Decision& d) const {
    if (!d.from.empty() && !d.to.empty() && is_before(d.to, d.from))
      fail(fmt::format("from = {} is after to = {}; exchange them", d.from, d.to));
    const bool of_gap = d.rule == Rule::gap;
    const bool fits = of_gap ? d.action != OnSuspect::adjust && d.action != OnSuspect::missing
                             : !d.rule || handles(d.action, *d.rule) ||
                                   (d.rule == Rule::jump && d.action == OnSuspect::adjust);
    if (!fits)
      fail(fmt::format("action = {} has no meaning for rule = {}; choose another",
                       action_name(d.action), name(*d.rule)));
    const bool needs_ratio = d.action == OnSuspect::adjust && (!d.rule || d.rule == Rule::jump);
    if (needs_ratio && d.ratio == 0.0)
      fail(
          "action = adjust needs a ratio here: what earlier prices are divided by, 3 for a "
          "3-for-1 split");
    if (d.ratio != 0.0 && (d.action != OnSuspect::adjust ||
                           (d.rule && d.rule != Rule::split && d.rule != Rule::jump)))
      fail("ratio has no meaning here; it goes with action = adjust of a split or a jump");
    if (!d.rule && d.action == OnSuspect::drop_asset && d.tickers.empty())
      fail("action = drop-asset needs tickers, or a rule");
    if (!d.rule && d.action == OnSuspect::adjust && (d.tickers.empty() || d.from.empty()))
      fail("action = adjust without a rule needs tickers and from, the day of the ratio");
    if (!d.rule && d.action != OnSuspect::drop_asset && d.tickers.empty() && d.from.empty() &&
        d.to.empty())
      fail("a decision about everything; name a rule, tickers or dates");
  }

  void read_panel_of(const toml::table& table) {
    for (const settings::TomlLine& line : settings::toml_lines(table)) {
      line_ = static_cast<Index>(line.number);
      if (line.key == "tickers")
        out_.tickers = names_in(line.key, *line.node);
      else if (line.key == "from")
        out_.first_date = date_in(line.key, *line.node);
      else if (line.key == "to")
        out_.last_date = date_in(line.key, *line.node);
      else if (line.key != "file")
        fail(fmt::format("{} is not a key of [panel]: file, tickers, from, to",
                         printable(line.key)));
    }
  }

  // Two decisions about the same thing must agree.
  void refuse_crossing() {
    std::map<std::tuple<std::string, int>, std::vector<const Decision*>> alike;
    for (const Decision& d : out_.all) {
      const int rule = d.rule ? static_cast<int>(*d.rule) : -1;
      if (d.tickers.empty()) alike[{"", rule}].push_back(&d);
      for (const std::string& ticker : d.tickers) alike[{ticker, rule}].push_back(&d);
    }
    for (auto& [key, those] : alike) {
      std::ranges::stable_sort(
          those, {}, [](const Decision* d) -> auto& { return d->from; });
      const Decision* latest = nullptr;  // of those before, the one that goes on longest
      for (const Decision* d : those) {
        if (latest != nullptr && !ends_before(*latest, *d)) refuse_pair(*latest, *d, key);
        if (latest == nullptr || ends_after(*d, *latest)) latest = d;
      }
    }
  }

  static bool ends_before(const Decision& a, const Decision& b) {
    return !a.to.empty() && !b.from.empty() && is_before(a.to, b.from);
  }
  static bool ends_after(const Decision& a, const Decision& b) {
    return !b.to.empty() && (a.to.empty() || is_before(b.to, a.to));
  }

  void refuse_pair(const Decision& a, const Decision& b, const std::tuple<std::string, int>& key) {
    if (a.action == b.action && a.ratio == b.ratio) return;
    const Decision &first = a.line < b.line ? a : b, &second = a.line < b.line ? b : a;
    line_ = second.line;
    const std::string& ticker = std::get<0>(key);
    fail(
        fmt::format("{} for {}{} crosses {} of line {}: both decide on the same dates; leave one "
                    "out, or part the dates",
                    action_name(second.action), ticker.empty() ? "all assets" : shown(ticker),
                    second.rule ? fmt::format(" ({})", name(*second.rule)) : "",
                    action_name(first.action), first.line));
  }

  static std::string_view action_name(OnSuspect action) {
    return action == OnSuspect::report ? kKeep : name(action);
  }

  Decisions out_;
  Index line_ = 0;
};

std::string some_names(const std::vector<std::string_view>& names) {
  constexpr std::size_t kMost = 3;
  std::string out;
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i)
    out.append(i == 0 ? "" : ", ").append(printable(names[i], 24));
  return names.size() > kMost ? out + ", ..." : out;
}

// Whether a row of the panel lies within the dates of a decision.
bool has_row(const Panel& panel, const Decision& d) {
  const auto from = std::partition_point(
      panel.dates.begin(), panel.dates.end(),
      [&](const std::string& date) { return !d.from.empty() && is_before(date, d.from); });
  return from != panel.dates.end() && (d.to.empty() || !is_before(d.to, *from));
}

bool names_ticker(const Decision& d, const std::string& ticker) {
  return std::ranges::find(d.tickers, ticker) != d.tickers.end();
}

// Whether a decision may have left out assets before: itself, or as --max-gap does.
bool may_drop(const Decision& d) {
  return d.action == OnSuspect::drop_asset || d.action == OnSuspect::missing || d.rule == Rule::gap;
}

// Whether a day of the panel may have been left out by one of these decisions before.
bool may_have_dropped(const Decisions& decisions, const std::string& from, const std::string& to) {
  return std::ranges::any_of(decisions.all, [&](const Decision& d) {
    return d.action == OnSuspect::drop_day && (d.from.empty() || !is_before(from, d.from)) &&
           (d.to.empty() || !is_before(d.to, to));
  });
}

// Throws unless the file explains why the panel has no such row; then that it has none, or "".
std::string check_dates_of(const Decisions& decisions, const Decision& d, const Panel& panel) {
  if (has_row(panel, d)) return "";
  const std::string& from = d.from.empty() ? d.to : d.from;
  const std::string& to = d.to.empty() ? d.from : d.to;
  const bool inside = !is_before(from, panel.dates.front()) && !is_before(panel.dates.back(), to);
  const bool of_its_panel = !decisions.first_date.empty() && !decisions.last_date.empty() &&
                            !is_before(from, decisions.first_date) &&
                            !is_before(decisions.last_date, to);
  if (!inside && of_its_panel) return "";
  const std::string when = from == to ? "on " + from : fmt::format("from {} to {}", from, to);
  if (inside && may_have_dropped(decisions, from, to))
    return fmt::format("{}: no row {}", decisions.where(d), when);
  throw InputError(fmt::format(
      "{}: the panel has no row {}; it runs from {} to {}: correct the date, or leave the decision "
      "out",
      decisions.where(d), when, panel.dates.front(), panel.dates.back()));
}

using Names = std::vector<std::string_view>;

bool is_known(const Names& known, std::string_view ticker) {
  return std::ranges::binary_search(known, ticker);
}

// The same for a ticker.
std::string check_ticker_of(const Decisions& decisions, const Decision& d,
                            const std::string& ticker, const Names& known) {
  const std::string_view near = nearest(ticker, known);
  const std::string meant = near.empty() ? "" : fmt::format("did you mean {}?", shortened(near));
  const bool explained = std::ranges::any_of(decisions.all, [&](const Decision& each) {
    return may_drop(each) && (each.tickers.empty() || names_ticker(each, ticker));
  });
  if (!explained)
    throw InputError(fmt::format("{}: the panel has no ticker {}; {}", decisions.where(d),
                                 shown(ticker),
                                 meant.empty() ? "correct it, or leave the decision out" : meant));
  return fmt::format("{}: no ticker {}{}", decisions.where(d), shown(ticker),
                     meant.empty() ? "" : "; " + meant);
}

// Of a file that was written for a panel, or that names assets which it does not leave out itself.
void refuse_other_panel(const Decisions& decisions, const Names& known) {
  const std::string* example = nullptr;
  std::set<std::string_view> missing;
  for (const std::string& ticker : decisions.tickers) {
    if (is_known(known, ticker)) return;
    const bool dropped = std::ranges::any_of(
        decisions.all, [&](const Decision& d) { return may_drop(d) && names_ticker(d, ticker); });
    if (!dropped && example == nullptr) example = &ticker;
  }
  const bool any_dropped = std::ranges::any_of(
      decisions.all, [](const Decision& d) { return may_drop(d) && d.tickers.empty(); });
  for (const Decision& d : decisions.all)
    for (const std::string& ticker : d.tickers) {
      if (is_known(known, ticker)) return;
      if (any_dropped) continue;
      if (d.action == OnSuspect::missing) missing.insert(ticker);
      if (example == nullptr && (!may_drop(d) || missing.size() > 1)) example = &ticker;
    }
  if (example == nullptr) return;
  throw InputError(fmt::format(
      "{} is about another panel: none of its tickers, such as {}, is in this one, which has {}; "
      "give the decisions of this panel",
      decisions.file, shown(*example), some_names(known)));
}

}  // namespace

std::string Decisions::where(const Decision& decision) const {
  return fmt::format("{}:{}", file, decision.line);
}

std::string words_of(const Decision& d) {
  std::string out(d.action == OnSuspect::report ? kKeep : name(d.action));
  if (d.rule) out.append(", ").append(name(*d.rule));
  if (!d.tickers.empty()) {
    out += " of " + shortened(d.tickers.front());
    if (d.tickers.size() > 1) out += fmt::format(" and {} more", d.tickers.size() - 1);
  }
  if (d.from == d.to && !d.from.empty()) return out + " on " + d.from;
  if (!d.from.empty()) out += " from " + d.from;
  if (!d.to.empty()) out += " to " + d.to;
  return out;
}

std::string decisions_text(const std::string& text) {
  if (is_text(text)) return text;
  std::string out(TextFile(text).text());
  if (!is_text(out)) out += '\n';
  return out;
}

Decisions read_decisions(const std::string& text) {
  if (text.empty()) return {};
  const std::string name = is_text(text) ? "decisions" : shown_file(text);
  return DecisionReader(name).read(decisions_text(text));
}

std::vector<std::string> check_known(const Decisions& decisions, const Panel& panel) {
  if (!decisions.given() || panel.dates.empty()) return {};
  Names known(panel.tickers.begin(), panel.tickers.end());
  known.insert(known.end(), panel.left_out.begin(), panel.left_out.end());
  std::ranges::sort(known);
  std::vector<std::string> absent;
  const auto say = [&](std::string words) {
    if (!words.empty()) absent.push_back(std::move(words));
  };
  for (const Decision& d : decisions.all) {
    for (const std::string& ticker : d.tickers)
      if (!is_known(known, ticker) &&
          std::ranges::find(decisions.tickers, ticker) == decisions.tickers.end())
        say(check_ticker_of(decisions, d, ticker, known));
    say(check_dates_of(decisions, d, panel));
  }
  refuse_other_panel(decisions, known);
  return absent;
}

}  // namespace sharpen::market
