// `sharpen predict` about its own answer: how far members agree, reasons, statuses, and texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/desk.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using testing::Desk;
using testing::Finished;
using ::testing::HasSubstr;
using testing::kLastDate;
using ::testing::Not;
using testing::run_program;
using ::testing::StartsWith;
using testing::text_of;

TEST(Predict, SaysHowFarTheMembersAgree) {
  const Desk desk;
  const std::vector<double> a = {5e-3, 0, 0, 0, 0, 0}, b = {0, 5e-3, 0, 0, 0, 0};
  desk.model("m.sharpen", {a, a, a, b});
  const json answer = desk.predict({"-k", "1"});
  const std::vector<std::string>& tickers = desk.prices().tickers;
  ASSERT_EQ(answer["holdings"].size(), 1u);
  const json& held = answer["holdings"][0];
  EXPECT_EQ(held["asset"], tickers[0]);
  EXPECT_EQ(held["held_by"], 0.75);
  EXPECT_NEAR(held["member_mean"], 0.75, 1e-12);
  EXPECT_NEAR(held["member_sd"], 0.5, 1e-12);
  ASSERT_EQ(answer["held_by_members_only"].size(), 1u);
  EXPECT_EQ(answer["held_by_members_only"][0]["asset"], tickers[1]);
  EXPECT_EQ(answer["held_by_members_only"][0]["held_by"], 0.25);
  EXPECT_GT(answer["agreement"], 0.5);
  EXPECT_LT(answer["agreement"], 1.0);
  desk.model("m.sharpen", {a});
  const json single = desk.predict({"-k", "1"});
  EXPECT_EQ(single["agreement"], 1.0);
  EXPECT_EQ(single["holdings"][0]["member_sd"], nullptr);
}

TEST(Predict, RequiresOkIfAsked) {
  const Desk desk;
  const std::string out = desk.file("weights.csv", "what was there");
  const std::vector<std::string> require = {"--json", "--require-ok", "--out", out};
  desk.model("m.sharpen", {{3e-3, 1e-3, 2e-3, 2e-3, 1e-3, 2e-3}});
  EXPECT_EQ(run_program(desk.arguments(require)).exit_code, 0);
  EXPECT_THAT(text_of(out), StartsWith("asset,weight\n"));

  desk.file("weights.csv", "what was there");
  desk.model("m.sharpen", {{0, 0, 0, 0, 0, 0}});
  const Finished cash = run_program(desk.arguments(require));
  EXPECT_EQ(cash.exit_code, 1);
  EXPECT_EQ(cash.err,
            "sharpen: error: the status is no_signal, and --require-ok wants ok; no file was "
            "written\n");
  EXPECT_EQ(json::parse(cash.out)["status"], "no_signal");
  EXPECT_EQ(json::parse(cash.out)["holdings"], json::array());
  EXPECT_EQ(text_of(out), "what was there");

  desk.model("m.sharpen", {{-1e-3, -2e-3, -3e-3, -4e-3, -5e-3, -6e-3}});
  const Finished face = run_program(desk.arguments({"--json", "--require-ok"}));
  EXPECT_EQ(face.exit_code, 1);
  EXPECT_EQ(json::parse(face.out)["status"], "neutral_face");
  EXPECT_EQ(desk.predict({})["status"], "neutral_face");
  EXPECT_EQ(desk.predict({"--net", "any", "--require-ok"})["status"], "ok");
}

TEST(Predict, ExplainsEachName) {
  const Desk desk;
  const json answer = desk.predict({"--explain"});
  double risk = 0.0;
  for (const json& holding : answer["holdings"]) {
    EXPECT_GT(holding["sharpe_lost_if_removed"], 0.0);
    EXPECT_GE(holding["score_rank"], 1);
    EXPECT_TRUE(holding["mu"].is_number());
    risk += holding["risk_contribution"].get<double>();
  }
  EXPECT_NEAR(risk, 1.0, 1e-12);
  EXPECT_TRUE(answer.contains("best_left_out"));
  EXPECT_FALSE(desk.predict({})["holdings"][0].contains("mu"));
}

TEST(Predict, TellsPeopleWhatToDo) {
  const Desk desk;
  desk.model("m.sharpen",
             {{3e-3, 1e-3, -1e-3, 2e-3, 0.5e-3, -2e-3}, {1e-3, 2e-3, 1e-3, 2e-3, 0, 1e-3}});
  const Finished plain = run_program(desk.arguments({}));
  EXPECT_THAT(plain.out, StartsWith("2 of 6 assets by swap (at most 2), for the period after " +
                                    std::string(kLastDate) + "\n\n  asset "));
  EXPECT_THAT(plain.out, HasSubstr("\nmembers    2, agreement 0."));
  EXPECT_THAT(plain.out, HasSubstr("\nstatus     ok: "));
  EXPECT_THAT(plain.out, Not(HasSubstr("turnover")));
  const Finished account = run_program(desk.arguments({"--capital", "1e6", "--explain"}));
  EXPECT_THAT(account.out, HasSubstr("  trade "));
  EXPECT_THAT(account.out, HasSubstr("\nturnover   1.0000\n"));
  EXPECT_THAT(account.out, HasSubstr("Sharpe lost without it"));
}

void add_keys(const json& value, const std::string& prefix, std::vector<std::string>& keys) {
  if (value.is_array()) {
    for (const json& item : value) add_keys(item, prefix + "[]", keys);
  } else if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) {
      const std::string path = prefix.empty() ? key : prefix + "." + key;
      if (!inner.is_object()) keys.push_back(path);
      add_keys(inner, path, keys);
    }
  }
}

TEST(Predict, DocumentsEveryKey) {
  const Desk desk;
  desk.model("m.sharpen",
             {{3e-3, 1e-3, -1e-3, 2e-3, 0.5e-3, -2e-3}, {1e-3, 2e-3, 1e-3, 2e-3, 0, 1e-3}});
  const std::string page = text_of(SHARPEN_SOURCE_DIR "/docs/json.md");
  const auto start = page.find("\n## sharpen predict --json\n");
  ASSERT_NE(start, std::string::npos);
  const std::string section = page.substr(start, page.find("\n## ", start + 1) - start);
  std::vector<std::string> keys;
  const json answer = desk.predict({"--explain", "--capital", "1e6", "-k", "1"});
  EXPECT_FALSE(answer["held_by_members_only"].empty());
  add_keys(answer, "", keys);
  ASSERT_GT(keys.size(), 50u);
  for (const std::string& key : keys) EXPECT_THAT(section, HasSubstr("`" + key + "`"));
}

}  // namespace
}  // namespace sharpen
