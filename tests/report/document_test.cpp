// The report as a whole: which tables it has, and that the formats agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "sharpen/base/error.hpp"
#include "sharpen/report/report.hpp"
#include "support/study_results.hpp"

namespace sharpen::report {
namespace {

using study::CellState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::made_results;
using ::testing::Not;
using testing::StudyPlan;
using testing::summary_of;

std::vector<Table> tables_of(const study::Results& results) {
  return tables(results, summary_of(results));
}

const Table& table_named(const std::vector<Table>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Table::name);
  if (found == all.end()) throw std::runtime_error("no table " + std::string(name));
  return *found;
}

std::vector<std::string> names(const std::vector<Table>& all) {
  std::vector<std::string> out;
  for (const Table& table : all) out.push_back(table.name);
  return out;
}

std::string document_of(const study::Results& results, Format format) {
  const Summary summary = summary_of(results);
  return document(results, summary, tables(results, summary), format);
}

// Every cell that is done but one, whose run ended in ruin on its last day.
study::Results with_troubles() {
  study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}});
  const Entry dfl = summary_of(results).entry(0, 6);
  study::Cell& failed = results.cells[static_cast<std::size_t>(dfl.cells[0])];
  failed.state = CellState::failed;
  failed.run = {};
  failed.regret.reset();
  failed.reason = "the covariance was not finite";
  backtest::Run& ruin = results.cells[static_cast<std::size_t>(dfl.cells[1])].run;
  ruin.returns.back() = -1.5;
  ruin.status.back() = backtest::PeriodStatus::ruin;
  results.cells[0].warnings = {"one thing", "another"};
  results.markets[0].warnings = {"a price was odd"};
  return results;
}

TEST(Report, HasTheTablesOfThePaperAndMore) {
  EXPECT_THAT(names(tables_of(made_results({.sweep = true}))),
              ElementsAre("sharpe", "costs", "equal", "at-cost", "significance", "planned", "alpha",
                          "drawdown", "performance", "regret", "trading", "cells"));
  EXPECT_THAT(names(tables_of(with_troubles())), ::testing::IsSupersetOf({"failures", "warnings"}));
}

TEST(Report, SharpeTableHasThePapersLayout) {
  const study::Results results = made_results();
  const std::vector<Table> all = tables_of(results);
  const Table& table = table_named(all, "sharpe");
  std::vector<std::string> heads;
  for (const Column& column : table.columns) heads.push_back(column.head);
  EXPECT_THAT(heads, ElementsAre("market", "k", "Sharpe ratio", "Historic OSCAR", "Historic SDR",
                                 "Historic mSSRM", "PFL OSCAR", "PFL SDR", "PFL mSSRM", "DFL",
                                 "1/n", "DFL swap", "runner-up", "p", "Holm"));
  EXPECT_EQ(table.rows[0].cells[0].text, "alpha land (20)");
  EXPECT_EQ(table.rows[0].cells[1].text, "2 (10%)");
  EXPECT_EQ(table.columns[9].group, "the paper’s methods");
  EXPECT_EQ(table.columns[10].group, "ours, shown apart");
}

TEST(Report, SharpeTableHasWhatIsBeforeCostsAndADayLaterBesideEveryFigure) {
  study::Results results = made_results();
  std::vector<Table> all = tables_of(results);
  const Summary summary = summary_of(results);
  ASSERT_EQ(table_named(all, "sharpe").rows.size(), 3u * 6u);
  for (Index g = 0; g < 6; ++g) {
    const Row* rows = &table_named(all, "sharpe").rows[static_cast<std::size_t>(3 * g)];
    const std::vector<std::pair<std::string, Figure>> expected = {
        {"after costs", Figure::sharpe},
        {"before costs", Figure::sharpe_gross},
        {"a period later", Figure::sharpe_delayed}};
    for (std::size_t r = 0; r < 3; ++r) {
      EXPECT_EQ(rows[r].cells[2].text, expected[r].first);
      for (std::size_t c = 3; c < 12; ++c)
        EXPECT_EQ(rows[r].cells[c].value,
                  summary.entry(g, summary.columns[c - 3])[expected[r].second].mean);
    }
    EXPECT_GT(rows[1].cells[3].value, rows[0].cells[3].value) << "costs were paid";
  }
  // Where nothing was paid there is nothing before it, and what was not kept is not shown.
  for (study::Cell& cell : results.cells) {
    cell.run.returns = cell.run.gross_returns;
    for (auto* column : {&cell.run.costs, &cell.run.trading_costs}) std::ranges::fill(*column, 0.0);
    cell.delayed_returns.clear();
  }
  all = tables_of(results);
  EXPECT_EQ(table_named(all, "sharpe").rows.size(), 6u);
}

TEST(Report, SaysWhichShareOfDecisionsIsProvedWhereExactDecides) {
  study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}});
  const auto heads = [&] {
    const std::vector<Table> all = tables_of(results);
    std::vector<std::string> out;
    for (const Column& column : table_named(all, "trading").columns) out.push_back(column.head);
    return out;
  };
  EXPECT_THAT(heads(), Not(::testing::Contains("proved")));
  results.methods[0].optimizer = "exact";
  for (study::Cell& cell : results.cells) {
    cell.run.n_decisions = 8;
    cell.run.n_certified = 6;
  }
  EXPECT_EQ(heads().back(), "proved");
  const std::vector<Table> all = tables_of(results);
  for (const Row& row : table_named(all, "trading").rows) {
    const bool exact = row.method == results.methods[0].name;
    EXPECT_EQ(row.cells.back().value == 0.75, exact) << row.method;
  }
}

TEST(Report, SaysThatTradesAreLate) {
  study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}});
  for (const Format format : {Format::text, Format::html, Format::markdown}) {
    EXPECT_THAT(document_of(results, format), Not(HasSubstr("after its decision")));
    EXPECT_THAT(document_of(results, format), HasSubstr("a period later"));
    EXPECT_THAT(document_of(results, format), HasSubstr("later than in this study"));
  }
  for (study::Method& method : results.methods) method.settings = "rule = \"cost\"\ndelay = 2\n";
  for (const Format format : {Format::text, Format::html, Format::markdown})
    EXPECT_THAT(document_of(results, format),
                HasSubstr("Every trade is made 2 periods after its decision."));
  results.methods[0].settings = "delay = 0\n";
  results.methods[1].settings = "no = settings = at all";
  EXPECT_THAT(document_of(results, Format::text),
              HasSubstr("Trades are made up to 2 periods after their decisions, as the settings of "
                        "each method say."));
}

TEST(Report, BoldIsTheBestOfThePapersMethods) {
  const study::Results results = made_results();
  const std::vector<Table> all = tables_of(results);
  for (const char* name : {"sharpe", "drawdown"}) {
    const bool more_is_better = std::string(name) == "sharpe";
    const std::size_t first = more_is_better ? 3 : 2;
    for (const Row& row : table_named(all, name).rows) {
      double best = row.cells[first].value;
      for (std::size_t c = first; c < first + 7; ++c)
        best = more_is_better ? std::max(best, row.cells[c].value)
                              : std::min(best, row.cells[c].value);
      const bool ranks = row.figure.empty();
      for (std::size_t c = first; c < first + 7; ++c)
        EXPECT_EQ(row.cells[c].emphasis == Emphasis::best, ranks && row.cells[c].value == best);
      for (std::size_t c = first + 7; ranks && c < first + 9; ++c)
        EXPECT_EQ(row.cells[c].emphasis == Emphasis::apart,
                  more_is_better ? row.cells[c].value > best : row.cells[c].value < best);
    }
  }
}

TEST(Report, TiesAreAllBold) {
  study::Results results =
      made_results({.markets = {"M"}, .ks = {"10%"}, .seeds = 1, .own = false});
  for (study::Cell& cell : results.cells) cell.run = results.cells.front().run;
  const std::vector<Table> all = tables_of(results);
  const Table& table = table_named(all, "sharpe");
  for (std::size_t c = 3; c < 10; ++c) EXPECT_EQ(table.rows[0].cells[c].emphasis, Emphasis::best);
  // Equal series: nothing to tell apart.
  EXPECT_EQ(table.rows[0].cells[11].value, 1.0);
}

// PFL OSCAR, whose seeds are all alike, and DFL, whose seeds differ by noise that averaging takes
// away: the mean of DFL's Sharpe ratios goes with its drift, that of the averages is large.
study::Results with_noisy_seeds(double drift_of_dfl, double drift_of_pfl) {
  study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}, .own = false});
  std::erase_if(results.cells,
                [](const study::Cell& cell) { return cell.method != 3 && cell.method != 6; });
  Random random(7, 0);
  for (std::size_t t = 0; t < results.markets[0].dates.size(); ++t) {
    const double first = testing::normal(random), second = testing::normal(random);
    const double noise[] = {first, second, -first - second};
    const double common = testing::normal(random), alike = testing::normal(random);
    for (study::Cell& cell : results.cells)
      cell.run.returns[t] = cell.method == 3
                                ? drift_of_pfl + 0.02 * alike
                                : drift_of_dfl + 0.003 * common + 0.02 * noise[cell.seed.value()];
  }
  return results;
}

const TableCell& cell_of(const Table& table, std::string_view figure) {
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (table.columns[c].figure == figure) return table.rows.at(0).cells[c];
  throw std::runtime_error("no column " + std::string(figure));
}

constexpr unsigned kStars = one_star | two_stars | three_stars;

TEST(Report, ATestThatSpeaksForTheRunnerUpGivesTheBestNoStars) {
  const study::Results results = with_noisy_seeds(0.003, 0.008);
  const Summary summary = summary_of(results);
  ASSERT_EQ(summary.best.size(), 1u);
  ASSERT_EQ(summary.best[0].a, 3) << "PFL has the higher mean";
  ASSERT_LT(summary.best[0].test.difference, 0.0) << "and the lower ratio of averages";
  ASSERT_LT(summary.best[0].p_adjusted, 0.05);
  const std::vector<Table> all = tables(results, summary);
  for (const char* name : {"sharpe", "significance", "planned"}) {
    const Table& table = table_named(all, name);
    EXPECT_EQ(cell_of(table, "p_holm").marks & kStars, 0u) << name;
    EXPECT_NE(cell_of(table, "p_holm").marks & contrary, 0u) << name;
    EXPECT_THAT(table.notes, ::testing::Contains(::testing::StartsWith("§ "))) << name;
    EXPECT_THAT(to_text(table), HasSubstr("0§")) << name;
  }
  EXPECT_EQ(cell_of(table_named(all, "significance"), "better").text, "unclear");
  EXPECT_EQ(cell_of(table_named(all, "planned"), "better").text, "unclear");
  const std::vector<std::string> said = findings(results, summary);
  EXPECT_THAT(said, ::testing::Contains(HasSubstr("In no row do the test days find the best "
                                                  "better than the runner-up")));
  EXPECT_THAT(said, ::testing::Contains(HasSubstr("In 1 of 1 row they speak for the runner-up")));
}

TEST(Report, ATestThatSpeaksForTheBestSaysForWhom) {
  const study::Results results = with_noisy_seeds(0.008, 0.003);
  const Summary summary = summary_of(results);
  const std::vector<Table> all = tables(results, summary);
  for (const char* name : {"sharpe", "significance", "planned"}) {
    const Table& table = table_named(all, name);
    EXPECT_NE(cell_of(table, "p_holm").marks & kStars, 0u) << name;
    EXPECT_EQ(cell_of(table, "p_holm").marks & contrary, 0u) << name;
    EXPECT_THAT(table.notes, Not(::testing::Contains(::testing::StartsWith("§ ")))) << name;
  }
  EXPECT_EQ(cell_of(table_named(all, "significance"), "better").text, "A");
  EXPECT_EQ(cell_of(table_named(all, "planned"), "better").text, "A");
  EXPECT_THAT(findings(results, summary),
              ::testing::Contains(
                  HasSubstr("In 1 of 1 row the test days tell the best from the runner-up")));
}

TEST(Report, PlannedPairsSayWhenTheOtherIsBetter) {
  study::Results results = with_noisy_seeds(0.008, 0.003);
  // The same runs under each other's names: now the prediction-focused method is the better one.
  for (study::Cell& cell : results.cells) cell.method = cell.method == 3 ? 6 : 3;
  const std::vector<Table> all = tables_of(results);
  const Table& planned = table_named(all, "planned");
  EXPECT_LT(cell_of(planned, "difference_annualized").value, 0.0);
  EXPECT_EQ(cell_of(planned, "better").text, "B");
  EXPECT_NE(cell_of(planned, "p_holm").marks & kStars, 0u);
  EXPECT_EQ(cell_of(table_named(all, "significance"), "better").text, "A");
}

TEST(Report, OneMethodAloneIsNotTheBestOfAnything) {
  study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}, .own = false});
  std::erase_if(results.cells, [](const study::Cell& cell) { return cell.method != 6; });
  const std::vector<Table> all = tables_of(results);
  const Table& table = table_named(all, "sharpe");
  EXPECT_EQ(table.rows[0].cells[9].emphasis, Emphasis::none);
  EXPECT_EQ(table.rows[0].cells[3].kind, TableCell::Kind::none);
  EXPECT_EQ(table.columns.back().head, "DFL") << "no runner-up, no p";
}

TEST(Report, AlphaTableHasAColumnPerAlpha) {
  const std::vector<Table> all = tables_of(made_results({.sweep = true}));
  const Table& table = table_named(all, "alpha");
  std::vector<std::string> heads;
  for (const Column& column : table.columns) heads.push_back(column.head);
  EXPECT_THAT(heads, ElementsAre("market", "k", "α = 0", "α = 0.5", "α = 1"));
  for (const Column& column : table_named(all, "sharpe").columns)
    EXPECT_THAT(column.method, Not(HasSubstr("alpha")));
}

TEST(Report, AStudyOfOneSeedHasNoDeviations) {
  const study::Results results = made_results({.seeds = 1});
  const std::string text = document_of(results, Format::text);
  const std::string table =
      text.substr(text.find("Annualised"), text.find("Mean ±") - text.find("Annualised"));
  EXPECT_THAT(table, Not(HasSubstr("±")));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(Report, SaysWhatIsMissingAndRuined) {
  const study::Results results = with_troubles();
  const std::vector<Table> all = tables_of(results);
  const TableCell& dfl = table_named(all, "sharpe").rows[0].cells[9];
  EXPECT_EQ(dfl.runs, 2);
  EXPECT_EQ(dfl.planned, 3);
  EXPECT_EQ(dfl.marks & (incomplete | ruined), incomplete | ruined);
  const std::string text = document_of(results, Format::text);
  EXPECT_THAT(text, HasSubstr("†‡"));
  EXPECT_THAT(text, HasSubstr("† fewer runs than planned"));
  EXPECT_THAT(text, HasSubstr("‡ at least one run lost all its wealth"));
  EXPECT_THAT(text, HasSubstr("the covariance was not finite"));
  EXPECT_THAT(text, HasSubstr("a price was odd"));
  EXPECT_THAT(text, HasSubstr("1 run ended in ruin"));
  EXPECT_THAT(text, HasSubstr(", 1 failed"));
}

TEST(Report, AStudyWithoutResultsSaysSo) {
  study::Results results = made_results({.markets = {"M"}});
  for (study::Cell& cell : results.cells) {
    cell.state = CellState::missing;
    cell.run = {};
  }
  const std::string text = document_of(results, Format::text);
  EXPECT_THAT(text, HasSubstr("No cell of this study is done"));
  EXPECT_THAT(text, HasSubstr("–"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  for (const Format format :
       {Format::text, Format::markdown, Format::latex, Format::csv, Format::html})
    EXPECT_FALSE(document_of({}, format).empty()) << name(format);
}

TEST(Report, SameResultsGiveTheSameBytes) {
  for (const Format format :
       {Format::text, Format::markdown, Format::latex, Format::csv, Format::html})
    EXPECT_EQ(document_of(made_results(), format), document_of(made_results(), format));
}

TEST(Report, IsKnownForOneByItsFirstBytes) {
  const study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}});
  for (const Format format :
       {Format::text, Format::markdown, Format::latex, Format::csv, Format::html})
    EXPECT_TRUE(is_report(document_of(results, format).substr(0, 600))) << name(format);
  EXPECT_FALSE(is_report("date,A,B\n"));
  EXPECT_FALSE(is_report("# Notes\n"));
}

TEST(Report, KnowsItsFormats) {
  for (const Format format :
       {Format::text, Format::markdown, Format::latex, Format::csv, Format::html})
    EXPECT_EQ(format_of(name(format)), format);
  EXPECT_EQ(format_of("markdown"), Format::markdown);
  EXPECT_THROW(format_of("pdf"), InputError);
}

// --- The formats, read back.

using Grid = std::vector<std::vector<std::string>>;

std::string replaced(std::string text,
                     const std::vector<std::pair<std::string, std::string>>& pairs) {
  for (const auto& [from, to] : pairs)
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  return text;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string::npos;
       begin = end + separator.size())
    out.push_back(trimmed(text.substr(begin, end - begin)));
  out.push_back(trimmed(text.substr(begin)));
  return out;
}

Grid read_text(const Table& table) {
  Grid out;
  std::istringstream lines(to_text(table));
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ─")) {
      inside = true;
      continue;
    }
    if (line.empty()) {
      if (inside) break;
      continue;
    }
    if (!inside) continue;
    line = replaced(trimmed(line), {{"†", ""}, {"‡", ""}, {"▸", ""}, {"▹", ""}, {"*", ""}});
    std::vector<std::string> cells;
    const std::regex gap(" {2,}");
    for (std::sregex_token_iterator it(line.begin(), line.end(), gap, -1), end; it != end; ++it)
      cells.push_back(trimmed(*it));
    out.push_back(cells);
  }
  return out;
}

Grid read_markdown(const Table& table) {
  Grid out;
  std::istringstream lines(to_markdown(table));
  int bars = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) continue;
    if (++bars <= 2) continue;
    line = replaced(line, {{"\\*", ""}, {"*", ""}, {"†", ""}, {"‡", ""}, {"\\_", "_"}});
    std::vector<std::string> cells = split(line, "|");
    out.emplace_back(cells.begin() + 1, cells.end() - 1);
  }
  return out;
}

Grid read_latex(const Table& table) {
  Grid out;
  std::istringstream lines(to_latex(table));
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "\\bottomrule") break;
    if (line == "\\midrule") {
      inside = true;
      continue;
    }
    if (!inside) continue;
    line = replaced(line, {{" \\\\", ""},
                           {"\\textbf{\\boldmath ", ""},
                           {"\\underline{", ""},
                           {"$}", "$"},
                           {"$^{***}$", ""},
                           {"$^{**}$", ""},
                           {"$^{*}$", ""},
                           {"\\textdaggerdbl{}", ""},
                           {"\\textdagger{}", ""},
                           {"\\pm", "±"},
                           {"\\alpha", "α"},
                           {"--", "–"},
                           {"$", ""},
                           {"\\%", "%"},
                           {"\\_", "_"}});
    out.push_back(split(line, " & "));
  }
  return out;
}

TEST(Formats, AgreeInEveryCell) {
  const study::Results results = made_results({.sweep = true});
  for (const Table& table : tables_of(results)) {
    Grid text = read_text(table);
    for (auto& row : text) row.resize(table.columns.size());  // with what is empty at its end
    ASSERT_EQ(text.size(), table.rows.size()) << table.name;
    EXPECT_EQ(read_markdown(table), text) << table.name;
    EXPECT_EQ(read_latex(table), text) << table.name;
    for (std::size_t r = 0; r < text.size(); ++r) {
      ASSERT_EQ(text[r].size(), table.columns.size()) << table.name << " " << r;
      for (std::size_t c = 0; c < text[r].size(); ++c)
        EXPECT_EQ(text[r][c], plain_text(table.rows[r].cells[c])) << table.name;
    }
  }
}

TEST(Formats, CsvHasWhatTheOthersShow) {
  const study::Results results = made_results({.sweep = true});
  const std::vector<Table> all = tables_of(results);
  std::map<std::string, std::vector<std::string>> lines;
  for (const std::string& line : split(to_csv(all), "\r\n"))
    if (!line.empty()) lines[line.substr(0, line.find(','))].push_back(line);
  for (const Table& table : all) {
    std::size_t next = 0;
    for (std::size_t r = 0; r < table.rows.size(); ++r)
      for (std::size_t c = 0; c < table.columns.size(); ++c) {
        if (table.columns[c].figure.empty() || table.rows[r].cells[c].kind == TableCell::Kind::none)
          continue;
        ASSERT_LT(next, lines[table.name].size());
        const std::vector<std::string> fields = split(lines[table.name][next++], ",");
        ASSERT_EQ(fields.size(), 17u);
        const std::string& figure = table.rows[r].figure;
        EXPECT_EQ(fields[7], figure.empty() ? table.columns[c].figure : figure);
        const TableCell& cell = table.rows[r].cells[c];
        if (cell.kind == TableCell::Kind::text) {
          EXPECT_EQ(fields[14], cell.key());
          continue;
        }
        std::string shown = number_text(std::stod(fields[8]), cell.digits);
        if (!fields[9].empty()) shown += " ± " + number_text(std::stod(fields[9]), cell.digits);
        EXPECT_EQ(shown, plain_text(cell)) << table.name;
        EXPECT_EQ(std::stod(fields[8]), cell.value) << "full precision";
      }
    EXPECT_EQ(next, lines[table.name].size()) << table.name;
  }
}

// Programs find a figure by what it is of: two lines of one key would be a guess.
TEST(Formats, CsvTellsEveryLineApartByItsKeys) {
  study::Results results = made_results({.sweep = true});
  results.markets[0].warnings = {"first", "second"};
  for (study::Cell& cell : results.cells) cell.warnings = {"one thing", "another"};
  const Summary summary = summary_of(results);
  ASSERT_GT(summary.planned.size(), summary.groups.size()) << "several against one method";
  std::set<std::vector<std::string>> keys;
  for (const std::string& line : split(to_csv(tables(results, summary)), "\r\n")) {
    if (line.empty()) continue;
    std::vector<std::string> fields = split(line, ",");
    ASSERT_EQ(fields.size(), 17u);
    const std::vector<std::string> key = {fields[0], fields[1], fields[4],  fields[5],
                                          fields[6], fields[7], fields[15], fields[16]};
    EXPECT_TRUE(keys.insert(key).second) << line;
    if (fields[0] == "planned") {
      EXPECT_THAT(fields[15], ::testing::StartsWith("pfl-")) << line;
    }
    if (fields[0] == "warnings") {
      EXPECT_NE(fields[16], "") << line;
    }
  }
}

TEST(Formats, LatexIsBalancedWhateverTheNames) {
  study::Results results = made_results({.markets = {"{\\evil}%$&#_^~", "[b]*<>|\"'`"}});
  results.methods[6].label = "}}{\\end{table}";
  std::string latex = document_of(results, Format::latex);
  latex = replaced(latex, {{"\\{", ""}, {"\\}", ""}});
  Index depth = 0;
  for (const char c : latex) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    ASSERT_GE(depth, 0);
  }
  EXPECT_EQ(depth, 0);
  EXPECT_EQ(split(latex, "\\begin{table}").size(), split(latex, "\\end{table}").size());
  EXPECT_EQ(std::ranges::count(replaced(latex, {{"\\$", ""}}), '$') % 2, 0);
}

// What pdfLaTeX sets without further packages, in text and in mathematics alike.
TEST(Formats, LatexOfAsciiNamesIsAscii) {
  study::Results troubled = with_troubles();
  study::Results noisy = with_noisy_seeds(0.003, 0.008);
  study::Results swept = made_results({.sweep = true});
  for (study::Method& method : swept.methods) method.label = method.name;
  for (study::Cell& cell : swept.cells) cell.run.returns.assign(cell.run.returns.size(), 0.2);
  for (const study::Results& results : {troubled, noisy, swept}) {
    const std::string latex = document_of(results, Format::latex);
    for (std::size_t i = 0; i < latex.size(); ++i)
      ASSERT_TRUE(latex[i] == '\n' || (latex[i] >= ' ' && latex[i] <= '~'))
          << latex.substr(i < 60 ? 0 : i - 60, 80);
    EXPECT_FALSE(std::regex_search(latex, std::regex("[0-9]e[+-]?[0-9]")));
  }
  EXPECT_THAT(document_of(swept, Format::latex), HasSubstr("\\times 10^{9}"))
      << "wealth of 1.2 to the power of 120";
}

TEST(Formats, NamesAreNeverMarkup) {
  study::Results results = made_results({.markets = {"<script>alert(1)</script>"}, .ks = {"10%"}});
  results.methods[6].label = "=cmd|'/C calc'!A0";
  results.methods[6].name = "=cmd";
  const std::string markdown = document_of(results, Format::markdown);
  EXPECT_THAT(markdown, HasSubstr("\\<script\\>alert(1)"));
  EXPECT_THAT(replaced(markdown, {{"\\<", ""}}), Not(HasSubstr("<script")));
  const std::string csv = document_of(results, Format::csv);
  EXPECT_THAT(csv, Not(HasSubstr(",=")));
  EXPECT_THAT(csv, HasSubstr("'=cmd"));
}

}  // namespace
}  // namespace sharpen::report
