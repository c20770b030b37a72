// The report in the formats without scripts.
#include <fmt/format.h>

#include "report/table_writers.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/report/report.hpp"

namespace sharpen::report {

namespace {

using study::Results;

// What a report begins with, so that it is known for one.
constexpr std::string_view kFirstWords = "Sharpen report";

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
