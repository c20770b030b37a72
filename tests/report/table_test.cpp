// The five writers of tables: layout, escaping, what is not there.
#include "sharpen/report/table.hpp"
#include "support/problems.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sharpen::report {
namespace {

using sharpen::testing::kNaN;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TableCell estimated(double mean, double sd, Index runs, Index planned) {
  TableCell cell = TableCell::number(mean, 3);
  cell.kind = TableCell::Kind::estimate;
  cell.sd = sd;
  cell.runs = runs;
  cell.planned = planned;
  return cell;
}

// Two methods of one market, the second better, with a run missing.
Table small_table() {
  Table table{.name = "sharpe",
              .title = "Sharpe ratio",
              .columns = {{.head = "market"},
                          {.head = "PFL", .figure = "sharpe", .method = "pfl", .group = "paper"},
                          {.head = "DFL", .figure = "sharpe", .method = "dfl", .group = "paper"}},
              .rows = {},
              .notes = {"A note."}};
  Row row;
  row.market = "X";
  row.assets = 7;
  row.k = 2;
  row.k_given = "10%";
  TableCell best = estimated(0.9551, 0.0144, 4, 5);
  best.emphasis = Emphasis::best;
  best.marks = incomplete;
  row.cells = {TableCell::of("X (7)"), estimated(-0.0374, kNaN, 1, 1), best};
  table.rows.push_back(row);
  return table;
}

TEST(Cells, ShowMeanAndDeviation) {
  EXPECT_EQ(plain_text(estimated(0.9551, 0.0144, 5, 5)), "0.955 ± 0.014");
  EXPECT_EQ(plain_text(estimated(0.9551, kNaN, 1, 1)), "0.955");
  EXPECT_EQ(plain_text(estimated(kNaN, kNaN, 0, 5)), "–");
  EXPECT_EQ(plain_text(TableCell::count(12)), "12");
  EXPECT_EQ(plain_text(TableCell()), "");
}

TEST(Cells, ShowNoNanNoInfinityAndNoNegativeZero) {
  EXPECT_EQ(number_text(kNaN, 3), "–");
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity(), 3), "–");
  EXPECT_EQ(number_text(-0.0001, 3), "0.000");
  EXPECT_EQ(number_text(-0.0, 0), "0");
  EXPECT_EQ(number_text(-0.0006, 3), "-0.001");
}

TEST(Cells, ShortenHugeFigures) {
  EXPECT_EQ(number_text(1.23456e30, 3), "1.23e+30");
  EXPECT_EQ(number_text(-999999.0, 3), "-999999.000");
  EXPECT_EQ(number_text(12345678.0, 0), "12345678");
}

TEST(TextTable, SetsFiguresBelowEachOther) {
  EXPECT_EQ(to_text(small_table()),
            "Sharpe ratio\n\n"
            "          ──────── paper ────────\n"
            "  market     PFL              DFL\n"
            "  ───────────────────────────────\n"
            "  X (7)   -0.037  ▸0.955 ± 0.014†\n\n"
            "  A note.\n")
      << to_text(small_table());
}

TEST(TextTable, CountsColumnsOfWideAndCombiningCharacters) {
  EXPECT_EQ(terminal_width("abc"), 3u);
  EXPECT_EQ(terminal_width("日経"), 4u);
  EXPECT_EQ(terminal_width("e\u0301"), 1u);
  EXPECT_EQ(terminal_width("± –"), 3u);
}

TEST(TextTable, KeepsControlCharactersFromTheTerminal) {
  Table table = small_table();
  table.rows[0].cells[0] = TableCell::of("\x1b[31mred\n");
  table.columns[1].head = "a\tb";
  EXPECT_THAT(to_text(table), HasSubstr("\\x1b[31mred\\x0a"));
  EXPECT_THAT(to_text(table), HasSubstr("a\\x09b"));
  EXPECT_THAT(to_text(table), Not(HasSubstr("\x1b")));
}

TEST(TextTable, CutsHugeNames) {
  Table table = small_table();
  table.rows[0].cells[0] = TableCell::of(std::string(5000, 'x'));
  EXPECT_LT(to_text(table).size(), 1500u);
}

TEST(MarkdownTable, IsATableOfGitHub) {
  EXPECT_EQ(to_markdown(small_table()),
            "### Sharpe ratio\n\n"
            "| market | paper: PFL | paper: DFL |\n"
            "|---|--:|--:|\n"
            "| X (7) | -0.037 | **0.955 ± 0.014**† |\n\n"
            "A note.\n");
}

TEST(MarkdownTable, TakesNoNameForMarkup) {
  EXPECT_EQ(markdown_escaped("<b>|`x`*_[a](b)"), "\\<b\\>\\|\\`x\\`\\*\\_\\[a\\](b)");
  EXPECT_EQ(markdown_escaped("a\nb"), "a\\\\x0ab");
  EXPECT_EQ(markdown_escaped("https://x www.y"), "https\\://x www\\.y");
  EXPECT_EQ(markdown_escaped("&amp; $1$ me@x"), "\\&amp; \\$1\\$ me\\@x");
  EXPECT_EQ(markdown_escaped("BT-A.L"), "BT-A.L");
}

TEST(LatexTable, UsesBooktabs) {
  EXPECT_EQ(to_latex(small_table()),
            "\\begin{table}[tbp]\n\\centering\\footnotesize\n\\caption{Sharpe ratio}\n"
            "\\label{tab:sharpe}\n\\begin{tabular}{lrr}\n\\toprule\n"
            "\\multicolumn{1}{c}{} & \\multicolumn{2}{c}{paper} \\\\\n\\cmidrule(lr){2-3}\n"
            "market & PFL & DFL \\\\\n\\midrule\n"
            "X (7) & $-0.037$ & \\textbf{\\boldmath $0.955 \\pm 0.014$}\\textdagger{} \\\\\n"
            "\\bottomrule\n\\end{tabular}\n\\par\\smallskip\n"
            "\\begin{minipage}{\\linewidth}\\scriptsize\nA note.\\par\n\\end{minipage}\n"
            "\\end{table}\n");
}

TEST(LatexTable, WritesHugeFiguresAsPowersOfTen) {
  Table table = small_table();
  table.rows[0].cells[1] = estimated(-1.234e6, 2.5e12, 3, 3);
  table.rows[0].cells[2] = estimated(9.87e100, kNaN, 1, 1);
  EXPECT_THAT(to_latex(table), HasSubstr("X (7) & $-1.23 \\times 10^{6} \\pm 2.50 \\times "
                                         "10^{12}$ & $9.87 \\times 10^{100}$ \\\\\n"));
}

TEST(Tables, SayHowEachFormatShowsTheBest) {
  Table table = small_table();
  table.legend = Legend::best_and_apart;
  EXPECT_THAT(to_text(table), HasSubstr("\n  ▸: the best mean of its row among the methods"));
  EXPECT_THAT(to_text(table), HasSubstr("▹: one of ours"));
  for (const std::string& text : {to_markdown(table), to_html(table)}) {
    EXPECT_THAT(text, HasSubstr("Bold: the best mean of its row among the methods compared; "
                                "italics: one of ours"));
    EXPECT_THAT(text, Not(HasSubstr("▸")));
  }
  EXPECT_THAT(to_latex(table), HasSubstr("Bold: the best mean of its row among the methods "
                                         "compared; underlined: one of ours"));
  table.legend = Legend::best;
  EXPECT_THAT(to_latex(table), HasSubstr("Bold: the best mean of its row.\\par\n"));
  table.several_costs = true;
  EXPECT_THAT(to_latex(table), HasSubstr("Bold: the best mean of its row at its cost.\\par\n"));
  table.legend = Legend::best_and_apart;
  EXPECT_THAT(to_text(table), HasSubstr("▸: the best mean of its row at its cost among"));
}

TEST(LatexTable, TakesNoNameForACommand) {
  EXPECT_EQ(latex_escaped("\\input{/etc/passwd}"), "\\textbackslash{}input\\{/etc/passwd\\}");
  EXPECT_EQ(latex_escaped("a_b & 5% #1 $x^2$ ~"),
            "a\\_b \\& 5\\% \\#1 \\$x\\textasciicircum{}2\\$ \\textasciitilde{}");
  EXPECT_EQ(latex_escaped("^^41"), "\\textasciicircum{}\\textasciicircum{}41");
  // Behind \\ a bare bracket or star would be its argument.
  EXPECT_EQ(latex_escaped("[1em]*"), "{[}1em{]}{*}");
  EXPECT_EQ(latex_escaped("a\nb"), "a\\textbackslash{}x0ab");
  EXPECT_EQ(latex_escaped("α ± –"), "$\\alpha$ $\\pm$ --");
}

TEST(CsvTable, HasALinePerFigureInFullPrecision) {
  EXPECT_EQ(to_csv({{small_table()}}),
            "table,market,assets,k,k_given,method,seed,figure,value,sd,runs,planned,standing,ruin,"
            "text,against,item\r\n"
            "sharpe,X,7,2,10%,pfl,,sharpe,-0.0374,,1,1,,,,,\r\n"
            "sharpe,X,7,2,10%,dfl,,sharpe,0.9551,0.0144,4,5,best,,,,\r\n");
}

TEST(CsvTable, DefusesFormulas) {
  EXPECT_EQ(csv_field("=1+1"), "'=1+1");
  EXPECT_EQ(csv_field("+A1"), "'+A1");
  EXPECT_EQ(csv_field("-A1"), "'-A1");
  EXPECT_EQ(csv_field("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(csv_field("\t=1"), "\"'\t=1\"");
  EXPECT_EQ(csv_field("\r=1"), "\"'\r=1\"");
  // Full width = + - @, which some spreadsheets take for the others.
  for (const char* start : {"\xEF\xBC\x9D", "\xEF\xBC\x8B", "\xEF\xBC\x8D", "\xEF\xBC\xA0"})
    EXPECT_EQ(csv_field(std::string(start) + "1"), "'" + std::string(start) + "1");
  EXPECT_EQ(csv_field("\xEF\xBC\x91"), "\xEF\xBC\x91") << "a full-width 1 starts nothing";
  EXPECT_EQ(csv_field("=HYPERLINK(\"x\",\"y\")"), "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"");
  // A number is a number.
  EXPECT_EQ(csv_field("-0.5"), "-0.5");
  EXPECT_EQ(csv_field("-1e-5"), "-1e-5");
  EXPECT_EQ(csv_field("-1+cmd|' /C calc'!A0"), "'-1+cmd|' /C calc'!A0");
}

TEST(CsvTable, QuotesAsRfc4180Says) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field(" a"), "\" a\"");
}

TEST(CsvTable, KeepsControlCharactersFromTheTerminal) {
  EXPECT_EQ(csv_field("a\x1b[2J\xC2\x9Bz\x7F"), "a\\x1b[2J\\xc2\\x9bz\\x7f");
  EXPECT_EQ(csv_field("a\n\x1b"), "\"a\n\\x1b\"");
  for (const std::string& text : {html_escaped("\xC2\x9B\x1b"), latex_escaped("\xC2\x9B\x1b"),
                                  markdown_escaped("\xC2\x9B\x1b")})
    EXPECT_THAT(text, AllOf(Not(HasSubstr("\x9B")), Not(HasSubstr("\x1b")))) << text;
}

TEST(HtmlTable, EscapesNamesAndKeepsValuesForSorting) {
  Table table = small_table();
  table.rows[0].cells[0] = TableCell::of("<script>alert(1)</script>");
  table.columns[1].head = "\" onclick=\"x";
  table.title = "a & b";
  const std::string html = to_html(table);
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">&lt;script&gt;alert(1)&lt;/script&gt;</th>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\" class=\"num\">&quot; onclick=&quot;x</th>"));
  EXPECT_THAT(html, HasSubstr("<figcaption>a &amp; b</figcaption>"));
  EXPECT_THAT(html, HasSubstr("data-value=\"0.9551\"><strong>0.955<sup>†</sup>"
                              "<span class=\"sd\"> ± 0.014</span></strong>"));
  EXPECT_THAT(html, HasSubstr("data-value=\"-0.0374\">−0.037</td>"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
}

TEST(HtmlTable, HasNoValueForWhatIsNotThere) {
  Table table = small_table();
  table.rows[0].cells[1] = estimated(kNaN, kNaN, 0, 3);
  EXPECT_THAT(to_html(table), HasSubstr("<td class=\"num\">–</td>"));
}

}  // namespace
}  // namespace sharpen::report
