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

// "DFL in 3, PFL OSCAR in 1"
std::string winners(const Results& results, const Summary& summary) {
  std::map<Index, Index> wins;
  for (const Comparison& test : summary.best) ++wins[test.a];
  std::vector<std::pair<Index, Index>> ranked(wins.begin(), wins.end());
  std::ranges::stable_sort(ranked,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (const auto& [method, rows] : ranked)
    out +=
        fmt::format("{}{} in {}", out.empty() ? "" : ", ", results.methods[at(method)].label, rows);
  return out;
}

// "DFL swap in 3": the rows in which a method of ours is better than every one that competes.
std::string ours_above(const Results& results, const Summary& summary) {
  std::string out;
  for (std::size_t c = at(summary.competing); c < summary.columns.size(); ++c) {
    const Index method = summary.columns[c];
    const auto rows = std::ranges::count_if(summary.best, [&](const Comparison& test) {
      return summary.entry(test.group, method)[Figure::sharpe].mean >
             summary.entry(test.group, test.a)[Figure::sharpe].mean;
    });
    if (rows > 0)
      out += fmt::format("{}{} in {}", out.empty() ? "" : ", ", results.methods[at(method)].label,
                         rows);
  }
  return out;
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
  std::string out =
      fmt::format("{}, {} of market and k, {}, {}: {} of {} cells done",
                  counted(results.markets.size(), "market"), counted(summary.groups.size(), "row"),
                  counted(results.methods.size(), "method"), counted(seeds.size(), "seed"),
                  count(results, CellState::done), results.cells.size());
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
    return out;
  }
  if (!summary.best.empty()) {
    const auto clear =
        std::ranges::count_if(summary.best, [](const Comparison& test) { return test.is_clear(); });
    const auto against = std::ranges::count_if(summary.best, [](const Comparison& test) {
      return test.contrary() && test.p_adjusted < 0.05;
    });
    const std::size_t rows = summary.best.size();
    out.push_back(fmt::format("Best mean Sharpe ratio: {} of {}.", winners(results, summary),
                              counted(rows, "row")));
    if (const std::string ours = ours_above(results, summary); !ours.empty())
      out.push_back(
          fmt::format("Of ours, shown apart, above that: {} of {}.", ours, counted(rows, "row")));
    out.push_back(
        clear == 0
            ? fmt::format("In no row {} the runner-up (p below 0.05 after Holm’s correction).",
                          against == 0 ? "can the test days tell the best from"
                                       : "do the test days find the best better than")
            : fmt::format("In {} of {} the test days tell the best from the runner-up (p below "
                          "0.05 after Holm’s correction).",
                          clear, counted(rows, "row")));
    if (against > 0)
      out.push_back(
          fmt::format("In {} of {} they speak for the runner-up (marked §): its returns, averaged "
                      "over the seeds, have the higher Sharpe ratio, though the mean of its seeds’ "
                      "ratios is not the higher one.",
                      against, counted(rows, "row")));
  }
  Index ruined_runs = 0;
  for (const Entry& entry : summary.entries) ruined_runs += entry.ruined;
  if (ruined_runs > 0)
    out.push_back(
        fmt::format("{} ended in ruin; their averages describe no strategy that anyone "
                    "could have followed.",
                    counted(at(ruined_runs), "run")));
  const Index undone = count(results, CellState::failed) + count(results, CellState::missing);
  if (undone > 0)
    out.push_back(
        fmt::format("{} of {} cells have no result: figures marked † rest on fewer runs "
                    "than planned.",
                    undone, results.cells.size()));
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
