// `sharpen report`, as a user meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "sharpen/study/store.hpp"
#include "support/program.hpp"
#include "support/study_results.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_program;
using ::testing::StartsWith;
using testing::text_of;

// DIR/study.db with every cell done but the last.
std::string stored(const Folder& folder,
                   testing::StudyPlan plan = {.markets = {"M"}, .ks = {"10%"}}) {
  const study::Results found = testing::made_results(plan);
  study::Results planned = found;
  for (study::Cell& cell : planned.cells) {
    cell.state = study::CellState::missing;
    cell.run = {};
    cell.metrics = {};
    cell.regret.reset();
  }
  const std::string file = folder.path("study.db");
  study::Store store(file, planned);
  for (std::size_t c = 0; c + 1 < found.cells.size(); ++c)
    store.write_done(static_cast<Index>(c), found.cells[c]);
  return file;
}

Finished report(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "report");
  arguments.insert(arguments.end(), {"--replications", "100"});
  return run_program(arguments);
}

std::string printed(const std::vector<std::string>& arguments) {
  const Finished run = report(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  return run.out;
}

std::string refused(const std::vector<std::string>& arguments) {
  const Finished run = report(arguments);
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_EQ(run.out, "");
  return run.err;
}

TEST(ReportCommand, PrintsTablesOfAFileOrItsFolder) {
  const Folder folder;
  const std::string file = stored(folder);
  const std::string text = printed({file});
  EXPECT_THAT(text, StartsWith("Sharpen report: made by hand\n"));
  EXPECT_THAT(text, HasSubstr("Annualised Sharpe ratio after costs, out of sample"));
  EXPECT_THAT(text, HasSubstr("18 of 19 cells done, 1 missing"));
  EXPECT_EQ(printed({folder.path("")}), text);
  EXPECT_EQ(printed({"--study", file, "--format", "text"}), text);
  EXPECT_EQ(printed({file, "--threads", "1"}), printed({file, "--threads", "3"}));
  EXPECT_THAT(printed({file, "--format", "md"}), StartsWith("<!-- Sharpen report -->"));
  EXPECT_THAT(printed({file, "--format", "latex"}), HasSubstr("\\begin{tabular}"));
  EXPECT_THAT(printed({file, "--format", "csv"}), StartsWith("table,market,assets,k,"));
}

TEST(ReportCommand, WritesThePageBesideTheStudy) {
  const Folder folder;
  const std::string file = stored(folder);
  EXPECT_THAT(printed({file, "--format", "html"}), HasSubstr("report.html: written, "));
  EXPECT_THAT(text_of(folder.path("report.html")), StartsWith("<!DOCTYPE html>"));
  // Again: a report may be replaced.
  EXPECT_THAT(printed({file, "--format", "html"}), HasSubstr("written"));
}

TEST(ReportCommand, TakesTheFormatFromTheEndingOfOut) {
  const Folder folder;
  const std::string file = stored(folder);
  for (const auto& [name, beginning] :
       {std::pair{"a.html", "<!DOCTYPE html>"}, std::pair{"a.md", "<!-- "},
        std::pair{"a.tex", "% Sharpen"}, std::pair{"a.csv", "table,"},
        std::pair{"a.txt", "Sharpen report"}}) {
    printed({file, "--out", folder.path(name)});
    EXPECT_THAT(text_of(folder.path(name)), StartsWith(beginning)) << name;
  }
}

TEST(ReportCommand, RefusesAnEndingOfNoFormat) {
  const Folder folder;
  const std::string file = stored(folder);
  for (const char* name : {"a.pdf", "a.html.gz", "a.HTM_"}) {
    EXPECT_THAT(refused({file, "--out", folder.path(name)}),
                HasSubstr("has an ending of no format; use .html, .htm, .txt, .md, .tex or .csv, "
                          "or give --format"))
        << name;
    EXPECT_FALSE(std::filesystem::exists(folder.path(name)));
  }
  printed({file, "--out", folder.path("a.pdf"), "--format", "csv"});
  EXPECT_THAT(text_of(folder.path("a.pdf")), StartsWith("table,"));
  printed({file, "--out", folder.path("plain")});
  EXPECT_THAT(text_of(folder.path("plain")), StartsWith("Sharpen report"));
}

TEST(ReportCommand, PrintsTheTablesAskedFor) {
  const Folder folder;
  const std::string file = stored(folder);
  const std::string text = printed({file, "--table", "drawdown,sharpe"});
  EXPECT_LT(text.find("Maximum drawdown"), text.find("Annualised Sharpe"));
  EXPECT_THAT(text, Not(HasSubstr("Turnover")));
  EXPECT_THAT(
      refused({file, "--table", "sharp"}),
      HasSubstr("table = sharp is not in this study; did you mean sharpe?; it has sharpe, "));
  EXPECT_THAT(refused({file, "--table", "sharpe", "--format", "html"}),
              HasSubstr("--table is for text, md, latex and csv"));
}

TEST(ReportCommand, AnswersInJson) {
  const Folder folder;
  const std::string file = stored(folder);
  const json answer = json::parse(printed({file, "--json"}));
  EXPECT_EQ(answer["schema_version"], 1);
  EXPECT_EQ(answer["command"], "report");
  EXPECT_EQ(answer["study"], file);
  EXPECT_EQ(answer["name"], "made by hand");
  EXPECT_EQ(answer["format"], "text");
  EXPECT_EQ(answer["out"], nullptr);
  EXPECT_EQ(answer["cells"], 19);
  EXPECT_EQ(answer["done"], 18);
  EXPECT_EQ(answer["missing"], 1);
  EXPECT_EQ(answer["failed"], 0);
  ASSERT_FALSE(answer["tables"].empty());
  EXPECT_EQ(answer["tables"][0]["name"], "sharpe");
  EXPECT_EQ(answer["tables"][0]["figures"][0]["figure"], "sharpe_annualized");
  const json written = json::parse(printed({file, "--json", "--format", "html"}));
  EXPECT_EQ(written["out"], folder.path("report.html"));
  EXPECT_EQ(written["bytes"], std::filesystem::file_size(folder.path("report.html")));
}

TEST(ReportCommand, TellsFiguresApartByTheirKeysInJson) {
  const Folder folder;
  const json answer = json::parse(printed({stored(folder), "--json"}));
  std::set<std::string> keys;
  bool planned = false;
  for (const json& table : answer["tables"])
    for (const json& figure : table["figures"]) {
      json key = {table["name"]};
      for (const char* name : {"market", "k_given", "method", "against", "seed", "item", "figure"})
        key.push_back(figure.at(name));
      EXPECT_TRUE(keys.insert(key.dump()).second) << key;
      if (table["name"] != "planned") continue;
      planned = true;
      EXPECT_THAT(figure["against"].get<std::string>(), StartsWith("pfl-"));
    }
  EXPECT_TRUE(planned);
}

TEST(ReportCommand, DocumentsEveryKey) {
  const Folder folder;
  const json answer = json::parse(printed({stored(folder), "--json"}));
  const std::string page = text_of(SHARPEN_SOURCE_DIR "/docs/json.md");
  const auto start = page.find("\n## sharpen report --json\n");
  ASSERT_NE(start, std::string::npos);
  const std::string section = page.substr(start, page.find("\n## ", start + 1) - start);
  for (const auto& [key, value] : answer.items()) EXPECT_THAT(section, HasSubstr("`" + key + "`"));
  for (const auto& [key, value] : answer["tables"][0].items())
    EXPECT_THAT(section, HasSubstr("`tables[]." + key + "`"));
  for (const json& table : answer["tables"])
    for (const json& figure : table["figures"])
      for (const auto& [key, value] : figure.items())
        EXPECT_THAT(section, HasSubstr("`tables[].figures[]." + key + "`"));
}

TEST(ReportCommand, KeepsTheStudyAndOtherFiles) {
  const Folder folder;
  const std::string file = stored(folder);
  const std::string before = text_of(file);
  EXPECT_THAT(refused({file, "--out", file}), HasSubstr("would replace the study"));
  EXPECT_THAT(refused({file, "--out", file, "--force"}), HasSubstr("would replace the study"));
  EXPECT_EQ(text_of(file), before);
  const std::string notes = folder.file("notes.md", "# Notes\n");
  EXPECT_THAT(refused({file, "--out", notes}),
              HasSubstr("is there already and no report of Sharpen"));
  EXPECT_EQ(text_of(notes), "# Notes\n");
  printed({file, "--out", notes, "--force"});
  EXPECT_THAT(text_of(notes), StartsWith("<!-- Sharpen report"));
  EXPECT_THAT(refused({file, "--out", folder.path("")}),
              HasSubstr("is a folder; name a file in it"));
  EXPECT_THAT(refused({file, "--out", folder.path("none/x.md")}), HasSubstr("none/x.md"));
}

TEST(ReportCommand, RefusesWhatIsNoStudy) {
  const Folder folder;
  EXPECT_EQ(refused({}),
            "sharpen: error: no study given; write sharpen report study.db, or name its folder\n");
  EXPECT_THAT(refused({folder.path("")}), HasSubstr("holds no study.db"));
  EXPECT_THAT(refused({folder.path("none.db")}), HasSubstr("none.db"));
  EXPECT_THAT(refused({folder.file("text.db", "date,A\n2020-01-01,1\n")}), HasSubstr("text.db"));
  EXPECT_THAT(refused({stored(folder), "--format", "pdf"}),
              HasSubstr("format = pdf is not one of html, text, md, latex, csv"));
}

}  // namespace
}  // namespace sharpen
