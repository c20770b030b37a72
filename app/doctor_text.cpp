// The answer of `sharpen doctor` on a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "commands.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::app {

namespace {

constexpr std::size_t kMostRows = 500;

using market::Finding;
using market::Rule;

std::string size_text(const Finding& finding) {
  switch (finding.rule) {
    case Rule::nonpositive: return fmt::format("{:.6g}", finding.size);
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

// "... and 12 more (print 10, split 2)": of the rules from first to last, what is not in the table.
std::string and_more(const market::Cleaned& cleaned, const std::map<Rule, Index>& listed,
                     Rule first, Rule last) {
  Index more = 0;
  std::string kinds;
  bool json_has_all = true;
  for (int r = static_cast<int>(first); r <= static_cast<int>(last); ++r) {
    const auto rule = static_cast<Rule>(r);
    const Index found = cleaned.found[at(r)];
    const Index rest = found - (listed.contains(rule) ? listed.at(rule) : 0);
    if (rest == 0) continue;
    more += rest;
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", market::name(rule), rest);
    json_has_all = json_has_all && found <= market::kMostFindings;
  }
  if (more == 0) return "";
  return fmt::format(
      "  ... and {} more ({}); ‹--json› lists {}\n", more, kinds,
      json_has_all ? "all" : fmt::format("the first {} of each", market::kMostFindings));
}

std::string suspects_text(const command::Diagnosis& diagnosis) {
  using enum market::OnSuspect;
  std::vector<std::vector<std::string>> rows;
  std::string questions;
  std::map<Rule, Index> listed;
  for (const Finding& finding : diagnosis.cleaned.findings) {
    if (!market::is_suspect(finding.rule) || rows.size() == kMostRows) continue;
    ++listed[finding.rule];
    const auto mode = [&](market::OnSuspect m) {
      return market::would_do(finding, m, diagnosis.settings);
    };
    rows.push_back({ticker_text(finding.ticker), dates_text(finding), size_text(finding),
                    std::string(market::name(finding.rule)), mode(adjust), mode(drop_asset),
                    mode(drop_day)});
    if (finding.rule == Rule::split || finding.rule == Rule::jump)
      questions += fmt::format("  {} {}: {}\n", ticker_text(finding.ticker), finding.first_date,
                               finding.question);
  }
  if (rows.empty()) return "suspects   none\n";
  std::string out = fmt::format(
      "suspects   {}; a suspect is a question, not a verdict. What each ‹--on-suspect› would do\n"
      "           (report leaves them all, error refuses the panel):\n\n",
      diagnosis.cleaned.suspects());
  out += render_table({"ticker", "date", "size", "rule", "adjust", "drop-asset", "drop-day"}, rows);
  out += and_more(diagnosis.cleaned, listed, Rule::nonpositive, Rule::holiday);
  if (!questions.empty()) out += "\n" + questions;
  return out + "\n";
}

std::string missing_text(const command::Diagnosis& diagnosis) {
  std::vector<std::vector<std::string>> rows;
  std::map<Rule, Index> listed;
  for (const Finding& finding : diagnosis.cleaned.findings) {
    if (market::is_suspect(finding.rule) || rows.size() == kMostRows) continue;
    ++listed[finding.rule];
    rows.push_back({ticker_text(finding.ticker), dates_text(finding), size_text(finding),
                    std::string(market::name(finding.rule)), finding.done});
  }
  if (rows.empty()) return "";
  return fmt::format("missing    handled by ‹--universe {}› and ‹--max-gap {}›:\n\n",
                     market::name(diagnosis.settings.universe), diagnosis.settings.max_gap) +
         render_table({"ticker", "date", "missing", "rule", "what is done"}, rows) +
         and_more(diagnosis.cleaned, listed, Rule::gap, Rule::no_value) + "\n";
}

std::string cleaned_text(const command::Diagnosis& diagnosis) {
  const market::Cleaned& cleaned = diagnosis.cleaned;
  std::string out = fmt::format(
      "cleaned    {} of {} assets, {} of {} rows (‹--universe {}› ‹--max-gap {}› ‹--on-suspect "
      "{}›),\n"
      "           all of it decided with hindsight\n",
      cleaned.panel.n(), diagnosis.assets, cleaned.panel.rows(), diagnosis.rows,
      market::name(diagnosis.settings.universe), diagnosis.settings.max_gap,
      market::name(diagnosis.settings.on_suspect));
  if (!diagnosis.out.empty())
    out += fmt::format("written    {}\n", printable(diagnosis.out, 4 * diagnosis.out.size()));
  return out;
}

}  // namespace

std::string doctor_text(const command::Diagnosis& diagnosis) {
  std::string out = fmt::format("panel      {}: {}, {} assets, {} rows from {} to {}\n",
                                printable(diagnosis.file, 4 * diagnosis.file.size()),
                                market::name(diagnosis.settings.kind), diagnosis.assets,
                                diagnosis.rows, diagnosis.from, diagnosis.to);
  out += fmt::format("complete   {} of {} assets; {}\n", diagnosis.complete_assets,
                     diagnosis.assets, counted(diagnosis.missing_cells, "missing cell"));
  out += suspects_text(diagnosis) + missing_text(diagnosis) + cleaned_text(diagnosis);
  for (const std::string& warning : diagnosis.warnings)
    out += fmt::format("warning    {}\n", warning);
  return out;
}

}  // namespace sharpen::app
