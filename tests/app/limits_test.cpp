// Limits at the front doors: answers that are known, limits that hold at every decision, and what
// is said of wrong ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/program.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_program;

using Flags = std::vector<std::string>;

Flags operator+(Flags a, const Flags& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

json limits_answer(const Flags& flags) {
  const Finished run = run_program(flags + Flags{"--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return json::parse(run.out, nullptr, false);
}

double sum_of_holdings(const json& answer) {
  double sum = 0.0;
  for (const json& holding : answer["holdings"]) sum += holding["weight"].get<double>();
  return sum;
}

Flags market(const Folder& folder, int assets, int days, int seed) {
  const std::string file = folder.path("prices.csv");
  EXPECT_EQ(run_program({"simulate", "--assets", std::to_string(assets), "--days",
                         std::to_string(days), "--seed", std::to_string(seed), "--out", file})
                .exit_code,
            0);
  return {"--prices", file};
}

std::string sectors(int assets) {
  std::string out = "asset,group\n";
  for (int i = 1; i <= assets; ++i) {
    const std::string number = std::to_string(i);
    out += "S" + std::string(3 - number.size(), '0') + number + (i % 2 == 0 ? ",Even\n" : ",Odd\n");
  }
  return out;
}

TEST(LimitsOfSolve, GiveTheAnswersThatAreKnown) {
  const std::string data = testing::data_folder();
  if (data.empty()) GTEST_SKIP() << "the test data are not here";
  const std::vector<std::pair<Flags, double>> known = {
      {{"--long-only"}, .265086634},
      {{"--max-gross", "1"}, .265086634},
      {{"--long-only", "--max-weight", "0.1"}, .256892189},
      {{"--min-weight", "-0.1", "--max-weight", "0.2"}, .318316033},
      {{"--max-gross", "1.6"}, .300730321}};
  for (const auto& [flags, sharpe] : known) {
    const json answer = limits_answer(Flags{"solve", "--returns", data + "/ff25_monthly_gross.csv",
                                            "--gross", "--lookback", "all", "--shrinkage", "0",
                                            "-k", "100%", "--objective", "sharpe"} +
                                      flags);
    EXPECT_NEAR(answer["sharpe"].get<double>(), sharpe, 5e-10) << flags.front();
    EXPECT_NEAR(sum_of_holdings(answer), 1.0, 1e-12);
    EXPECT_EQ(answer["objective"], "sharpe");
  }
  const json orlib = limits_answer({"solve", "--moments", data + "/port2.txt", "--format", "orlib",
                                    "-k", "100%", "--long-only"});
  EXPECT_NEAR(orlib["sharpe"].get<double>(), .363785403, 5e-10);
  EXPECT_EQ(orlib["cardinality"], 13);
}

// Rows that need a name are kept however few names there are, also where no weight is bounded.
TEST(LimitsOfSolve, FewNamesIncludeThoseThatRowsNeed) {
  const Folder folder;
  const Flags prices = market(folder, 60, 1500, 3) + Flags{"--to", "2015-07-30"};
  const std::string file = folder.file("rows.toml", "rows = [\"S001 >= 0.05\"]\n");
  for (const char* k : {"1", "5"}) {
    const json answer = limits_answer(Flags{"solve"} + prices + Flags{"-k", k, "--limits", file});
    ASSERT_EQ(answer["status"], "ok") << k;
    EXPECT_EQ(answer["holdings"][0]["asset"], "S001") << k;
    EXPECT_GE(answer["holdings"][0]["weight"].get<double>(), 0.05 - 1e-9) << k;
  }
}

// The best name alone, where the best signal is one to sell and that is not allowed alone; those
// that rank by scores may take it all the same, and hold nothing.
TEST(LimitsOfSolve, OneNameIsTheBestOfAll) {
  const Folder folder;
  const std::string mean = folder.file("mean.csv", "A,-0.03\nB,0.01\nC,0.02\n");
  const std::string cov = folder.file("cov.csv", ",A,B,C\nA,1,0,0\nB,0,1,0\nC,0,0,1\n");
  for (const char* objective : {"sharpe", "return"})
    for (const char* optimizer : {"swap", "greedy"}) {
      const json answer =
          limits_answer({"solve", "--mean", mean, "--cov", cov, "-k", "1", "--max-gross", "2",
                         "--objective", objective, "--optimizer", optimizer});
      ASSERT_EQ(answer["cardinality"], 1) << objective << " " << optimizer;
      EXPECT_EQ(answer["holdings"][0]["asset"], "C") << objective << " " << optimizer;
    }
}

TEST(LimitsOfSolve, FlagsComeBeforeTheFile) {
  const Folder folder;
  const Flags prices = market(folder, 12, 300, 3);
  const std::string file = folder.file("limits.toml", "long_only = true\nmax_weight = 0.9\n");
  const json answer = limits_answer(Flags{"solve"} + prices +
                                    Flags{"-k", "6", "--limits", file, "--max-weight", "0.25"});
  for (const json& holding : answer["holdings"]) {
    EXPECT_GE(holding["weight"].get<double>(), 0.0);
    EXPECT_LE(holding["weight"].get<double>(), 0.25 + 1e-12);
  }
  EXPECT_THAT(answer["limits"].get<std::string>(), HasSubstr("max_weight = 0.25"));
}

TEST(LimitsOfSolve, WhatIsWrongIsNamed) {
  const Folder folder;
  const Flags solve = Flags{"solve"} + market(folder, 12, 300, 3);
  const auto refusal = [&](const Flags& flags) {
    const Finished run = run_program(solve + flags);
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_EQ(run.out, "");
    return run.err;
  };
  EXPECT_THAT(refusal({"--min-weight", "0.3", "--max-weight", "0.2"}), HasSubstr("0.3"));
  EXPECT_THAT(
      refusal({"--long-only", "--max-weight", "0.05"}),
      HasSubstr("every weight <= 5 % (12 assets) cannot hold with weights that add up to 1"));
  EXPECT_THAT(
      refusal({"--long-only", "--max-weight", "0.1", "-k", "5"}),
      HasSubstr("no portfolio of 5 names keeps the limits: they would have to give way by 0.1; "
                "allow more names (-k)"));
  EXPECT_THAT(
      refusal({"--long-only", "--optimizer", "sdr"}),
      HasSubstr("optimizer = sdr keeps no limits; use oscar, symmetric, greedy, swap, pairs or exact"));
  EXPECT_THAT(refusal({"--max-weight", "0.3", "--sizing", "gross"}), HasSubstr("no convex set"));
  EXPECT_THAT(refusal({"--long-only", "--sizing", "volatility", "--objective", "sharpe"}),
              HasSubstr("leave one of them out"));
  EXPECT_THAT(refusal({"--groups", folder.path("none.csv")}),
              HasSubstr("none.csv: cannot be read"));
  EXPECT_THAT(refusal({"--groups", folder.file("g.csv", "asset,group\nS001,Odd\nS999,Odd\n")}),
              HasSubstr("g.csv:3"));
  EXPECT_THAT(refusal({"--limits", folder.file("l.toml", "rows = [\"Even <= 0.3\"]\n")}),
              HasSubstr("Even"));
  EXPECT_THAT(refusal({"--limits", folder.file("m.toml", "max_wieght = 0.3\n")}),
              HasSubstr("max_weight"));
}

// A file that was printed has every default in it, and says what the flags said all the same.
TEST(LimitsOfBacktest, SizingMeansTheSameInAFile) {
  const Folder folder;
  ASSERT_EQ(run_program({"simulate", "--assets", "6", "--days", "120", "--out", "p.csv"}, "",
                        {.folder = folder.path("")})
                .exit_code,
            0);
  const std::string prices = folder.path("p.csv");
  const auto same = [&](const Flags& flags) {
    const Finished printed = run_program(flags + Flags{"--print-config"});
    EXPECT_EQ(printed.exit_code, 0) << printed.err;
    const json by_flags = limits_answer(flags);
    const json by_file =
        limits_answer({flags[0], "--config", folder.file("printed.toml", printed.out)});
    EXPECT_EQ(by_file, by_flags);
    return by_flags;
  };
  const Flags backtest = {"backtest", "--prices", prices,        "--lookback",     "20",
                          "-k",       "2",        "--long-only", "--replications", "50"};
  const json usual = same(backtest), gross = same(backtest + Flags{"--sizing", "gross"});
  EXPECT_NE(usual["sharpe"], gross["sharpe"]);
  EXPECT_EQ(same(backtest + Flags{"--objective", "sharpe"})["sharpe"], gross["sharpe"]);
  // Whose default is another one.
  const Flags paper = backtest + Flags{"--framework", "pfl",      "--preset", "paper",   "--hidden",
                                       "4",           "--epochs", "1",        "--batch", "32"};
  EXPECT_EQ(same(paper)["sharpe"], same(paper + Flags{"--sizing", "volatility"})["sharpe"]);
  EXPECT_NE(same(paper + Flags{"--sizing", "gross"})["sharpe"], same(paper)["sharpe"]);
  const Flags solve = {"solve", "--prices", prices, "-k", "2", "--long-only"};
  EXPECT_NE(same(solve)["holdings"], same(solve + Flags{"--sizing", "volatility"})["holdings"]);

  const Finished refused =
      run_program({"backtest", "--prices", prices, "--lookback", "20", "--max-weight", "0.5",
                   "--config", folder.file("g.toml", "sizing = \"gross\"\n")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("no convex set"));
}

// What weights.csv holds, by date.
std::map<std::string, std::map<std::string, double>> weights_of(const std::string& file) {
  std::map<std::string, std::map<std::string, double>> out;
  std::istringstream lines(testing::text_of(file));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const std::size_t first = line.find(','), second = line.find(',', first + 1);
    out[line.substr(0, first)][line.substr(first + 1, second - first - 1)] =
        std::stod(line.substr(second + 1));
  }
  return out;
}

TEST(LimitsOfBacktest, HoldAtEveryDecision) {
  const Folder folder;
  const Flags prices = market(folder, 16, 420, 7);
  const std::string file =
      folder.file("limits.toml",
                  "min_weight = -0.1\nmax_weight = 0.2\nmax_gross = 1.2\nmin_held = 0.02\n"
                  "rows = [\"Odd <= 0.25\", \"-0.1 <= net <= 0.6\"]\n[names]\nEven = 3\n");
  const Flags flags = {"--limits", file, "--groups", folder.file("s.csv", sectors(16)), "-k", "6"};
  const std::vector<Flags> ways = {{},
                                   {"--objective", "utility", "--risk-aversion", "20"},
                                   {"--framework", "dfl", "--ensemble", "1", "--epochs", "2"}};
  for (const Flags& way : ways) {
    const std::string out = folder.path("run" + std::to_string(way.size()));
    const Finished run =
        run_program(Flags{"backtest"} + prices + flags + way + Flags{"--out", out});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    int days = 0;
    for (const auto& [date, weights] : weights_of(out + "/weights.csv")) {
      double odd = 0.0, net = 0.0, gross = 0.0;
      int even_names = 0;
      for (const auto& [asset, w] : weights) {
        const bool is_odd = (asset.back() - '0') % 2 != 0;
        (is_odd ? odd : net) += w;
        even_names += is_odd ? 0 : 1;
        gross += std::abs(w);
        EXPECT_GE(w, -0.1 - 1e-9) << date;
        EXPECT_LE(w, 0.2 + 1e-9) << date;
        EXPECT_GE(std::abs(w), 0.02 - 1e-9) << date;
      }
      net += odd;
      EXPECT_LE(odd, 0.25 + 1e-9) << date;
      EXPECT_LE(gross, 1.2 + 1e-9) << date;
      EXPECT_GE(net, -0.1 - 1e-9) << date;
      EXPECT_LE(net, 0.6 + 1e-9) << date;
      EXPECT_LE(even_names, 3) << date;
      EXPECT_LE(weights.size(), 6u) << date;
      ++days;
    }
    EXPECT_GT(days, 50);
  }
}

TEST(LimitsOfPredict, AreTheModelsUnlessOthersAreGiven) {
  const Folder folder;
  const Flags prices = market(folder, 10, 300, 5);
  const std::string model = folder.path("m.sharpen");
  ASSERT_EQ(
      run_program(Flags{"train"} + prices +
                  Flags{"--framework", "dfl", "--long-only", "--max-weight", "0.3", "-k", "5",
                        "--ensemble", "1", "--epochs", "2", "--lookback", "40", "--out", model})
          .exit_code,
      0);
  const Flags predict = Flags{"predict", "--model", model} + prices + Flags{"--asof", "2016-03-01"};
  const json kept = limits_answer(predict);
  EXPECT_THAT(kept["limits"].get<std::string>(), HasSubstr("max_weight = 0.3"));
  EXPECT_EQ(kept["objective"], "return");
  for (const json& holding : kept["holdings"]) EXPECT_GE(holding["weight"].get<double>(), 0.0);
  const json other = limits_answer(predict + Flags{"--max-gross", "0.5", "--objective", "utility"});
  EXPECT_LE(other["gross_exposure"].get<double>(), 0.5 + 1e-12);
  EXPECT_EQ(other["objective"], "utility");
  const json shown = limits_answer({"inspect", model});
  EXPECT_THAT(shown["settings"]["limits"].get<std::string>(), HasSubstr("long_only = true"));
}

// What a study runs on is what its file of limits said when it began.
TEST(LimitsOfStudy, AreThoseThatTheFileHad) {
  const Folder folder;
  const Flags prices = market(folder, 8, 260, 5);
  const std::string limits = folder.file("limits.toml", "long_only = true\nmax_weight = 0.4\n");
  const std::string config = folder.file(
      "study.toml", "prices = [\"" + prices[1] +
                        "\"]\nk = [4]\nframeworks = [\"historic\"]\noptimizers = [\"swap\", "
                        "\"equal\"]\nlookback = 60\nlimits = \"" +
                        limits + "\"\n");
  const Flags study = {"study", "--config", config, "--out", folder.path("study")};
  const Finished first = run_program(study);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(run_program(study).exit_code, 0);
  static_cast<void>(folder.file("limits.toml", "long_only = true\nmax_weight = 0.5\n"));
  const Finished changed = run_program(study);
  EXPECT_EQ(changed.exit_code, 2) << changed.out;
}

}  // namespace
}  // namespace sharpen
