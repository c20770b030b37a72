// Decisions proposed for what has none yet, as a file to be edited.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_set>

#include "base/settings_toml.hpp"
#include "market/calendar.hpp"
#include "market/decision_book.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/market/decisions.hpp"

namespace sharpen::market {

namespace {

constexpr std::size_t kMostOneByOne = 50;  // of a rule; more are decided on together
constexpr Index kManyMoves = 5;            // prints, splits and jumps of one asset
constexpr double kMuchFrozen = 0.1;        // of its rows

std::string_view action_word(OnSuspect action) {
  // Nothing can refuse a panel that somebody has decided on.
  return action == OnSuspect::report || action == OnSuspect::error ? "keep" : name(action);
}

std::string size_words(const Finding& finding, PanelKind kind) {
  switch (finding.rule) {
    case Rule::print:
    case Rule::split:
    case Rule::jump:
      return finding.size < 1.0
                 ? fmt::format("the price is divided by {:.4g}: ", 1.0 / finding.size)
                 : fmt::format("the price is multiplied by {:.4g}: ", finding.size);
    case Rule::nonpositive:
      return fmt::format("a {} of {:.6g}: ", kind == PanelKind::prices ? "price" : "return",
                         finding.size);
    case Rule::frozen: return fmt::format("{:.0f} rows without change: ", finding.size);
    default: return "";
  }
}

class Proposer {
 public:
  Proposer(const Panel& raw, const Cleaned& cleaned, const CleaningSettings& settings,
           const Decisions& before)
      : raw_(raw), cleaned_(cleaned), settings_(settings), book_(before, raw) {}

  std::string run() {
    propose_assets();
    for (std::size_t rule = 0; rule < kSuspectRules; ++rule) propose_rule(static_cast<Rule>(rule));
    propose_gaps();
    return std::move(text_);
  }

  Index decisions() const { return decisions_; }
  const std::set<std::string>& tickers() const { return tickers_; }

 private:
  using Runs = std::vector<const FindingRun*>;

  void add(std::optional<Rule> rule, const std::vector<std::string>& tickers,
           const std::string& from, const std::string& to, std::string_view action,
           const std::string& reason) {
    text_ += "\n[[decision]]\n";
    if (rule) text_ += fmt::format("rule = \"{}\"\n", name(*rule));
    if (!tickers.empty()) {
      std::string all;
      for (const std::string& ticker : tickers)
        all.append(all.empty() ? "" : ", ").append(settings::toml_string("tickers", ticker));
      text_ += fmt::format("tickers = [{}]\n", all);
      tickers_.insert(tickers.begin(), tickers.end());
    }
    if (!from.empty()) text_ += fmt::format("from = \"{}\"\nto = \"{}\"\n", from, to);
    text_ += fmt::format("action = \"{}\"\nreason = {}\n", action,
                         settings::toml_string("reason", reason));
    ++decisions_;
  }

  bool all_listed(Rule rule) const { return cleaned_.found[index_of(rule)].found <= kMostFindings; }

  // Assets that are nothing but dirt, as long as they are no more than may be lost.
  void propose_assets() {
    if (settings_.on_suspect != SuspectRules() || !book_.empty()) return;
    // Of a list that is cut off, the worst would be looked for among the first columns only.
    for (const Rule rule : {Rule::print, Rule::split, Rule::jump, Rule::frozen})
      if (!all_listed(rule)) return;
    struct Dirt {
      std::map<Rule, Index> found;
      Index moves = 0;
      double frozen = 0.0;
      double weight() const { return static_cast<double>(moves) + frozen; }
    };
    std::map<Index, Dirt> dirt;
    for (const Finding& finding : cleaned_.findings) {
      if (!is_suspect(finding.rule) || finding.column < 0) continue;
      Dirt& of = dirt[finding.column];
      ++of.found[finding.rule];
      if (finding.rule == Rule::frozen) of.frozen += finding.size;
      of.moves +=
          finding.rule == Rule::print || finding.rule == Rule::split || finding.rule == Rule::jump
              ? 1
              : 0;
    }
    for (const Dropped& asset : cleaned_.dropped) dirt.erase(asset.column);
    const double rows = static_cast<double>(raw_.rows());
    std::vector<std::pair<double, Index>> worst;
    for (const auto& [column, of] : dirt)
      if (of.moves >= kManyMoves || of.frozen > kMuchFrozen * rows)
        worst.emplace_back(-of.weight(), column);
    std::ranges::sort(worst);
    const auto most = static_cast<std::size_t>(settings_.allow_loss.percent / 100.0 *
                                               static_cast<double>(cleaned_.panel.n()));
    if (worst.size() > most) worst.resize(most);
    for (const auto& [weight, column] : worst) {
      std::string why;
      for (const auto& [rule, count] : dirt[column].found)
        why += fmt::format("{}{} {}", why.empty() ? "" : ", ", name(rule), count);
      add({}, {raw_.tickers[at(column)]}, "", "", "drop-asset",
          fmt::format("{}: too much to be a price", why));
      dropped_.insert(column);
    }
  }

  // What is left of a run without the assets that are dropped anyway.
  std::vector<std::string> tickers_of(const FindingRun& run) const {
    std::vector<std::string> out;
    for (const Index column : run.columns)
      if (!dropped_.contains(column)) out.push_back(raw_.tickers[at(column)]);
    return out;
  }

  // Holidays that are too many to be left out without being asked for.
  OnSuspect action_for(const Finding& finding) const {
    const bool too_many =
        cleaned_.lost_rows() > settings_.allow_loss.percent && finding.how == OnSuspect::drop_day;
    if (!too_many) return finding.how;
    return handles(OnSuspect::halt, finding.rule) ? OnSuspect::halt : OnSuspect::report;
  }

  // Why days are not left out where the settings would.
  std::string loss_words(const Finding& finding) const {
    if (action_for(finding) == finding.how) return "";
    return fmt::format(" drop-day would take out {:.1f} % of the rows, which needs --allow-loss",
                       cleaned_.lost_rows());
  }

  std::string reason_for(const FindingRun& run) const {
    const Finding& finding = run.first;
    std::string out = size_words(finding, settings_.kind) + finding.question;
    if (run.columns.size() > 1)
      out = fmt::format("{} assets, the first: {}", run.columns.size(), out);
    if (finding.rule == Rule::holiday && run.count > 1)
      out = fmt::format("{} rows, the first: {}", run.count, out);
    const OnSuspect action = action_for(finding);
    out += loss_words(finding);
    if (finding.rule != Rule::jump || action != OnSuspect::report) return out;
    if (run.columns.size() > 1)
      out +=
          " (If one is no return: give it a decision of its own, action = \"adjust\" with its "
          "ratio)";
    else
      out += fmt::format(" (If it is no return: action = \"adjust\", ratio = {:.6g})",
                         1.0 / finding.size);
    return out;
  }

  void propose_run(const FindingRun& run) {
    const std::vector<std::string> tickers = tickers_of(run);
    if (run.first.column >= 0 && tickers.empty()) return;
    // Decided on is what begins there: behind other decisions that one day is named, for the rows
    // after it may be theirs.
    const bool one_day = !book_.empty() && run.first.column >= 0;
    add(run.first.rule, tickers, run.first.first_date,
        one_day ? run.first.first_date : run.first.last_date, action_word(action_for(run.first)),
        reason_for(run));
  }

  void propose_rule(Rule rule) {
    Runs runs;
    for (const FindingRun& run : cleaned_.runs)
      if (run.first.rule == rule && !run.first.decided) runs.push_back(&run);
    if (runs.empty()) return;
    if (all_listed(rule) && (runs.size() <= kMostOneByOne || !book_.empty())) {
      for (const FindingRun* run : runs) propose_run(*run);
      return;
    }
    const RuleCount& all = cleaned_.found[index_of(rule)];
    // One word for all would overrule those that are handled otherwise and cannot be listed, or
    // what has been decided on before.
    const auto ways = std::ranges::count_if(all.handled, [](Index count) { return count > 0; });
    if (!all_listed(rule) && (ways > 1 || !book_.empty())) {
      if (book_.empty())  // said once
        text_ += fmt::format(
            "\n# {}: {}, more than can be decided on one by one, are left to --on-suspect.\n",
            name(rule), counted(all.found, "suspect"));
      return;
    }
    std::map<OnSuspect, Index> count;
    for (const FindingRun* run : runs) count[action_for(run->first)] += run->count;
    const OnSuspect most =
        std::ranges::max_element(count, {}, [](const auto& each) { return each.second; })->first;
    add(rule, {}, raw_.dates.front(), raw_.dates.back(), action_word(most),
        fmt::format("{}, the worst {}{}: {}", counted(all.found, "suspect"),
                    all.worst.ticker.empty() ? "" : all.worst.ticker + " ", all.worst.first_date,
                    size_words(all.worst, settings_.kind) + all.worst.question) +
            loss_words(all.worst));
    for (const FindingRun* run : runs)
      if (action_for(run->first) != most && run->first.column >= 0) propose_run(*run);
  }

  void propose_gaps() {
    std::vector<const Finding*> gaps;
    for (const Finding& finding : cleaned_.findings)
      if (finding.rule == Rule::gap && finding.size > static_cast<double>(settings_.max_gap) &&
          finding.done == "drops the asset" && !dropped_.contains(finding.column) &&
          book_.about(Rule::gap, finding.column, finding.first_row) == nullptr)
        gaps.push_back(&finding);
    if (gaps.size() > kMostOneByOne) {
      add(Rule::gap, {}, raw_.dates.front(), raw_.dates.back(), "keep",
          fmt::format("{} assets have gaps of more than {} rows: left to --max-gap and --universe; "
                      "halt carries the last price and forbids trades",
                      gaps.size(), settings_.max_gap));
      return;
    }
    for (const Finding* gap : gaps)
      add(Rule::gap, {gap->ticker}, gap->first_date, gap->last_date, "keep",
          fmt::format(
              "no value for {:.0f} rows: left to --max-gap and --universe; halt carries the "
              "last price and forbids trades",
              gap->size));
  }

  const Panel& raw_;
  const Cleaned& cleaned_;
  const CleaningSettings& settings_;
  DecisionBook book_;
  std::unordered_set<Index> dropped_;  // columns that a proposal drops
  std::set<std::string> tickers_;
  std::string text_;
  Index decisions_ = 0;
};

// What a file of decisions says of the panel that they are for.
struct PanelWords {
  std::string file, from, to;
  std::vector<std::string> tickers;

  // By the keys of [panel]; "" for none.
  std::vector<std::pair<std::string, std::string>> keys() const {
    std::string all;
    for (const std::string& ticker : tickers)
      all.append(all.empty() ? "" : ", ").append(settings::toml_string("tickers", ticker));
    return {{"file", settings::toml_string("file", printable(file, 400))},
            {"from", fmt::format("\"{}\"", from)},
            {"to", fmt::format("\"{}\"", to)},
            {"tickers", all.empty() ? "" : fmt::format("[{}]", all)}};
  }
  std::string text() const {
    std::string out = "[panel]\n";
    for (const auto& [key, value] : keys())
      if (!value.empty()) out += fmt::format("{} = {}\n", key, value);
    return out;
  }
};

// Assets that decisions name, for they may be gone from the panel when it has been cleaned, and a
// few others that stay: a panel that has none of them is another one.
PanelWords panel_words(const Panel& raw, const std::string& file, const Cleaned& cleaned,
                       const Decisions& known, const std::set<std::string>& proposed) {
  constexpr std::size_t kOthers = 5;
  const auto earlier = [](const std::string& a, const std::string& b) {
    return compare_dates(b, a) < 0 ? b : a;
  };
  const auto later = [](const std::string& a, const std::string& b) {
    return compare_dates(a, b) < 0 ? b : a;
  };
  PanelWords out{file, raw.dates.front(), raw.dates.back(), known.tickers};
  if (!known.first_date.empty()) out.from = earlier(known.first_date, out.from);
  if (!known.last_date.empty()) out.to = later(known.last_date, out.to);
  std::set<std::string> named = proposed;
  for (const Decision& d : known.all) named.insert(d.tickers.begin(), d.tickers.end());
  const std::set<std::string> before(known.tickers.begin(), known.tickers.end());
  for (const std::string& ticker : named)
    if (!before.contains(ticker)) out.tickers.push_back(ticker);
  if (std::ranges::all_of(before, [&](const auto& ticker) { return named.contains(ticker); })) {
    std::size_t others = 0;
    for (const std::string& ticker : cleaned.panel.tickers)
      if (others < kOthers && !named.contains(ticker)) {
        out.tickers.push_back(ticker);
        ++others;
      }
  }
  return out;
}

// Where in the text a place that TOML names is: lines and characters are counted from 1.
std::size_t offset_of(const std::string& text, const toml::source_position& place) {
  std::size_t at = 0;
  for (toml::source_index line = 1; line < place.line && at < text.size(); ++line)
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
  for (toml::source_index column = 1; column < place.column && at < text.size(); ++column) do
      ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  return at;
}

// The text with what it says of the panel brought up to date, and every other word as it was.
std::string with_panel(const std::string& text, const Decisions& known, const PanelWords& words) {
  const toml::table file = settings::parse_toml(text, known.file, text.size() + 1);
  const toml::table* panel = file["panel"].as_table();
  if (panel == nullptr) return words.text() + "\n" + text;
  struct Change {
    std::size_t from, to;
    std::string with;
  };
  std::vector<Change> changes;
  std::size_t behind = 0;  // the last key that is there
  std::string added;
  for (const auto& [key, value] : words.keys()) {
    const toml::node* node = panel->get(key);
    if (node == nullptr) {
      if (!value.empty()) added += fmt::format("\n{} = {}", key, value);
      continue;
    }
    const std::size_t from = offset_of(text, node->source().begin);
    const std::size_t to = offset_of(text, node->source().end);
    behind = std::max(behind, to);
    const bool same = key == "tickers" ? known.tickers == words.tickers
                                       : node->value<std::string>() ==
                                             toml::parse("x = " + value)["x"].value<std::string>();
    if (!same) changes.push_back({from, to, value});
  }
  if (!added.empty() && !panel->is_inline()) {
    if (behind == 0) behind = offset_of(text, panel->source().begin);
    const std::size_t end = std::min(text.find('\n', behind), text.size());
    changes.push_back({end, end, added});
  }
  std::ranges::sort(changes, std::greater<>(), &Change::from);
  std::string out = text;
  for (const Change& change : changes)
    out.replace(change.from, change.to - change.from, change.with);
  return out;
}

constexpr std::string_view kHead =
    "# What is done about the suspects of a panel, proposed by sharpen doctor. Change what you\n"
    "# know better, then give the file to every command as --decisions.\n"
    "# action: adjust, missing, halt, drop-day, drop-asset or keep. A decision without tickers\n"
    "# is about all assets, one without rule about whatever is there.\n\n";

}  // namespace

Proposal propose(const Panel& raw, const std::string& file, const Cleaned& cleaned,
                 const CleaningSettings& settings, const std::string& before) {
  const Decisions known = before.empty() ? Decisions() : read_decisions(before + "\n");
  Proposer proposer(raw, cleaned, settings, known);
  const std::string text = proposer.run();
  const PanelWords words = panel_words(raw, file, cleaned, known, proposer.tickers());
  Proposal out;
  out.decisions = proposer.decisions();
  if (before.empty())
    out.text = std::string(kHead) + words.text() + text;
  else
    out.text = with_panel(before, known, words) +
               (text.empty() ? "" : fmt::format("\n# Found up to {}.\n", raw.dates.back())) + text;
  return out;
}

}  // namespace sharpen::market
