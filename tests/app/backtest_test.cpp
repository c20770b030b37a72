// `sharpen backtest`: known answers, files that agree with each other, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backtest/panels.hpp"
#include "sharpen/backtest/run_files.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

namespace fs = std::filesystem;
using backtest::testing::date_of;
using backtest::testing::random_panel;
using nlohmann::json;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_program;
using testing::start_program;
using testing::text_of;

Finished backtest_run(std::vector<std::string> flags) {
  flags.insert(flags.begin(), "backtest");
  return run_program(flags);
}

json backtest_answer(std::vector<std::string> flags) {
  flags.push_back("--json");
  const Finished run = backtest_run(flags);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  return json::parse(run.out, nullptr, false);
}

void expect_refused_backtest(std::vector<std::string> flags, const std::string& message) {
  flags.insert(flags.begin(), "backtest");
  testing::expect_refused(std::move(flags), message);
}

std::string csv_of(const market::Panel& panel) { return market::panel_csv(panel); }

using Row = std::vector<std::string>;

// Rows after the header; none of our test tickers needs quotes.
std::vector<Row> rows_of(const std::string& text) {
  std::vector<Row> rows;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    Row row;
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) row.push_back(field);
    rows.push_back(row);
  }
  return rows;
}

struct KnownBacktest {
  const char* file;
  double sharpe, wealth;
};

class EqualWeights : public ::testing::TestWithParam<KnownBacktest> {};

TEST_P(EqualWeights, ReachThePublishedFigures) {
  if (testing::data_folder().empty())
    GTEST_SKIP() << "the test data are not here; set SHARPEN_TEST_DATA to their folder";
  const std::string file = testing::data_folder() + "/" + GetParam().file;
  const json answer = backtest_answer({"--returns", file, "--gross", "--framework", "rolling",
                                       "--optimizer", "equal", "--min-history", "0", "--stats-from",
                                       "2", "--periods-per-year", "12", "--cost-bps", "0"});
  EXPECT_NEAR(answer["sharpe"].get<double>(), GetParam().sharpe, 5e-5);
  EXPECT_NEAR(answer["final_wealth"].get<double>(), GetParam().wealth, 5e-3);
  EXPECT_NEAR(answer["sharpe_annualized"].get<double>(),
              answer["sharpe"].get<double>() * std::sqrt(12.0), 1e-15);
  EXPECT_EQ(answer["n_periods"], 622);
  EXPECT_EQ(answer["stats_from_date"], "1971-08-31");
  EXPECT_EQ(answer["first_traded_date"], "1971-07-31");
}

INSTANTIATE_TEST_SUITE_P(Design, EqualWeights,
                         ::testing::Values(KnownBacktest{"ff25_monthly_gross.csv", .2276, 355.98},
                                           KnownBacktest{"ff49_monthly_gross.csv", .2057, 235.48},
                                           KnownBacktest{"ff100_monthly_gross.csv", .2087,
                                                         364.87}));

class BacktestCommand : public ::testing::Test {
 protected:
  Folder folder_;
  market::Panel returns_ = random_panel(80, 6, 71);
  std::string file_ = folder_.file("returns.csv", csv_of(returns_));
};

TEST_F(BacktestCommand, WritesFilesThatAgreeWithEachOtherAndWithTheAnswer) {
  const std::string out = folder_.path("deep/run");
  const json answer = backtest_answer(
      {"--returns",   file_,  "-k",          "3",    "--lookback",   "20", "--cost-bps",  "20",
       "--rebalance", "3",    "--risk-free", "0.03", "--stats-from", "25", "--short-fee", "0.05",
       "--financing", "0.04", "--out",       out});
  EXPECT_EQ(json::parse(text_of(out + "/metrics.json")), answer);

  std::map<std::string, Index> row_of;
  for (Index t = 0; t < 80; ++t) row_of[returns_.dates[static_cast<std::size_t>(t)]] = t;
  std::map<std::string, double> earned, invested, traded, shorted;
  std::map<std::string, int> held;
  for (const Row& row : rows_of(text_of(out + "/weights.csv"))) {
    const Index asset = std::stol(row[1].substr(1));
    earned[row[0]] += std::stod(row[2]) * returns_.matrix()(row_of.at(row[0]), asset);
    invested[row[0]] += std::stod(row[2]);
    shorted[row[0]] -= std::min(0.0, std::stod(row[2]));
    ++held[row[0]];
  }
  for (const Row& row : rows_of(text_of(out + "/trades.csv"))) {
    EXPECT_NEAR(std::stod(row[3]) - std::stod(row[2]), std::stod(row[4]), 1e-15);
    traded[row[0]] += std::abs(std::stod(row[4]));
  }
  double wealth = 1.0, mean = 0.0, squares = 0.0;
  std::vector<double> excess;
  const std::vector<Row> periods = rows_of(text_of(out + "/returns.csv"));
  ASSERT_EQ(periods.size(), 60u);
  for (const Row& row : periods) {
    ASSERT_EQ(row.size(), 14u);
    const double cash = (1.0 - invested[row[0]]) * 0.03 / 252.0;
    EXPECT_NEAR(std::stod(row[2]), earned[row[0]] + cash, 1e-15);
    EXPECT_NEAR(std::stod(row[4]), traded[row[0]], 1e-13);
    EXPECT_NEAR(std::stod(row[9]), 0.002 * traded[row[0]], 1e-15);
    EXPECT_NEAR(std::stod(row[10]), 0.05 / 252.0 * shorted[row[0]], 1e-15);
    EXPECT_NEAR(std::stod(row[11]), 0.04 / 252.0 * std::max(0.0, invested[row[0]] - 1.0), 1e-15);
    EXPECT_NEAR(std::stod(row[3]), std::stod(row[9]) + std::stod(row[10]) + std::stod(row[11]),
                1e-17);
    EXPECT_EQ(std::stod(row[1]), std::stod(row[2]) - std::stod(row[3]));
    EXPECT_EQ(std::stoi(row[7]), held[row[0]]);
    wealth *= 1.0 + std::stod(row[1]);
    if (row[0] >= returns_.dates[24]) excess.push_back(std::stod(row[1]) - 0.03 / 252.0);
  }
  for (const double e : excess) mean += e / static_cast<double>(excess.size());
  for (const double e : excess) squares += (e - mean) * (e - mean);
  EXPECT_NEAR(answer["final_wealth"].get<double>(), wealth, 1e-12);
  EXPECT_NEAR(answer["sharpe"].get<double>(),
              mean / std::sqrt(squares / static_cast<double>(excess.size() - 1)), 1e-12);
  EXPECT_EQ(answer["n_periods"], excess.size());
  EXPECT_EQ(answer["stats_from_date"], returns_.dates[24]);
  EXPECT_DOUBLE_EQ(answer["risk_free"].get<double>(), 0.03 / 252.0);
  std::size_t counted = 0;
  for (const auto& [status, count] : answer["status_counts"].items())
    counted += count.get<std::size_t>();
  EXPECT_EQ(counted, excess.size());

  // The last portfolio is that of the last period as its returns left it, and reads back.
  const double growth = 1.0 + std::stod(rows_of(text_of(out + "/returns.csv")).back()[1]);
  const auto last = backtest::read_portfolio(out + "/weights_last.csv");
  std::size_t kept = 0;
  for (const Row& row : rows_of(text_of(out + "/weights.csv"))) {
    if (row[0] != returns_.dates.back()) continue;
    ASSERT_LT(kept, last.size());
    const auto column = std::ranges::find(returns_.tickers, row[1]) - returns_.tickers.begin();
    const double factor = 1.0 + returns_.matrix()(returns_.rows() - 1, column);
    EXPECT_EQ(last[kept].asset, row[1]);
    EXPECT_NEAR(last[kept++].weight, std::stod(row[2]) * factor / growth, 1e-12);
  }
  EXPECT_EQ(kept, last.size());
  EXPECT_GT(kept, 0u);
}

TEST_F(BacktestCommand, AnswersWithTheKeysTheDocumentationLists) {
  const json answer =
      backtest_answer({"--returns", file_, "--lookback", "20", "--benchmark", "A2"});
  for (const char* key : {"schema_version",
                          "command",
                          "framework",
                          "optimizer",
                          "sharpe",
                          "sharpe_annualized",
                          "sharpe_ci",
                          "max_drawdown",
                          "final_wealth",
                          "turnover",
                          "mean_cardinality",
                          "n_periods",
                          "status_counts",
                          "label",
                          "settings",
                          "warnings",
                          "cleaning",
                          "periods_per_year",
                          "sharpe_gross",
                          "sharpe_gross_annualized",
                          "sharpe_delay_1_annualized",
                          "costs",
                          "total_cost",
                          "turnover_annualized",
                          "mean_holding_period",
                          "break_even_bps",
                          "equal_weights",
                          "cost_curve",
                          "rule",
                          "memory",
                          "expected_sharpe",
                          "holding_horizon",
                          "delay",
                          "cost_bps"})
    EXPECT_TRUE(answer.contains(key)) << key;
  EXPECT_EQ(answer["schema_version"], 1);
  EXPECT_EQ(answer["command"], "backtest");
  EXPECT_EQ(answer["sharpe_ci"].size(), 2u);
  EXPECT_LT(answer["sharpe_ci"][0], answer["sharpe_ci"][1]);
  EXPECT_EQ(answer["benchmark"]["ticker"], "A2");
  EXPECT_EQ(answer["n_assets"], 5);
  EXPECT_EQ(answer["settings"]["sizing"], "volatility");

  const std::string page = text_of(std::string(SHARPEN_SOURCE_DIR) + "/docs/json.md");
  const auto section = page.substr(page.find("## sharpen backtest --json"));
  const auto documented = [&](const std::string& key) {
    EXPECT_THAT(section.substr(0, section.find("\n## ", 1)), HasSubstr("`" + key + "`"));
  };
  for (const auto& [key, value] : answer.items()) {
    documented(key);
    if (key != "settings" && key != "status_counts" && value.is_object())
      for (const auto& [inner, ignored] : value.items()) documented(key + "." + inner);
  }
}

TEST_F(BacktestCommand, ChargesFiveBasisPointsUnlessToldOtherwise) {
  const std::vector<std::string> flags = {"--returns", file_, "--lookback", "20", "-k", "2"};
  const json answer = backtest_answer(flags);
  EXPECT_EQ(answer["cost_bps"], 5.0);
  EXPECT_EQ(answer["rule"], "cost");
  EXPECT_EQ(answer["delay"], 0);
  EXPECT_GT(answer["memory"], 1);
  EXPECT_GT(answer["sharpe_gross_annualized"], answer["sharpe_annualized"]);
  const json& costs = answer["costs"];
  EXPECT_NEAR(costs["trading"].get<double>(),
              5e-4 * answer["turnover_annualized"].get<double>() * 60.0 / 252.0, 1e-15);
  EXPECT_EQ(costs["short_fee"], 0.0);
  EXPECT_EQ(costs["financing"], 0.0);
  EXPECT_EQ(answer["total_cost"], costs["trading"]);
  ASSERT_EQ(answer["cost_curve"].size(), 11u);
  const json& own = answer["cost_curve"][1];
  EXPECT_NEAR(own["sharpe_annualized"].get<double>(), answer["sharpe_annualized"].get<double>(),
              1e-12);
  EXPECT_NEAR(own["low"].get<double>(), std::sqrt(252.0) * answer["sharpe_ci"][0].get<double>(),
              1e-11);
  std::vector<std::string> published = flags;
  published.insert(published.end(), {"--optimizer", "oscar"});
  EXPECT_EQ(backtest_answer(published)["rule"], "none");
  EXPECT_EQ(backtest_answer(published)["memory"], 1);
}

TEST_F(BacktestCommand, TakesCostsFromAFile) {
  std::string rates = "asset,bps\n";
  for (const std::string& ticker : returns_.tickers) rates += ticker + ",12\n";
  const std::string costs = folder_.file("costs.csv", rates);
  const std::vector<std::string> flags = {"--returns", file_, "--lookback", "20",
                                          "-k",        "2",   "--cost-bps", "12"};
  std::vector<std::string> by_file = flags;
  by_file.back() = costs;
  json one = backtest_answer(flags), many = backtest_answer(by_file);
  EXPECT_EQ(many["cost_bps"], costs);
  for (json* answer : {&one, &many}) {
    answer->erase("cost_bps");
    (*answer)["settings"].erase("cost-bps");
  }
  EXPECT_EQ(one, many);
  by_file.insert(by_file.end(), {"--short-fee", "0.03"});
  const std::string page = backtest_run(by_file).out;
  const std::string words = "fter the rates of costs.csv, 3.0 % a year on shorts";
  ASSERT_NE(page.find(words), std::string::npos) << page;
  EXPECT_EQ(page.find(words), page.rfind(words)) << "once is enough";
  EXPECT_EQ(page.find("the rates of"), page.rfind("the rates of"));
  EXPECT_THAT(page, HasSubstr(" annualised after costs ("));
}

TEST_F(BacktestCommand, PrintsTheSameBytesForAnyNumberOfThreads) {
  for (const char* optimizer : {"oscar", "swap", "equal"}) {
    std::vector<std::string> flags = {"--returns", file_,         "--lookback", "20",
                                      "--json",    "--optimizer", optimizer,    "--threads"};
    const auto with = [&](const char* threads) {
      std::vector<std::string> all = flags;
      all.emplace_back(threads);
      json answer = json::parse(backtest_run(all).out);
      answer["settings"].erase("threads");
      return answer.dump();
    };
    EXPECT_EQ(with("1"), with("2"));
    EXPECT_EQ(with("1"), with("5"));
  }
}

TEST_F(BacktestCommand, SaysWhatHappenedInWords) {
  const Finished run = backtest_run({"--returns", file_, "--lookback", "20", "-k", "2"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out,
              ::testing::StartsWith(
                  "rolling swap: 6 assets, 60 periods from " + date_of(20) + " to " + date_of(79) +
                  "\nAfter 5 basis points, the Sharpe ratio is above zero; these periods cannot "
                  "tell it from that of equal weights.\n\nSharpe "));
  for (const char* word :
       {"annualised after costs", "before costs", "with trades one period later", "95 %", "wealth",
        "drawdown", "turnover", "a position lasts", "exposure", "\ncosts        ", "break-even",
        "alpha", "beta", "rule         cost: trades must pay within"})
    EXPECT_THAT(run.out, HasSubstr(word));
  EXPECT_LE(std::count(run.out.begin(), run.out.end(), '\n'), 22) << "one screen";
}

// Foresight is above everything, its opposite below, and equal weights are themselves.
TEST_F(BacktestCommand, SaysFirstWhatItsIntervalsAllow) {
  const auto second_line = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"--returns", file_, "--lookback", "20"});
    const std::string out = backtest_run(flags).out;
    const std::size_t first = out.find('\n') + 1;
    return out.substr(first, out.find('\n', first) - first);
  };
  market::Panel oracle = returns_;
  for (Index t = 0; t + 1 < 80; ++t)
    for (Index j = 0; j < 6; ++j)
      oracle.values[static_cast<std::size_t>(t * 6 + j)] = returns_.matrix()(t + 1, j);
  const std::string known = folder_.file("known.csv", csv_of(oracle));
  for (double& value : oracle.values) value = -value;
  const std::string wrong = folder_.file("wrong.csv", csv_of(oracle));
  const auto signal = [](const std::string& file) {
    return std::vector<std::string>{"--framework", "signal", "--signal", file,         "-k",
                                    "3",           "--rule", "none",     "--cost-bps", "0"};
  };
  EXPECT_EQ(second_line(signal(known)),
            "Without costs, the Sharpe ratio is above zero and above that of equal weights.");
  EXPECT_EQ(second_line(signal(wrong)),
            "Without costs, the Sharpe ratio is below zero and below that of equal weights.");
  EXPECT_EQ(second_line({"--optimizer", "equal", "--short-fee", "0.01"}),
            "After 5 basis points, 1.0 % a year on shorts, these periods cannot tell the Sharpe "
            "ratio from zero; it is that of equal weights.");
  EXPECT_EQ(second_line({"--rule", "none", "--cost-bps", "9000"}).substr(0, 17),
            "It was ruined on ");
}

TEST_F(BacktestCommand, RepeatsItselfFromItsOwnConfiguration) {
  const std::vector<std::string> flags = {"backtest", "--returns",    file_,     "--lookback",
                                          "20",       "--stats-from", "30",      "--split",
                                          "40%",      "--framework",  "historic"};
  std::vector<std::string> print = flags, run = flags;
  print.emplace_back("--print-config");
  run.emplace_back("--json");
  const std::string config = folder_.file("run.toml", run_program(print).out);
  const Finished by_flags = run_program(run);
  const Finished by_file = run_program({"backtest", "--config", config, "--json"});
  ASSERT_EQ(by_file.exit_code, 0) << by_file.err;
  json a = json::parse(by_flags.out), b = json::parse(by_file.out);
  EXPECT_EQ(a, b);
}

TEST_F(BacktestCommand, AnOracleSignalWinsOnlyUnderTheDateItWasKnown) {
  market::Panel oracle = returns_;
  for (Index t = 0; t + 1 < 80; ++t)
    for (Index j = 0; j < 6; ++j)
      oracle.values[static_cast<std::size_t>(t * 6 + j)] = returns_.matrix()(t + 1, j);
  const std::string known = folder_.file("known.csv", csv_of(oracle));
  const auto sharpe = [&](const std::string& signal) {
    return backtest_answer({"--returns", file_, "--framework", "signal", "--signal", signal,
                            "--lookback", "20", "-k", "3", "--rule", "none"})["sharpe"]
        .get<double>();
  };
  EXPECT_GT(sharpe(known), 1.0);
  EXPECT_LT(std::abs(sharpe(file_)), 0.5) << "today's returns under today's date are a day late";
}

TEST_F(BacktestCommand, KeepsOtherPeoplesFolders) {
  const std::string out = folder_.path("mine");
  fs::create_directory(out);
  const std::vector<std::string> flags = {"--returns", file_, "--lookback", "20", "--out", out};
  EXPECT_EQ(backtest_run(flags).exit_code, 0) << "an empty folder is fine";
  EXPECT_EQ(backtest_run(flags).exit_code, 0) << "and so is a former result";
  std::ofstream(out + "/notes.txt") << "keep me";
  const Finished refused = backtest_run(flags);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("/mine is not empty and not a result of sharpen backtest (it "
                                     "holds notes.txt); choose another folder, or give --force to "
                                     "write into it, which keeps other files\n"));
  fs::remove(out + "/returns.csv");
  std::vector<std::string> forced = flags;
  forced.emplace_back("--force");
  EXPECT_EQ(backtest_run(forced).exit_code, 0);
  EXPECT_EQ(text_of(out + "/notes.txt"), "keep me");
  EXPECT_TRUE(fs::exists(out + "/returns.csv"));

  // Somebody's own metrics.json does not make a folder ours.
  const std::string other = folder_.path("other");
  fs::create_directory(other);
  std::ofstream(other + "/metrics.json") << "{\"command\": \"train\"}";
  EXPECT_EQ(backtest_run({"--returns", file_, "--lookback", "20", "--out", other}).exit_code, 2);
  EXPECT_EQ(text_of(other + "/metrics.json"), "{\"command\": \"train\"}");
}

TEST_F(BacktestCommand, ReplacesAFormerResultWhole) {
  const std::string out = folder_.path("run");
  const std::vector<std::string> flags = {"--returns", file_, "--lookback", "20", "--out", out};
  std::vector<std::string> first = flags;
  first.insert(first.end(), {"--benchmark", "A1", "--label", "first"});
  ASSERT_EQ(backtest_run(first).exit_code, 0);
  EXPECT_TRUE(fs::exists(out + "/benchmark.csv"));
  ASSERT_EQ(backtest_run(flags).exit_code, 0);
  EXPECT_FALSE(fs::exists(out + "/benchmark.csv")) << "nothing of the former result is left";
  EXPECT_EQ(json::parse(text_of(out + "/metrics.json"))["label"], "rolling swap");
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(fs::path(out).parent_path()))
    ++entries;
  EXPECT_EQ(entries, 2u) << "the panel and the result; no temporary folder";
}

TEST_F(BacktestCommand, LeavesNothingBehindWhenItFails) {
  const std::string out = folder_.path("never/run");
  EXPECT_EQ(
      backtest_run({"--returns", file_, "--lookback", "79", "--min-history", "90", "--out", out})
          .exit_code,
      2);
  EXPECT_FALSE(fs::exists(folder_.path("never")));
  expect_refused_backtest(
      {"--returns", file_, "--out", file_},
      "out = " + fs::canonical(file_).string() + " is a file, not a folder; choose another name");
  const Finished inside = backtest_run({"--returns", file_, "--out", file_ + "/run"});
  EXPECT_EQ(inside.exit_code, 2);
  EXPECT_THAT(inside.err, HasSubstr("is not a folder"));
}

// Whether anything in the folder has a name of this beginning.
bool holds_any(const std::string& folder, const std::string& beginning) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().starts_with(beginning)) return true;
  return false;
}

// Wherever the signal falls: the folder is whole and the exit code 0, or there is no folder.
TEST_F(BacktestCommand, SlowCtrlCLeavesAWholeResultOrNone) {
  const std::string large = folder_.file("large.csv", csv_of(random_panel(400, 60, 73)));
  for (const int wait_ms : {1, 20, 60, 150, 400}) {
    const std::string out = folder_.path("cut" + std::to_string(wait_ms));
    const pid_t child =
        start_program({"backtest", "--returns", large, "--lookback", "50", "--out", out});
    ASSERT_GT(child, 0);
    usleep(static_cast<useconds_t>(wait_ms) * 1000);
    kill(child, SIGINT);
    int status = 0;
    waitpid(child, &status, 0);
    const bool finished = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    // Stopped at a decision, or killed before the first one.
    if (!finished) {
      EXPECT_TRUE(WIFEXITED(status) ? WEXITSTATUS(status) == 1 : WTERMSIG(status) == SIGINT);
    }
    EXPECT_EQ(fs::exists(out), finished) << wait_ms;
    if (fs::exists(out)) {
      EXPECT_EQ(json::parse(text_of(out + "/metrics.json"))["command"], "backtest");
      EXPECT_TRUE(fs::exists(out + "/returns.csv") && fs::exists(out + "/weights_last.csv"));
    }
  }
  EXPECT_FALSE(holds_any(folder_.path(""), ".")) << "no temporary folder";
}

// The hardest moment: the files are being written. Too late to stop, so it must not be cut short.
TEST_F(BacktestCommand, SlowCtrlCWhileTheResultIsWrittenLetsItBeWritten) {
  constexpr Index rows = 600, assets = 400;  // some megabytes of weights
  const std::string wide = folder_.file("wide.csv", csv_of(random_panel(rows, assets, 79)));
  const std::string out = folder_.path("late");
  const pid_t child = start_program({"backtest", "--returns", wide, "--optimizer", "equal",
                                     "--min-history", "0", "--threads", "1", "--out", out});
  ASSERT_GT(child, 0);
  int status = 0;
  pid_t ended = 0;
  while (ended == 0 && !holds_any(folder_.path(""), ".late.")) {
    usleep(50);
    ended = waitpid(child, &status, WNOHANG);
  }
  if (ended == 0) {
    kill(child, SIGINT);
    waitpid(child, &status, 0);
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(json::parse(text_of(out + "/metrics.json"))["command"], "backtest");
  EXPECT_EQ(rows_of(text_of(out + "/weights.csv")).size(), static_cast<std::size_t>(rows * assets));
  EXPECT_FALSE(holds_any(folder_.path(""), ".")) << "no temporary folder";
}

TEST_F(BacktestCommand, RefusesWhatHasNoMeaning) {
  const std::vector<std::string> base = {"--returns", file_, "--lookback", "20"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return more;
  };
  expect_refused_backtest(with({"--signal", file_}),
                          "--signal has no meaning here; it goes with --framework signal");
  expect_refused_backtest(with({"--framework", "signal"}),
                          "framework = signal needs predictions; give --signal FILE");
  expect_refused_backtest(with({"--historic-risk", "train"}),
                          "--historic-risk has no meaning here; it goes with --framework historic");
  expect_refused_backtest(with({"--force"}), "--force has no meaning here; it goes with --out DIR");
  expect_refused_backtest(
      with({"--min-history", "0"}),
      "min-history = 0 goes with optimizer = equal only; swap needs 2 rows of history at "
      "least");
  expect_refused_backtest(with({"--rebalance", "0"}), "rebalance = 0 is outside [1, 1000000000]");
  expect_refused_backtest(with({"--cost-bps", "-1"}), "cost-bps = -1 is outside [0, inf)");
  expect_refused_backtest(
      with({"--stats-from", "81"}),
      "stats-from = 81 is outside [1, 80], the rows of the returns; write dates as "
      "YYYY-MM-DD");
  expect_refused_backtest(
      {"--returns", file_},
      "nothing to trade: the panel has 80 returns and the first period to hold would be "
      "row 101 (after 100 rows of history); give more rows, or a shorter --lookback, "
      "--min-history or --split");
  expect_refused_backtest(with({"-k", "7"}), "k = 7 is outside [1, 6]; there are 6 assets");
  EXPECT_EQ(backtest_run({}).exit_code, 2);
  EXPECT_EQ(backtest_run(with({"--framework", "signal", "--signal", "no-such-file.csv"})).exit_code,
            2);
}

TEST_F(BacktestCommand, SaysThatCleaningLeftTheBenchmarkOut) {
  market::Panel holed = returns_;
  for (Index t = 0; t < 6; ++t) backtest::testing::at(holed, t, 2) = std::nan("");
  const std::string file = folder_.file("holed.csv", csv_of(holed));
  expect_refused_backtest(
      {"--returns", file, "--lookback", "20", "--benchmark", "A2"},
      "benchmark = A2 is left out by cleaning (starts on " + date_of(6) +
          "); choose dates where it is complete, another --max-gap or --on-suspect, or "
          "another benchmark");
}

TEST_F(BacktestCommand, WarnsWhenEqualWeightsIgnoreAFlag) {
  const json answer = backtest_answer({"--returns", file_, "--optimizer", "equal", "-k", "3",
                                       "--sizing", "gross", "--min-history", "0"});
  ASSERT_EQ(answer["warnings"].size(), 1u);
  EXPECT_EQ(answer["warnings"][0],
            "optimizer = equal holds 1/n of every asset: -k, --sizing has no effect");
  EXPECT_EQ(answer["mean_cardinality"], 6.0);
}

TEST_F(BacktestCommand, FollowsAssetsThatStartAndEnd) {
  market::Panel prices = random_panel(60, 4, 75);
  for (Index j = 0; j < 4; ++j) {
    double price = 100.0;
    for (Index t = 0; t < 60; ++t)
      price = backtest::testing::at(prices, t, j) =
          price * (1.0 + backtest::testing::at(prices, t, j));
  }
  for (Index t = 0; t < 10; ++t) backtest::testing::at(prices, t, 1) = std::nan("");
  for (Index t = 40; t < 60; ++t) backtest::testing::at(prices, t, 2) = std::nan("");
  const std::string file = folder_.file("prices.csv", csv_of(prices));
  const std::string out = folder_.path("run");
  const json answer = backtest_answer({"--prices", file, "--universe", "available", "--optimizer",
                                       "equal", "--min-history", "0", "--out", out});
  EXPECT_EQ(answer["n_assets"], 4);
  std::map<std::string, std::map<std::string, double>> weights;
  for (const Row& row : rows_of(text_of(out + "/weights.csv")))
    weights[row[0]][row[1]] = std::stod(row[2]);
  EXPECT_EQ(weights[date_of(1)].size(), 3u);
  EXPECT_EQ(weights[date_of(1)].count("A1"), 0u);
  EXPECT_EQ(weights[date_of(11)].count("A1"), 0u) << "its first return is of row 11";
  EXPECT_EQ(weights[date_of(12)].size(), 4u);
  // Five rows are a gap, in which nobody trades it; the sixth is the end, which nobody knew.
  EXPECT_EQ(weights[date_of(45)].count("A2"), 1u);
  EXPECT_EQ(weights[date_of(46)].size(), 3u) << "sold at its last price";
  for (const Row& row : rows_of(text_of(out + "/trades.csv")))
    if (row[1] == "A2") {
      EXPECT_FALSE(row[0] > date_of(40) && row[0] < date_of(46)) << row[0];
    }
  const json complete =
      backtest_answer({"--prices", file, "--optimizer", "equal", "--min-history", "0"});
  EXPECT_EQ(complete["n_assets"], 2);
  EXPECT_EQ(complete["cleaning"]["dropped"].size(), 2u);
}

}  // namespace
}  // namespace sharpen
