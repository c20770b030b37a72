// The report in the formats without scripts, and the sentences that open it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "report/escape.hpp"
#include "report/table_builder.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/report/report.hpp"

namespace sharpen::report {

namespace {

using study::CellState;
using study::Results;

// What a report begins with, so that it is known for one.
constexpr std::string_view kFirstWords = "Sharpen report";

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Index count(const Results& results, CellState state) {
  return std::ranges::count(results.cells, state, &study::Cell::state);
}

// "DFL in 3, PFL OSCAR and PFL mSSRM tied in 1"
std::string winners(const Results& results, const Summary& summary) {
  std::map<std::vector<Index>, Index> wins;
  for (const Leader& leader : summary.leaders) ++wins[leader.methods];
  std::vector<std::pair<std::vector<Index>, Index>> ranked(wins.begin(), wins.end());
  std::ranges::stable_sort(ranked,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (const auto& [methods, rows] : ranked) {
    if (!out.empty()) out += ", ";
    for (std::size_t i = 0; i < methods.size(); ++i)
      out += (i == 0                   ? ""
              : i + 1 < methods.size() ? ", "
                                       : " and ") +
             results.methods[at(methods[i])].label;
    out += fmt::format("{} in {}", methods.size() > 1 ? " tied" : "", rows);
  }
  return out;
}

// "DFL swap in 3": where a method of ours is better than every one that competes at its cost.
std::string ours_above(const Results& results, const Summary& summary) {
  std::string out;
  for (std::size_t c = at(summary.competing); c < summary.columns.size(); ++c) {
    const Index method = summary.columns[c];
    const auto rows = std::ranges::count_if(summary.leaders, [&](const Leader& leader) {
      return summary.is_ranked(leader.group, method) &&
             summary.costs[at(method)] == leader.cost_bps &&
             summary.entry(leader.group, method)[Figure::sharpe].mean >
                 summary.entry(leader.group, leader.methods.front())[Figure::sharpe].mean;
    });
    if (rows > 0)
      out += fmt::format("{}{} in {}", out.empty() ? "" : ", ", results.methods[at(method)].label,
                         rows);
  }
  return out;
}

// "3 rows", or what stands for them where each cost has a best of its own.
std::string rows_text(const Summary& summary, std::size_t rows) {
  if (summary.cost_levels().size() < 2) return counted(rows, "row");
  return fmt::format("{} of equal cost", counted(rows, "comparison"));
}

void add_best(const Results& results, const Summary& summary, std::vector<std::string>& out) {
  if (summary.leaders.empty()) return;
  const std::string all = rows_text(summary, summary.leaders.size());
  out.push_back(fmt::format("Best mean Sharpe ratio: {} of {}.", winners(results, summary), all));
  if (const std::string ours = ours_above(results, summary); !ours.empty())
    out.push_back(fmt::format("Of ours, shown apart, above that: {} of {}.", ours, all));
}

void add_tests(const Summary& summary, std::vector<std::string>& out) {
  if (summary.best.empty()) return;
  const auto clear =
      std::ranges::count_if(summary.best, [](const Comparison& test) { return test.is_clear(); });
  const auto against = std::ranges::count_if(summary.best, [](const Comparison& test) {
    return test.contrary() && test.p_adjusted < 0.05;
  });
  const std::string rows = rows_text(summary, summary.best.size());
  out.push_back(
      clear == 0 ? fmt::format("In no row {} the runner-up (p below 0.05 after Holm’s correction).",
                               against == 0 ? "can the test days tell the best from"
                                            : "do the test days find the best better than")
                 : fmt::format("In {} of {} the test days tell the best from the runner-up (p "
                               "below 0.05 after Holm’s correction).",
                               clear, rows));
  if (against > 0)
    out.push_back(
        fmt::format("In {} of {} they speak for the runner-up (marked §): its returns, averaged "
                    "over the seeds, have the higher Sharpe ratio, though the mean of its seeds’ "
                    "ratios is not the higher one.",
                    against, rows));
}

void add_ruin(const Summary& summary, std::vector<std::string>& out) {
  Index runs = 0;
  std::set<Index> methods;
  for (std::size_t e = 0; e < summary.entries.size(); ++e) {
    runs += summary.entries[e].ruined;
    if (summary.entries[e].ruined > 0) methods.insert(static_cast<Index>(e) % summary.methods);
  }
  if (runs == 0) return;
  out.push_back(fmt::format("{} ended in ruin and {} not ranked in the rows where {} did (‡).",
                            counted(methods.size(), "method"), methods.size() == 1 ? "is" : "are",
                            methods.size() == 1 ? "it" : "they"));
  out.push_back(fmt::format("{} ended in ruin; {} no strategy that anyone could have followed.",
                            counted(at(runs), "run"),
                            runs == 1 ? "its averages describe" : "their averages describe"));
}

// Whether the runs of two methods have the same returns, bit for bit, seed by seed.
bool are_alike(const Results& results, const Entry& a, const Entry& b) {
  if (a.cells.size() != b.cells.size() || a.done == 0) return false;
  for (std::size_t i = 0; i < a.cells.size(); ++i) {
    const study::Cell &first = results.cells[at(a.cells[i])],
                      &second = results.cells[at(b.cells[i])];
    if (first.state != CellState::done || second.state != CellState::done ||
        first.seed != second.seed || first.run.returns != second.run.returns ||
        first.run.dates != second.run.dates)
      return false;
  }
  return true;
}

// Where learning by the decision left the forecasts as they were.
void add_alike(const Results& results, const Summary& summary, std::vector<std::string>& out) {
  for (Index a = 0; a < summary.methods; ++a)
    for (Index b = 0; b < summary.methods; ++b) {
      const study::Method &dfl = results.methods[at(a)], &pfl = results.methods[at(b)];
      if (dfl.framework != "dfl" || pfl.framework != "pfl" || dfl.optimizer != pfl.optimizer)
        continue;
      std::vector<std::string> rows;
      for (Index g = 0; g < static_cast<Index>(summary.groups.size()); ++g)
        if (are_alike(results, summary.entry(g, a), summary.entry(g, b))) {
          const Group& group = summary.groups[at(g)];
          rows.push_back(fmt::format(
              "k = {}{}", group.k,
              results.markets.size() > 1 ? " of " + results.markets[at(group.market)].name : ""));
        }
      if (rows.empty()) continue;
      constexpr std::size_t kMost = 4;
      const std::size_t more = rows.size() - std::min(rows.size(), kMost);
      rows.resize(rows.size() - more);
      out.push_back(fmt::format(
          "{} and {} hold the same in {}{}: their daily returns are equal bit for bit, as they are "
          "where validation keeps the forecasts that training began with.",
          dfl.label, pfl.label, fmt::join(rows, ", "),
          more > 0 ? fmt::format(" and {}", counted(more, "other row")) : ""));
    }
}

void add_warnings(const Results& results, std::vector<std::string>& out) {
  std::size_t warnings = 0;
  const study::Market* first = nullptr;
  for (const study::Market& market : results.markets) {
    warnings += market.warnings.size();
    if (first == nullptr && !market.warnings.empty()) first = &market;
  }
  if (first == nullptr) return;
  out.push_back(fmt::format("{} about the markets, {} {}: {}", counted(warnings, "warning"),
                            warnings == 1 ? "of" : "the first of", first->name,
                            first->warnings.front()));
}

}  // namespace

Format format_of(std::string_view word) {
  if (word == "markdown") return Format::markdown;
  for (const Format format :
       {Format::html, Format::text, Format::markdown, Format::latex, Format::csv})
    if (name(format) == word) return format;
  throw InputError(
      fmt::format("format = {} is not one of html, text, md, latex, csv", printable(word)));
}

std::string_view name(Format format) {
  switch (format) {
    case Format::html: return "html";
    case Format::text: return "text";
    case Format::markdown: return "md";
    case Format::latex: return "latex";
    case Format::csv: return "csv";
  }
  return "";
}

std::string headline(const Results& results, const Summary& summary) {
  std::set<std::uint64_t> seeds;
  for (const study::Cell& cell : results.cells)
    if (cell.seed) seeds.insert(*cell.seed);
  const std::string of_seeds = seeds.empty() ? "" : ", " + counted(seeds.size(), "seed");
  std::string out = fmt::format(
      "{}, {} of market and k, {}{}: {} of {} done", counted(results.markets.size(), "market"),
      counted(summary.groups.size(), "row"), counted(results.methods.size(), "method"), of_seeds,
      count(results, CellState::done), counted(results.cells.size(), "cell"));
  if (const Index failed = count(results, CellState::failed); failed > 0)
    out += fmt::format(", {} failed", failed);
  if (const Index missing = count(results, CellState::missing); missing > 0)
    out += fmt::format(", {} missing", missing);
  return out;
}

std::vector<std::string> findings(const Results& results, const Summary& summary) {
  std::vector<std::string> out;
  if (count(results, CellState::done) == 0) {
    out.emplace_back("No cell of this study is done, so there is nothing to compare.");
    add_warnings(results, out);
    return out;
  }
  add_best(results, summary, out);
  add_tests(summary, out);
  add_ruin(summary, out);
  add_alike(results, summary, out);
  add_warnings(results, out);
  const Index undone = count(results, CellState::failed) + count(results, CellState::missing);
  if (undone > 0)
    out.push_back(
        fmt::format("{} of {} {} no result: figures marked † rest on fewer runs than planned.",
                    undone, counted(results.cells.size(), "cell"), undone == 1 ? "has" : "have"));
  return out;
}

bool is_report(std::string_view beginning) {
  if (beginning.starts_with("table,market,assets,k,k_given,")) return true;
  if (beginning.find("<meta name=\"generator\" content=\"Sharpen\">") != std::string_view::npos)
    return true;
  for (const std::string_view before : {"", "<!-- ", "% "})
    if (beginning.starts_with(before) && beginning.substr(before.size()).starts_with(kFirstWords))
      return true;
  return false;
}

std::string document(const Results& results, const Summary& summary, const std::vector<Table>& all,
                     Format format, bool whole) {
  if (format == Format::html) return page(results, summary, all);
  if (format == Format::csv) return to_csv(all);
  std::vector<std::string> sentences;
  if (whole) sentences = findings(results, summary);
  std::string out;
  if (format == Format::text) {
    out = fmt::format("{}: {}\n", kFirstWords, clean(results.name));
    if (whole) out += headline(results, summary) + "\n\n";
    for (const std::string& sentence : sentences) out += clean(sentence) + "\n";
    for (const Table& table : all) out += (whole ? "\n\n" : "\n") + to_text(table);
  } else if (format == Format::markdown) {
    out = fmt::format("<!-- {} -->\n\n## {}\n", kFirstWords, markdown_escaped(results.name));
    if (whole) out += "\n" + headline(results, summary) + ".\n";
    for (const std::string& sentence : sentences) out += "\n" + markdown_escaped(sentence) + "\n";
    for (const Table& table : all) out += "\n" + to_markdown(table);
  } else {
    out = fmt::format("% {}\n", kFirstWords) +
          "% \\usepackage[T1]{fontenc} \\usepackage{textcomp} \\usepackage{booktabs}\n"
          "% Names beyond Latin script need XeLaTeX or LuaLaTeX and a font that has them.\n";
    for (const Table& table : all) out += "\n" + to_latex(table);
  }
  return out;
}

}  // namespace sharpen::report
