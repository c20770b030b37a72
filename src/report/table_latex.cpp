// Tables in LaTeX, for booktabs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "report/table_builder.hpp"
#include "sharpen/report/table.hpp"

namespace sharpen::report {

namespace {

// What LaTeX would act on, or set as something else. Brackets and stars are hidden in braces: after
// the \\ of the row before, a bare one is an argument.
constexpr std::array<std::pair<std::string_view, std::string_view>, 42> kSpelled = {{
    {"\\", "\\textbackslash{}"},
    {"{", "\\{"},
    {"}", "\\}"},
    {"$", "\\$"},
    {"&", "\\&"},
    {"#", "\\#"},
    {"%", "\\%"},
    {"_", "\\_"},
    {"^", "\\textasciicircum{}"},
    {"~", "\\textasciitilde{}"},
    {"<", "\\textless{}"},
    {">", "\\textgreater{}"},
    {"|", "\\textbar{}"},
    {"\"", "\\textquotedbl{}"},
    {"`", "\\textasciigrave{}"},
    {"'", "\\textquotesingle{}"},
    {"[", "{[}"},
    {"]", "{]}"},
    {"*", "{*}"},
    {"–", "--"},
    {"—", "---"},
    {"±", "$\\pm$"},
    {"−", "$-$"},
    {"×", "$\\times$"},
    {"≤", "$\\leq$"},
    {"≥", "$\\geq$"},
    {"α", "$\\alpha$"},
    {"β", "$\\beta$"},
    {"ρ", "$\\rho$"},
    {"κ", "$\\kappa$"},
    {"λ", "$\\lambda$"},
    {"μ", "$\\mu$"},
    {"Σ", "$\\Sigma$"},
    {"†", "\\textdagger{}"},
    {"‡", "\\textdaggerdbl{}"},
    {"§", "\\textsection{}"},
    {"‘", "\\textquoteleft{}"},
    {"“", "\\textquotedblleft{}"},
    {"”", "\\textquotedblright{}"},
    {"…", "\\ldots{}"},
    {"’", "\\textquoteright{}"},
    {"√", "$\\surd$"},
}};

// For use in mathematics, where 1.2e+06 would be 1.2 times e, plus 6.
std::string digits_text(double value, int digits) {
  const std::string text = number_text(value, digits);
  const auto e = text.find('e');
  if (e == std::string::npos) return text;
  return fmt::format("{} \\times 10^{{{}}}", text.substr(0, e), std::stoi(text.substr(e + 1)));
}

std::string number(double value, int digits) {
  return std::isfinite(value) ? "$" + digits_text(value, digits) + "$" : "--";
}

std::string bold(const std::string& text) { return "\\textbf{\\boldmath " + text + "}"; }

// Stars are set high, the other signs are high by themselves.
std::string marks_latex(unsigned marks) {
  const std::string signs = marks_text(marks);
  const std::size_t stars = std::min(signs.find_first_not_of('*'), signs.size());
  const std::string raised = stars == 0 ? "" : "$^{" + signs.substr(0, stars) + "}$";
  return raised + latex_escaped(signs.substr(stars));
}

std::string cell_latex(const TableCell& cell) {
  std::string text;
  if (cell.kind == TableCell::Kind::text) {
    text = latex_escaped(cell.text);
  } else if (cell.kind != TableCell::Kind::none) {
    text = number(cell.value, cell.digits);
    if (cell.kind == TableCell::Kind::estimate && std::isfinite(cell.value) &&
        std::isfinite(cell.sd))
      text = fmt::format("${} \\pm {}$", digits_text(cell.value, cell.digits),
                         digits_text(cell.sd, cell.digits));
  }
  if (cell.emphasis == Emphasis::best) text = bold(text);
  // Digits in mathematics have no italics.
  if (cell.emphasis == Emphasis::apart) text = "\\underline{" + text + "}";
  return text + marks_latex(cell.marks);
}

std::string group_lines(const Table& table) {
  std::string heads, rules;
  for (std::size_t c = 0; c < table.columns.size(); c = group_end(table, c)) {
    const std::size_t end = group_end(table, c);
    if (c > 0) heads += " & ";
    heads += fmt::format("\\multicolumn{{{}}}{{c}}{{{}}}", end - c,
                         latex_escaped(table.columns[c].group));
    if (!table.columns[c].group.empty())
      rules += fmt::format("\\cmidrule(lr){{{}-{}}}", c + 1, end);
  }
  return heads + " \\\\\n" + rules + "\n";
}

}  // namespace

std::string latex_escaped(std::string_view text) {
  const std::string shown = clean(text);
  std::string_view rest = shown;
  std::string out;
  while (!rest.empty()) {
    bool found = false;
    for (const auto& [plain, spelled] : kSpelled)
      if (rest.starts_with(plain)) {
        out += spelled;
        rest.remove_prefix(plain.size());
        found = true;
        break;
      }
    if (found) continue;
    out += rest.front();
    rest.remove_prefix(1);
  }
  return out;
}

std::string to_latex(const Table& table) {
  std::string columns;
  for (std::size_t c = 0; c < table.columns.size(); ++c) columns += is_left(table, c) ? 'l' : 'r';
  std::string out = fmt::format(
      "\\begin{{table}}[tbp]\n\\centering\\footnotesize\n\\caption{{{}}}\n\\label{{tab:{}}}\n"
      "\\begin{{tabular}}{{{}}}\n\\toprule\n",
      latex_escaped(table.title), table.name, columns);
  if (has_groups(table)) out += group_lines(table);
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    out += (c > 0 ? " & " : "") + latex_escaped(table.columns[c].head);
  out += " \\\\\n\\midrule\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (r > 0 && table.rows[r].rule) out += "\\midrule\n";
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      out += (c > 0 ? " & " : "") + cell_latex(table.rows[r].cells[c]);
    out += " \\\\\n";
  }
  out += "\\bottomrule\n\\end{tabular}\n";
  const std::vector<std::string> notes = notes_of(table, "Bold", "underlined");
  if (!notes.empty()) out += "\\par\\smallskip\n\\begin{minipage}{\\linewidth}\\scriptsize\n";
  for (const std::string& note : notes) out += latex_escaped(note) + "\\par\n";
  if (!notes.empty()) out += "\\end{minipage}\n";
  return out + "\\end{table}\n";
}

}  // namespace sharpen::report
