// `sharpen train` and `sharpen backtest --framework pfl|dfl`: models that are whole or not there,
// trainings that go on where they were killed, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sharpen/base/random.hpp"
#include "sharpen/market/panel.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::answer_of;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_program;
using testing::start_program;
using testing::text_of;

class TrainCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new Folder;
    prices_ = folder_->path("prices.csv");
    const Finished run = run_program(
        {"simulate", "--assets", "12", "--days", "260", "--seed", "4", "--out", prices_});
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }
  static void TearDownTestSuite() { delete folder_; }

  // `flags` and `more`, which wins where both name an option.
  static std::vector<std::string> with(std::vector<std::string> flags,
                                       const std::vector<std::string>& more) {
    for (std::size_t i = 1; i + 1 < flags.size();) {
      const bool replaced =
          flags[i].starts_with("-") && std::find(more.begin(), more.end(), flags[i]) != more.end();
      const auto at = flags.begin() + static_cast<std::ptrdiff_t>(i);
      if (replaced)
        flags.erase(at, at + 2);
      else
        ++i;
    }
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  }
  // A training of tenths of a second.
  static std::vector<std::string> train(const std::vector<std::string>& more) {
    return with({"train", "--prices", prices_, "--lookback", "30", "--hidden", "16,8", "--batch",
                 "16", "--epochs", "4", "--ensemble", "2", "-k", "3"},
                more);
  }
  static std::vector<std::string> backtest(const std::vector<std::string>& more) {
    return with({"backtest", "--json", "--prices", prices_, "--lookback", "30", "--hidden", "16,8",
                 "--batch", "16", "--epochs", "3", "--ensemble", "2", "-k", "3"},
                more);
  }
  static std::string path(const std::string& name) { return folder_->path(name); }

  static Folder* folder_;
  static std::string prices_;
};

Folder* TrainCommand::folder_ = nullptr;
std::string TrainCommand::prices_;

void expect_refused_training(const std::vector<std::string>& flags, const std::string& part) {
  testing::expect_refused(flags, HasSubstr(part));
}

TEST_F(TrainCommand, WritesAModelAndSaysWhatItIs) {
  const std::string model = path("said.sharpen");
  const json answer =
      answer_of(train({"--out", model, "--json", "--horizon", "1", "--validation", "0.2"}));
  EXPECT_EQ(answer["command"], "train");
  EXPECT_EQ(answer["schema_version"], 1);
  EXPECT_EQ(answer["framework"], "dfl");
  EXPECT_EQ(answer["n"], 12);
  EXPECT_EQ(answer["k"], 3);
  EXPECT_EQ(answer["members"].size(), 2u);
  EXPECT_EQ(answer["samples"].get<int>() + answer["validation_samples"].get<int>(), 259 - 30);
  EXPECT_EQ(answer["validation_samples"], 46);
  EXPECT_TRUE(fs::exists(model));
  EXPECT_FALSE(fs::exists(model + ".partial"));
  for (const auto& [share, said] : {std::pair{"0.2", "validation   from "},
                                    std::pair{"0", "validation   none: all epochs were run"}}) {
    const Finished text = run_program(train({"--out", model, "--validation", share}));
    EXPECT_EQ(text.exit_code, 0);
    EXPECT_THAT(text.out, HasSubstr(said));
  }
}

TEST_F(TrainCommand, WithAlphaZeroIsPredictionBitForBit) {
  const std::string pfl = path("pfl.sharpen"), dfl = path("dfl0.sharpen"),
                    one = path("one.sharpen");
  EXPECT_EQ(run_program(train({"--framework", "pfl", "--out", pfl})).exit_code, 0);
  EXPECT_EQ(run_program(train({"--alpha", "0", "--out", dfl, "--threads", "1"})).exit_code, 0);
  EXPECT_EQ(text_of(pfl), text_of(dfl));
  EXPECT_EQ(run_program(train({"--alpha", "0.5", "--out", one})).exit_code, 0);
  EXPECT_NE(text_of(pfl), text_of(one));
}

TEST_F(TrainCommand, SlowKilledAtAnyMomentGoesOnToTheSameBytes) {
  const std::string whole = path("whole.sharpen"), killed = path("killed.sharpen");
  const auto training = [&](const std::string& out, std::vector<std::string> more = {}) {
    more = with({"--out", out, "--hidden", "64,32", "--epochs", "6"}, more);
    return train(more);
  };
  EXPECT_EQ(run_program(training(whole)).exit_code, 0);
  Random random(8);
  int kills = 0;
  for (int attempt = 0; attempt < 8; ++attempt) {
    const pid_t child = start_program(training(killed, {"--resume"}));
    ASSERT_GT(child, 0);
    usleep(static_cast<useconds_t>(2000 + random.below(120000)));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    kills += WIFSIGNALED(status) ? 1 : 0;
    // What is called a model is one.
    if (fs::exists(killed)) {
      EXPECT_EQ(text_of(killed), text_of(whole));
      EXPECT_EQ(run_program({"inspect", killed}).exit_code, 0);
      fs::remove(killed);
    }
  }
  EXPECT_GT(kills, 0);
  const Finished last = run_program(training(killed, {"--resume"}));
  EXPECT_EQ(last.exit_code, 0) << last.err;
  EXPECT_EQ(text_of(killed), text_of(whole));
  EXPECT_FALSE(fs::exists(killed + ".partial"));
}

TEST_F(TrainCommand, SlowCtrlCKeepsTheEpochsThatAreDone) {
  const std::string model = path("cut.sharpen");
  const pid_t child =
      start_program(train({"--out", model, "--epochs", "100000", "--patience", "100000"}));
  ASSERT_GT(child, 0);
  for (int wait = 0; wait < 60000 && !fs::exists(model + ".partial/member-1"); ++wait) usleep(1000);
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  EXPECT_FALSE(fs::exists(model));
  EXPECT_TRUE(fs::exists(model + ".partial/member-1"));
  expect_refused_training(train({"--out", model}), "go on with --resume, or remove the folder");
  expect_refused_training(train({"--out", model, "--resume"}), "another training");  // fewer epochs
}

TEST_F(TrainCommand, KeepsNothingOfATrainingThatDivergesAtOnce) {
  const std::string model = path("diverged.sharpen");
  const Finished run = run_program(train({"--out", model, "--learning-rate", "1e30"}));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("epoch 1, batch 2"));
  EXPECT_THAT(run.err, HasSubstr("smaller --learning-rate"));
  EXPECT_FALSE(fs::exists(model));
  EXPECT_FALSE(fs::exists(model + ".partial"));
}

TEST_F(TrainCommand, KeepsTheLastGoodModelOfOneThatDivergesLater) {
  const std::string model = path("late.sharpen");
  const Finished run =
      run_program(train({"--out",         model,      "--learning-rate",  "1",
                         "--alpha",       "1",        "--warm-start",     "0",
                         "--epochs",      "400",      "--validation",     "0",
                         "--ensemble",    "1",        "--network",        "joint",
                         "--mixing",      "balanced", "--reoptimization", "restricted",
                         "--train-block", "0"}));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("holds the last good model"));
  EXPECT_EQ(run_program({"inspect", model}).exit_code, 0);
}

TEST_F(TrainCommand, DryRunSaysWhatItWouldTakeAndWritesNothing) {
  const json plan = answer_of(train(
      {"--dry-run", "--json", "--inputs", "returns", "--horizon", "1", "--validation", "0.2"}));
  EXPECT_EQ(plan["samples"].get<int>() + plan["validation_samples"].get<int>(), 259 - 30);
  EXPECT_EQ(plan["members"], 2);
  EXPECT_EQ(plan["parameters"], 31 * 16 + 17 * 8 + 9);
  EXPECT_GT(plan["minutes_at_most"].get<double>(), 0.0);
  EXPECT_GT(plan["gigabytes"].get<double>(), 0.0);
}

TEST_F(TrainCommand, RefusesWhatDoesNotFit) {
  const std::string out = path("refused.sharpen");
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    expect_refused_training(train(with({"--out", out}, more)), part);
    EXPECT_FALSE(fs::exists(out));
    EXPECT_FALSE(fs::exists(out + ".partial"));
  };
  refused({"--batch", "500"}, "fewer than one batch of 500");
  refused({"-k", "13"}, "k = 13");
  refused({"--alpha", "1.5"}, "alpha = 1.5 is outside [0, 1]");
  refused({"--lookback", "400"}, "lookback = 400 needs 401 rows");
  refused({"--lookback", "all"}, "lookback = all has no meaning for a network");
  refused({"--hidden", "16,x"}, "hidden = x");
  refused({"--framework", "rolling"}, "rolling trains nothing; use pfl or dfl");
  refused({"--universe", "available", "--network", "joint"},
          "universe = available cannot go with network = joint");
  refused({"--sizing", "budget", "--net", "any"}, "net");
  expect_refused_training(train({}), "give --out FILE");
  expect_refused_training(train({"--out", path("no/such/folder/m")}), "cannot be made");
  expect_refused_training(train({"--out", path("")}), "is a folder");
}

TEST_F(TrainCommand, PresetPaperSetsWhatIsNotGiven) {
  const auto config = [&](const std::vector<std::string>& more) {
    return run_program(with({"train", "--print-config", "--preset", "paper"}, more)).out;
  };
  const std::string paper = config({});
  for (const char* line : {"mixing = \"literal\"", "sizing = \"budget\"", "score = \"cholesky\"",
                           "reoptimization = \"masked\"", "ensemble = 1", "validation = 0",
                           "alpha = 0.5", "learning-rate = 0.001", "network = \"joint\"",
                           "batch = 64", "warm-start = 0", "topk = \"bisection\""})
    EXPECT_THAT(paper, HasSubstr(line));
  EXPECT_THAT(config({"--ensemble", "3"}), HasSubstr("ensemble = 3"));
  EXPECT_THAT(config({"--ensemble", "3"}), HasSubstr("mixing = \"literal\""));
}

TEST_F(TrainCommand, BacktestTrainsOnTheTrainingPartAndReportsRegret) {
  for (const std::string framework : {"pfl", "dfl"}) {
    const json answer = answer_of(backtest({"--framework", framework}));
    EXPECT_EQ(answer["framework"], framework);
    EXPECT_EQ(answer["n_periods"], 259 - 207);
    EXPECT_EQ(answer["trainings"].size(), 1u);
    EXPECT_EQ(answer["trainings"][0]["members"].size(), 2u);
    // Foresight earns more, and regret is the difference.
    EXPECT_GT(answer["oracle_return"].get<double>(), 0.0);
    EXPECT_GT(answer["regret"].get<double>(), 0.0);
    EXPECT_NEAR(answer["regret_relative"].get<double>(),
                answer["regret"].get<double>() / answer["oracle_return"].get<double>(), 1e-12);
  }
  const json again = answer_of(backtest({"--framework", "dfl", "--retrain", "20"}));
  EXPECT_EQ(again["trainings"].size(), 3u);
}

TEST_F(TrainCommand, BacktestOfAModelIsTheBacktestThatTrainsIt) {
  const std::string model = path("model.sharpen"), cut = path("cut.csv");
  const json own = answer_of(backtest({"--framework", "dfl"}));
  const std::string last = own["trainings"][0]["to"];
  EXPECT_EQ(run_program(train({"--out", model, "--to", last, "--epochs", "3"})).exit_code, 0);
  const json given = answer_of(
      {"backtest", "--prices", prices_, "--framework", "dfl", "--model", model, "--json"});
  for (const char* key : {"sharpe", "final_wealth", "turnover", "regret", "n_periods"})
    EXPECT_EQ(own[key], given[key]) << key;
}

TEST_F(TrainCommand, BacktestNeverTestsAModelOnWhatItHasSeen) {
  const std::string model = path("seen.sharpen");
  EXPECT_EQ(run_program(train({"--out", model})).exit_code, 0);
  const std::vector<std::string> base = {"backtest", "--prices", prices_, "--framework",
                                         "dfl",      "--model",  model};
  expect_refused_training(base, "nothing is left to test it on");
  EXPECT_EQ(run_program(train({"--out", model, "--to", "2015-09-30"})).exit_code, 0);
  expect_refused_training(with(base, {"--split", "50%"}), "returns it was trained on");
  expect_refused_training(with(base, {"--retrain", "10"}), "retrain has no meaning");
  expect_refused_training(with(base, {"--lookback", "20"}), "lookback must be 30");
  const auto replaced = [&](const std::string& framework) {
    std::vector<std::string> flags = base;
    flags[4] = framework;
    return flags;
  };
  expect_refused_training(replaced("pfl"), "trained as dfl");
  expect_refused_training(replaced("rolling"), "--model has no meaning here");
}

TEST_F(TrainCommand, BacktestRefusesSettingsThatOnlyNetworksListenTo) {
  expect_refused_training({"backtest", "--prices", prices_, "--alpha", "0.5"},
                          "--alpha has no meaning here; it goes with --framework pfl or dfl");
  expect_refused_training(
      backtest({"--framework", "dfl", "--universe", "available", "--network", "joint"}),
      "cannot go with network = joint");
  expect_refused_training(backtest({"--framework", "dfl", "--optimizer", "equal"}), "equal");
  expect_refused_training(backtest({"--framework", "dfl", "--min-history", "5"}), "shorter than");
}

TEST_F(TrainCommand, SoftDecisionsAreDense) {
  const json soft = answer_of(backtest({"--framework", "dfl", "--decision", "soft"}));
  EXPECT_GT(soft["mean_cardinality"].get<double>(), 3.5);
  const json exact = answer_of(backtest({"--framework", "dfl"}));
  EXPECT_LE(exact["mean_cardinality"].get<double>(), 3.0);
}

TEST_F(TrainCommand, NeverReplacesWhatItReads) {
  const std::string prices = path("own.csv"), before = text_of(prices_);
  fs::copy_file(prices_, prices);
  std::vector<std::string> flags = train({"--out", prices});
  flags[2] = prices;
  expect_refused_training(flags, "--out would replace what --prices reads");
  EXPECT_EQ(text_of(prices), before);
  expect_refused_training(train({"--out", prices}), "is there already, and is no model");
  EXPECT_EQ(text_of(prices), before);
  const std::string model = path("kept.sharpen");
  EXPECT_EQ(run_program(train({"--out", model})).exit_code, 0);
  const std::string bytes = text_of(model);
  expect_refused_training({"predict", "--model", model, "--prices", prices, "--out", model},
                          "--out would replace what --model reads");
  expect_refused_training({"predict", "--model", model, "--prices", prices, "--trades", prices},
                          "--trades would replace what --prices reads");
  expect_refused_training({"predict", "--model", model, "--prices", prices, "--out", path("w.csv"),
                           "--trades", path("./w.csv")},
                          "--out and --trades are the same file");
  fs::create_symlink("w.csv", path("l.csv"));
  expect_refused_training({"predict", "--model", model, "--prices", prices, "--out", path("w.csv"),
                           "--trades", path("l.csv")},
                          "--out and --trades are the same file");
  const std::string held = path("held.csv");
  EXPECT_EQ(run_program({"predict", "--model", model, "--prices", prices, "--out", held}).exit_code,
            0);
  // Weights lead from day to day: they are read whole before they are replaced.
  EXPECT_EQ(run_program({"predict", "--model", model, "--prices", prices, "--previous", held,
                         "--out", held})
                .exit_code,
            0);
  EXPECT_FALSE(fs::exists(path("w.csv")));
  EXPECT_EQ(text_of(model), bytes);
  EXPECT_EQ(text_of(prices), before);
  EXPECT_EQ(run_program(train({"--out", model})).exit_code, 0) << "a model may be replaced";
}

TEST_F(TrainCommand, ABacktestByForceKeepsThePricesInItsFolder) {
  const std::string folder = path("results"), prices = folder + "/returns.csv";
  fs::create_directory(folder);
  fs::copy_file(prices_, prices);
  expect_refused_training({"backtest", "--prices", prices, "--out", folder, "--force"},
                          "--out would replace what --prices reads");
  EXPECT_EQ(text_of(prices), text_of(prices_));
}

TEST_F(TrainCommand, RecordsWhatAGivenModelDecided) {
  const std::string model = path("recorded.sharpen");
  EXPECT_EQ(run_program(train({"--out", model, "--to", "2015-09-30", "--net", "any"})).exit_code,
            0);
  const std::vector<std::string> base = {"backtest",    "--json", "--prices", prices_,
                                         "--framework", "dfl",    "--model",  model};
  const json answer = answer_of(base);
  EXPECT_EQ(answer["settings"]["k"], "3");
  EXPECT_EQ(answer["settings"]["lookback"], "30");
  EXPECT_EQ(answer["settings"]["net"], "any");
  EXPECT_EQ(answer["settings"]["ensemble"], 2);
  expect_refused_training(with(base, {"--epochs", "3"}),
                          "--epochs has no meaning here: the model has been");
}

TEST_F(TrainCommand, RefusesTrainingsThatCannotDecide) {
  const std::string out = path("undecided.sharpen");
  expect_refused_training(train({"--out", out, "--decision-loss", "sharpe", "--batch", "1"}),
                          "needs a batch of 2");
  expect_refused_training(
      {"backtest", "--prices", prices_, "--decision", "soft", "--optimizer", "sdr"},
      "decision = soft cannot go with optimizer = sdr");
}

TEST_F(TrainCommand, ReadsAFileOfCostsAsABacktestDoes) {
  const market::Panel panel = market::read_panel(prices_, market::PanelKind::prices);
  std::string rates = "asset,bps,date\n";
  for (const std::string& ticker : panel.tickers) rates += ticker + ",5,\n";
  const std::string& first = panel.tickers[0];
  for (const auto& [text, fault] : std::vector<std::pair<std::string, std::string>>{
           {"asset,bps\nXX,3\nYY,4\n", "c.csv:2: there is no asset \"XX\""},
           {"asset,bps\n", "c.csv: asset \"" + first + "\" has no line"},
           {"asset,bps\n" + first + ",5\n", "has no line: add one"}}) {
    const std::string costs = folder_->file("c.csv", text), out = folder_->path("refused.sharpen");
    const Finished trained = run_program(train({"--cost-bps", costs, "--out", out}));
    EXPECT_EQ(trained.exit_code, 2) << text;
    EXPECT_THAT(trained.err, HasSubstr(fault));
    EXPECT_FALSE(fs::exists(out));
    const Finished tested = run_program(
        {"backtest", "--prices", prices_, "--lookback", "30", "-k", "3", "--cost-bps", costs});
    EXPECT_EQ(tested.err, trained.err);
  }
  // Half of the returns at 5, then one of 12 assets at 17; a line of the future is not in force.
  const std::size_t returns = panel.dates.size() - 1;
  const std::string costs =
      folder_->file("c.csv", rates + first + ",17," + panel.dates[1 + returns / 2] + "\n" + first +
                                 ",9999,2099-01-01\n");
  const json answer = answer_of(train({"--cost-bps", costs, "--epochs", "1", "--ensemble", "1",
                                       "--json", "--out", folder_->path("charged.sharpen")}));
  const double mean =
      5.0 + static_cast<double>(returns - returns / 2) / static_cast<double>(returns);
  EXPECT_NEAR(answer["cost_bps"].get<double>(), mean, 1e-8);
  EXPECT_EQ(answer["train_cost_bps"], answer["cost_bps"]);
}

}  // namespace
}  // namespace sharpen
