// The answer of `sharpen doctor` on a terminal: a summary that fits a screen of 24 lines, and lists
// for those who ask for details.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "commands.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::app {

namespace {

constexpr std::size_t kMostRows = 500;
constexpr std::size_t kScreen = 80;  // columns
constexpr std::size_t kMargin = 11;  // before the words of a line
constexpr std::size_t kShortName = 9;

using command::Diagnosis;
using market::Finding;
using market::FindingRun;
using market::OnSuspect;
using market::Rule;

std::string size_text(const Finding& finding) {
  switch (finding.rule) {
    case Rule::nonpositive: return fmt::format("{:.4g}", finding.size);
    case Rule::print:
    case Rule::split:
    case Rule::jump:
      return finding.size < 1.0 ? fmt::format("/ {:.4g}", 1.0 / finding.size)
                                : fmt::format("x {:.4g}", finding.size);
    case Rule::holiday: return fmt::format("{:.0f} % move", 100 * finding.size);
    default: break;
  }
  return fmt::format("{:.0f} row{}", finding.size, finding.size == 1.0 ? "" : "s");
}

std::string dates_text(const Finding& finding) {
  if (finding.first_date == finding.last_date) return finding.first_date;
  return finding.first_date + " to " + finding.last_date;
}

std::string ticker_text(const std::string& ticker) {
  return ticker.empty() ? "(all)" : printable(ticker, kWidestName);
}

// ---- the summary

// Where the word that begins at `i` ends: at a space that is not within the marks of a setting.
std::size_t word_end(const std::string& words, std::size_t i) {
  std::size_t end = std::min(words.find(' ', i), words.size());
  const std::size_t open = words.find("‹", i);
  if (open < end) end = std::min(words.find(' ', words.find("›", open)), words.size());
  return end;
}

// "name       words", going on below the words where the screen ends; a word that is longer than a
// line, which a list of rules may be, goes on behind one of its commas.
std::string line_of(std::string_view name, const std::string& words) {
  constexpr std::size_t kLine = kScreen - kMargin;
  const std::string next_line = "\n" + std::string(kMargin, ' ');
  std::string out = fmt::format("{:<{}}", name, kMargin);
  std::size_t width = 0;
  for (std::size_t i = 0; i < words.size();) {
    const std::size_t end = word_end(words, i);
    std::string word = plain(words.substr(i, end - i));
    if (width > 0) {
      const bool fits = width + 1 + display_width(word) <= kLine;
      out += fits ? " " : next_line;
      width = fits ? width + 1 : 0;
    }
    while (display_width(word) > kLine) {
      const std::size_t comma = word.rfind(',', kLine - 1);
      if (comma == std::string::npos) break;
      out += word.substr(0, comma + 1) + next_line;
      word.erase(0, comma + 1);
    }
    out += word;
    width += display_width(word);
    i = end + 1;
  }
  return out + "\n";
}

std::string panel_text(const Diagnosis& diagnosis) {
  const std::string size =
      fmt::format(": {}, {}, {} from {} to {}", market::name(diagnosis.settings.kind),
                  counted(diagnosis.assets, "asset"), counted(diagnosis.rows, "row"),
                  diagnosis.from, diagnosis.to);
  return line_of("panel", printable(diagnosis.file, 60) + size);
}

std::string complete_text(const Diagnosis& diagnosis) {
  std::string out = fmt::format("{} of {} assets; {}", diagnosis.complete_assets, diagnosis.assets,
                                counted(diagnosis.missing_cells, "missing cell"));
  std::string rules;
  for (std::size_t i = market::kSuspectRules; i < market::kRules; ++i)
    if (const market::RuleCount& count = diagnosis.cleaned.found[i]; count.found > 0)
      rules += fmt::format("{}{} {}", rules.empty() ? "" : ", ", market::name(static_cast<Rule>(i)),
                           counted(count.assets, "asset"));
  return line_of("complete", out + (rules.empty() ? "" : ": " + rules));
}

std::string handled_text(const market::RuleCount& count) {
  std::string out;
  std::size_t ways = 0;
  for (const Index each : count.handled) ways += each > 0 ? 1 : 0;
  for (std::size_t how = 0; how < count.handled.size(); ++how) {
    if (count.handled[how] == 0) continue;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", market::name(static_cast<OnSuspect>(how)));
    if (ways > 1) out += fmt::format(" {}", count.handled[how]);
  }
  return out.empty() ? "left out" : out;
}

std::string suspects_text(const Diagnosis& diagnosis) {
  const Index suspects = diagnosis.cleaned.suspects();
  if (suspects == 0) return line_of("suspects", "none");
  const auto assets =
      std::ranges::count_if(diagnosis.cleaned.suspects_of, [](Index each) { return each > 0; });
  std::string out =
      line_of("suspects", fmt::format("{}, in {}; a suspect is a question, not a verdict", suspects,
                                      counted(assets, "asset")));
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < market::kSuspectRules; ++i) {
    const market::RuleCount& count = diagnosis.cleaned.found[i];
    if (count.found == 0) continue;
    const bool of_rows = static_cast<Rule>(i) == Rule::holiday;
    const Finding& worst = count.worst;
    rows.push_back({std::string(market::name(static_cast<Rule>(i))), std::to_string(count.found),
                    of_rows ? "-" : std::to_string(count.assets),
                    fmt::format("{}{} {}", of_rows ? "" : printable(worst.ticker, kShortName) + " ",
                                worst.first_date, size_text(worst)),
                    handled_text(count)});
  }
  const std::vector<std::string> header = {"rule", "found", "assets", "worst", "what is done"};
  // The last column gets what the others leave of the screen.
  std::size_t left = kScreen;
  for (std::size_t column = 0; column + 1 < header.size(); ++column) {
    std::size_t width = display_width(header[column]);
    for (const auto& row : rows) width = std::max(width, display_width(row[column]));
    left -= std::min(left, width + 2);
  }
  left = std::max(header.back().size(), left - std::min<std::size_t>(left, 2));
  for (auto& row : rows) row.back() = printable(row.back(), left);
  return out + render_table(header, rows);
}

std::string most_text(const Diagnosis& diagnosis) {
  std::string out;
  for (const auto& [column, count] : diagnosis.worst_assets(5))
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ",
                       printable(diagnosis.tickers[at(column)], kShortName), count);
  return out.empty() ? "" : line_of("most", out);
}

std::string choices_text(const Diagnosis& diagnosis) {
  std::string out;
  for (const market::Choice& choice : diagnosis.choices)
    out += fmt::format("{} {} {} x {}", out.empty() ? "" : ",", choice.on_suspect, choice.names,
                       choice.rows);
  return out.empty() ? "" : line_of("leaves", "names x rows by ‹--on-suspect›:" + out);
}

std::string ranges_text(const Diagnosis& diagnosis) {
  std::string out;
  for (std::size_t i = 1; i < diagnosis.ranges.size(); ++i) {
    const market::DateRange& range = diagnosis.ranges[i];
    std::string flags;
    if (range.from != diagnosis.from) flags += fmt::format("‹--from {}› ", range.from);
    if (range.to != diagnosis.to) flags += fmt::format("‹--to {}› ", range.to);
    out += line_of(i == 1 ? "dates" : "",
                   fmt::format("{}keeps {} of {} names complete (all dates {}), {} of {} rows",
                               flags, range.names, diagnosis.assets, diagnosis.ranges.front().names,
                               range.rows, diagnosis.rows));
  }
  return out;
}

std::string cleaned_text(const Diagnosis& diagnosis) {
  const market::Cleaned& cleaned = diagnosis.cleaned;
  const double allowed = diagnosis.settings.allow_loss.percent;
  std::string out = line_of(
      "cleaned",
      fmt::format("{} of {} assets, {} of {} rows, all of it decided with hindsight (‹--universe "
                  "{}› ‹--max-gap {}› ‹--on-suspect {}›)",
                  cleaned.panel.n(), diagnosis.assets, cleaned.panel.rows(), diagnosis.rows,
                  market::name(diagnosis.settings.universe), diagnosis.settings.max_gap,
                  market::name(diagnosis.settings.on_suspect)));
  const double lost =
      std::max(cleaned.lost_names(), cleaned.dropped_days.size() > 1 ? cleaned.lost_rows() : 0.0);
  if (lost > allowed)
    out += line_of("loss", fmt::format("{:.1f} % of the rows and {:.1f} % of the names that the "
                                       "universe keeps; other commands need ‹--allow-loss {:.0f}%›",
                                       cleaned.lost_rows(), cleaned.lost_names(), std::ceil(lost)));
  return out;
}

// What has to be said of decisions: how many for which reason, and the first of them.
std::string notes_text(const Diagnosis& diagnosis) {
  using enum market::DecisionDoubt;
  const auto& notes = diagnosis.cleaned.notes;
  if (notes.empty()) return "";
  std::string out;
  const auto add = [&](market::DecisionDoubt doubt, std::string_view what) {
    const auto count = std::ranges::count(notes, doubt, &market::DecisionNote::doubt);
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, what);
  };
  add(idle, "without anything to act on");
  add(absent, "about what is not there");
  add(made_before, "not divided out again");
  add(larger, "making a move larger");
  add(near_one, "hidden by ordinary moves");
  return line_of("decisions",
                 fmt::format("{}; the first: {}{}", out, printable(notes.front().words, 110),
                             diagnosis.details ? "" : "; ‹--details› lists them"));
}

std::string decisions_text(const Diagnosis& diagnosis) {
  std::string out;
  Index undecided = 0;
  for (const market::RuleCount& count : diagnosis.cleaned.found) undecided += count.undecided;
  if (undecided > 0) {
    const Finding& first = diagnosis.cleaned.undecided.front();
    out += line_of("new", fmt::format("{} without a decision, the first: {} {} {}",
                                      counted(undecided, "suspect"),
                                      printable(ticker_text(first.ticker), kShortName),
                                      market::name(first.rule), first.first_date));
  }
  out += notes_text(diagnosis);
  if (!diagnosis.decide.empty())
    out += line_of("decide", fmt::format("{} proposed in {}: look at them, then give "
                                         "‹--decisions FILE› to every command",
                                         counted(diagnosis.proposed, "decision"),
                                         printable(diagnosis.decide, 60)));
  if (!diagnosis.out.empty())
    out += fmt::format("written    {}\n", printable(diagnosis.out, 4 * diagnosis.out.size()));
  if (!diagnosis.details && diagnosis.decide.empty() &&
      diagnosis.cleaned.suspects() + diagnosis.missing_cells > 0)
    out +=
        line_of("next", diagnosis.settings.decisions.empty()
                            ? "‹--details› lists them; ‹--decide FILE› proposes a decision for each"
                        : undecided > 0
                            ? "‹--details› lists them; ‹--decide FILE›, too, proposes new decisions"
                            : "‹--details› lists them; each suspect has its decision");
  return out;
}

// ---- details

std::string tickers_text(const FindingRun& run) {
  if (run.columns.size() < 2) return ticker_text(run.first.ticker);
  return fmt::format("{} and {} more", ticker_text(run.first.ticker), run.columns.size() - 1);
}

std::string suspect_list(const Diagnosis& diagnosis) {
  std::vector<std::vector<std::string>> rows;
  std::string questions;
  Index shown = 0;
  for (const FindingRun& run : diagnosis.cleaned.runs) {
    if (rows.size() == kMostRows) break;
    shown += run.count;
    const Finding& first = run.first;
    rows.push_back({tickers_text(run), dates_text(first),
                    first.rule == Rule::holiday && run.count > 1 ? counted(run.count, "row")
                                                                 : size_text(first),
                    std::string(market::name(first.rule)), first.done,
                    first.decided ? "decision" : "kind"});
    if (first.rule == Rule::split || first.rule == Rule::jump)
      questions +=
          fmt::format("  {} {}: {}\n", tickers_text(run), first.first_date, first.question);
  }
  if (rows.empty()) return "";
  std::string out =
      "\n" + render_table({"ticker", "date", "size", "rule", "what is done", "by"}, rows);
  if (const Index more = diagnosis.cleaned.suspects() - shown; more > 0)
    out += fmt::format("  ... and {} more; ‹--json› lists the first {} of each rule\n", more,
                       market::kMostFindings);
  return out + (questions.empty() ? "" : "\n" + questions);
}

std::string notes_list(const Diagnosis& diagnosis) {
  std::string out;
  for (const std::string& line : market::decision_notes(diagnosis.cleaned))
    out += "  " + plain(line) + "\n";
  return out.empty() ? "" : "\n" + out;
}

std::string missing_list(const Diagnosis& diagnosis) {
  std::vector<std::vector<std::string>> rows;
  Index all = 0;
  for (std::size_t i = market::kSuspectRules; i < market::kRules; ++i)
    all += diagnosis.cleaned.found[i].found;
  for (const Finding& finding : diagnosis.cleaned.findings) {
    if (market::is_suspect(finding.rule) || rows.size() == kMostRows) continue;
    rows.push_back({ticker_text(finding.ticker), dates_text(finding), size_text(finding),
                    std::string(market::name(finding.rule)), finding.done});
  }
  if (rows.empty()) return "";
  std::string out =
      "\n" + render_table({"ticker", "date", "missing", "rule", "what is done"}, rows);
  if (const auto more = all - static_cast<Index>(rows.size()); more > 0)
    out += fmt::format("  ... and {} more; ‹--json› lists the first {} of each rule\n", more,
                       market::kMostFindings);
  return out;
}

}  // namespace

std::string doctor_text(const Diagnosis& diagnosis) {
  std::string out = panel_text(diagnosis) + complete_text(diagnosis) + suspects_text(diagnosis) +
                    most_text(diagnosis) + choices_text(diagnosis) + ranges_text(diagnosis) +
                    cleaned_text(diagnosis) + decisions_text(diagnosis);
  for (const std::string& warning : diagnosis.warnings)
    out += fmt::format("warning    {}\n", warning);
  if (diagnosis.details)
    out += suspect_list(diagnosis) + missing_list(diagnosis) + notes_list(diagnosis);
  return out;
}

}  // namespace sharpen::app
