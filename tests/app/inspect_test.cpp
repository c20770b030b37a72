// `sharpen inspect`: what a model file holds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sharpen/base/build_info.hpp"
#include "support/models.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using testing::made_model;
using testing::run_program;
using ::testing::StartsWith;

std::string shown(const std::vector<std::string>& arguments) {
  const Finished run = run_program(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  return run.out;
}

TEST(Inspect, ShowsTickersDatesSettingsValidationAndVersions) {
  const Folder folder;
  const std::string path = folder.path("m.sharpen");
  learn::Model model = made_model({});
  model.settings.alpha = 0.25;
  model.settings.mandate.k = {.count = 2, .percent = 0.0};
  model.settings.seed = 42;
  model.members[1].validation_sharpe.reset();
  learn::write_model(model, path);
  const json answer = json::parse(shown({"inspect", path, "--json"}));
  EXPECT_EQ(answer["schema_version"], 1);
  EXPECT_EQ(answer["command"], "inspect");
  EXPECT_EQ(answer["model"], path);
  EXPECT_EQ(answer["format_version"], 3);
  EXPECT_EQ(answer["program_version"], build_info().version);
  EXPECT_EQ(answer["bytes"], std::filesystem::file_size(path));
  EXPECT_EQ(answer["checksum"], fmt::format("{:08x}", learn::read_model_file(path).checksum));
  EXPECT_EQ(answer["framework"], "dfl");
  EXPECT_EQ(answer["n"], 3);
  EXPECT_EQ(answer["k"], 2);
  EXPECT_EQ(answer["tickers"], json({"AAA", "BBB", "CCC"}));
  EXPECT_EQ(answer["from"], "2015-01-02");
  EXPECT_EQ(answer["to"], "2019-12-31");
  EXPECT_EQ(answer["samples"], 1000);
  EXPECT_EQ(answer["validation_samples"], 250);
  EXPECT_EQ(answer["validation_from"], "2019-01-02");
  EXPECT_EQ(answer["periods_per_year"], 252.0);
  const Index inputs = model.members[0].network.shape.inputs;
  EXPECT_EQ(answer["parameters"], inputs * 3 + 3 + 3 * 2 + 2 + 2 + 1);
  ASSERT_EQ(answer["members"].size(), 2u);
  EXPECT_EQ(answer["members"][0]["epochs"], 7);
  EXPECT_EQ(answer["members"][0]["best_epoch"], 3);
  EXPECT_EQ(answer["members"][0]["validation_loss"], -0.001);
  EXPECT_EQ(answer["members"][0]["validation_sharpe"], 0.05);
  EXPECT_NEAR(answer["members"][0]["validation_sharpe_annualized"], 0.05 * std::sqrt(252.0), 1e-12);
  EXPECT_EQ(answer["members"][1]["validation_sharpe"], nullptr);
  EXPECT_EQ(answer["settings"]["network"], "shared");
  EXPECT_EQ(answer["settings"]["hidden"], json({3, 2}));
  EXPECT_EQ(answer["settings"]["lookback"], 4);
  EXPECT_EQ(answer["settings"]["alpha"], 0.25);
  EXPECT_EQ(answer["settings"]["k"], 2);
  EXPECT_EQ(answer["settings"]["ensemble"], 2);
  EXPECT_EQ(answer["settings"]["seed"], 42);
}

TEST(Inspect, NamesEverySettingLikeItsFlag) {
  const Folder folder;
  const std::string path = folder.path("m.sharpen");
  learn::write_model(made_model({}), path);
  const json named = json::parse(shown({"inspect", "--json", path}))["settings"];
  for (const auto& [name, value] : named.items()) {
    const settings::Setting& setting = settings::find(name);  // throws if there is none
    EXPECT_NE(setting.commands & settings::train, 0u) << name;
    EXPECT_FALSE(value.is_null()) << name;
  }
  for (const settings::Setting& setting : settings::table())
    if (setting.group == settings::Group::learning && (setting.commands & settings::train) != 0 &&
        (setting.commands & settings::backtest) != 0 && setting.name != "preset") {
      EXPECT_TRUE(named.contains(std::string(setting.name))) << setting.name;
    }
}

TEST(Inspect, TellsPredictionFromDecision) {
  const Folder folder;
  const std::string path = folder.path("m.sharpen");
  learn::Model model = made_model({});
  model.settings.alpha = 0.0;
  model.validation_from.clear();
  learn::write_model(model, path);
  const json answer = json::parse(shown({"inspect", path, "--json"}));
  EXPECT_EQ(answer["framework"], "pfl");
  EXPECT_EQ(answer["validation_from"], nullptr);
  EXPECT_EQ(answer["settings"]["k"], "10%");
}

TEST(Inspect, ShowsPeopleAPage) {
  const Folder folder;
  const std::string path = folder.path("m.sharpen");
  learn::write_model(made_model({}), path);
  const std::string page = shown({"inspect", path});
  EXPECT_THAT(page, StartsWith(path + ": dfl model of 3 assets, 2 members\n\n"));
  EXPECT_THAT(page, HasSubstr("\ntrained on   2015-01-02 to 2019-12-31, 1000 samples\n"));
  EXPECT_THAT(page, HasSubstr("written by Sharpen " + build_info().version + "\n"));
  EXPECT_THAT(page, HasSubstr("\n  lookback           4\n"));
  EXPECT_THAT(page, HasSubstr("\n  hidden             3,2\n"));
  EXPECT_THAT(page, HasSubstr("\n  AAA, BBB, CCC\n"));
  EXPECT_EQ(shown({"inspect", "--model", path}), page);
}

// Without a validation there is nothing to tell of one member rather than another.
TEST(Inspect, ShowsNoTableOfDashes) {
  const Folder folder;
  const std::string path = folder.path("m.sharpen");
  learn::Model model = made_model({});
  EXPECT_THAT((learn::write_model(model, path), shown({"inspect", path})), HasSubstr("member  "));
  model.validation_from.clear();
  for (learn::Member& member : model.members) {
    member.epochs = member.best_epoch = 7;
    member.validation_loss.reset();
    member.validation_sharpe.reset();
  }
  learn::write_model(model, path);
  const std::string page = shown({"inspect", path});
  EXPECT_THAT(page, HasSubstr("\nvalidation   none: all 7 epochs were run\n"));
  EXPECT_THAT(page, ::testing::Not(HasSubstr("member  ")));
  EXPECT_THAT(page, ::testing::Not(HasSubstr(" - ")));
}

TEST(Inspect, RefusesWhatIsNoModel) {
  const Folder folder;
  const auto refusal = [](const std::vector<std::string>& arguments) {
    const Finished run = run_program(arguments);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(run.out, "");
    return run.err;
  };
  EXPECT_EQ(refusal({"inspect"}),
            "sharpen: error: no model given; write sharpen inspect model.sharpen\n");
  EXPECT_THAT(refusal({"inspect", folder.path("none")}),
              HasSubstr("none: cannot be read: No such"));
  EXPECT_THAT(refusal({"inspect", folder.file("text", "date,A\n")}),
              HasSubstr("text: is not a model of Sharpen"));
  std::string bytes = learn::model_bytes(made_model({}));
  bytes[8] = 4;
  EXPECT_THAT(refusal({"inspect", folder.file("newer", bytes)}),
              HasSubstr("newer: is a model of format version 4, and this program reads versions up "
                        "to 3; use a newer Sharpen"));
  bytes[8] = 3;
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  EXPECT_THAT(refusal({"inspect", folder.file("altered", bytes)}),
              HasSubstr("altered: is altered or damaged"));
}

TEST(Inspect, DocumentsEveryKey) {
  const Folder folder;
  const std::string path = folder.path("m.sharpen");
  learn::write_model(made_model({}), path);
  const std::string page = testing::text_of(SHARPEN_SOURCE_DIR "/docs/json.md");
  const auto start = page.find("\n## sharpen inspect --json\n");
  ASSERT_NE(start, std::string::npos);
  const std::string section = page.substr(start, page.find("\n## ", start + 1) - start);
  const json answer = json::parse(shown({"inspect", path, "--json"}));
  for (const auto& [key, value] : answer.items()) EXPECT_THAT(section, HasSubstr("`" + key + "`"));
  for (const auto& [key, value] : answer["members"][0].items())
    EXPECT_THAT(section, HasSubstr("`members[]." + key + "`"));
}

}  // namespace
}  // namespace sharpen
