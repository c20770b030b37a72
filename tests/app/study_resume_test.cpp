// Studies that are interrupted, disturbed and gone on with, by the program itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sharpen/study/run.hpp"
#include "study/child.hpp"
#include "study/small_study.hpp"
#include "support/program.hpp"

namespace sharpen::study {
namespace {

using ::testing::AllOf;
using testing::Finished;
using ::testing::HasSubstr;
using testing::run_program;

// One market of a few assets; networks of a few neurons.
constexpr const char* kMethods = R"(
[[method]]
name = "predicts"
framework = "pfl"
optimizer = "oscar"
training = "paper"
epochs = 2
hidden = "8"
[[method]]
name = "predicts-swap"
framework = "pfl"
optimizer = "swap"
training = "paper"
epochs = 2
hidden = "8"
[[method]]
name = "decides"
framework = "dfl"
optimizer = "swap"
epochs = 2
ensemble = 1
hidden = "8"
[[method]]
name = "rolls"
framework = "rolling"
optimizer = "greedy"
)";

std::string description(const std::string& market) {
  return "k = [\"20%\", \"3\"]\nlookback = 20\n[[market]]\nname = \"m\"\n" + market + kMethods;
}

constexpr const char* kSimulated = "simulate = { assets = 10, days = 260, seed = 3 }\n";

class Resume : public ::testing::Test {
 protected:
  std::vector<std::string> command(const std::string& out, std::vector<std::string> more = {},
                                   const std::string& seeds = "2") {
    std::vector<std::string> all = {"study",
                                    "--config",
                                    (folder_ / "s.toml").string(),
                                    "--out",
                                    (folder_ / out).string(),
                                    "--json",
                                    "--seeds",
                                    seeds};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  void describe(const std::string& market = kSimulated) {
    write_bytes(folder_ / "s.toml", description(market));
  }
  nlohmann::json answer(const Finished& finished, int exit_code = 0) {
    EXPECT_EQ(finished.exit_code, exit_code) << finished.err;
    return nlohmann::json::parse(finished.out, nullptr, false);
  }
  std::filesystem::path db(const std::string& out) const { return folder_ / out / "study.db"; }

  Folder folder_;
};

// Everything that was computed, to the bit; how long it took is not.
std::vector<std::vector<std::uint64_t>> computed(const std::filesystem::path& file) {
  std::vector<std::vector<std::uint64_t>> all;
  for (Cell cell : read_store(file).cells) {
    EXPECT_EQ(cell.state, CellState::done) << cell.reason;
    cell.seconds = 0.0;
    all.push_back(fingerprint(cell));
  }
  return all;
}

TEST_F(Resume, SlowKilledAtAnyMomentItFindsTheSameBits) {
  describe();
  ASSERT_EQ(run_program(command("whole")).exit_code, 0);
  std::filesystem::create_directory(folder_ / "killed");
  const auto run = [&] {
    settings::Values values(settings::study);
    values.set_flag("config", (folder_ / "s.toml").string());
    values.set_flag("seeds", "2");
    values.read_toml(description(kSimulated), "s.toml");
    const Plan plan = plan_study(grid_of(values), Log());
    Store store(db("killed"), plan.results);
    run_study(plan, store, {.threads = 2}, Log());
  };
  Random random(11);
  int kills = 0;
  for (bool complete = false; !complete; ++kills) {
    ASSERT_LT(kills, 60);
    Child child([&, calls = static_cast<int>(random.uniform() * (40.0 + 10.0 * kills))](auto) {
      die_in_a_call_of_sqlite(calls);
      run();
    });
    EXPECT_EQ(child.hear_all(), "");
    complete = child.end() == 0;
  }
  EXPECT_GT(kills, 5);
  EXPECT_EQ(computed(db("killed")), computed(db("whole")));
  const auto again = answer(run_program(command("killed")));
  EXPECT_EQ(again["done"], 14);
  EXPECT_EQ(again["computed"], 0);
  EXPECT_EQ(again["trainings"], 0);
}

// Longer than SQLite's programs are used to wait.
TEST_F(Resume, SlowAReaderOfHalfAMinuteDoesNotEndIt) {
  describe();
  ASSERT_EQ(run_program(command("out", {}, "1")).exit_code, 0);
  Child reader([&](auto say) {
    sqlite3* database = nullptr;
    sqlite3_stmt* rows = nullptr;
    sqlite3_open(db("out").c_str(), &database);
    sqlite3_prepare_v2(database, "SELECT * FROM cells", -1, &rows, nullptr);
    say(sqlite3_step(rows) == SQLITE_ROW ? "x" : "?");
    ::sleep(35);
    sqlite3_finalize(rows);
  });
  ASSERT_EQ(reader.hear(), 'x');
  const Finished run = run_program(command("out"));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("another program has it open; waiting until it lets go"));
}

TEST_F(Resume, AnyNumberOfThreadsAndLittleMemoryFindTheSameBits) {
  describe();
  ASSERT_EQ(run_program(command("one", {"--threads", "1"})).exit_code, 0);
  ASSERT_EQ(run_program(command("five", {"--threads", "5"})).exit_code, 0);
  ASSERT_EQ(run_program(command("small", {"--threads", "3", "--max-memory", "0.001"})).exit_code,
            0);
  EXPECT_EQ(computed(db("five")), computed(db("one")));
  EXPECT_EQ(computed(db("small")), computed(db("one")));
}

TEST_F(Resume, APredictorIsTrainedOnceForAllThatCanUseIt) {
  describe();
  const auto found = answer(run_program(command("out")));
  EXPECT_EQ(found["cells"], 14);  // 2 numbers of names, 3 methods x 2 seeds and one without
  // One network per seed serves both optimizers and both numbers of names; DFL trains for each.
  EXPECT_EQ(found["trainings"], 2 + 2 * 2);
}

TEST_F(Resume, ACellIsTheBacktestOfItsSettings) {
  describe();
  ASSERT_EQ(run_program(command("out")).exit_code, 0);
  const Results found = read_store(db("out"));
  const std::string prices = (folder_ / "prices.csv").string();
  ASSERT_EQ(
      run_program({"simulate", "--assets", "10", "--days", "260", "--seed", "3", "--out", prices})
          .exit_code,
      0);
  for (const std::size_t at : {0, 2, 4, 6}) {
    const Cell& cell = found.cells[at];
    const Method& method = found.methods[static_cast<std::size_t>(cell.method)];
    write_bytes(folder_ / "method.toml", method.settings);
    std::vector<std::string> words = {"backtest",   "--config", (folder_ / "method.toml").string(),
                                      "--prices",   prices,     "-k",
                                      cell.k_given, "--json",   "--replications",
                                      "100"};
    if (cell.seed) words.insert(words.end(), {"--seed", std::to_string(*cell.seed)});
    const Finished finished = run_program(words);
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
    const auto metrics = nlohmann::json::parse(finished.out);
    EXPECT_EQ(metrics["sharpe"].get<double>(), cell.metrics.sharpe) << method.name;
    EXPECT_EQ(metrics["final_wealth"].get<double>(), cell.metrics.final_wealth) << method.name;
  }
}

TEST_F(Resume, MoreSeedsComputeOnlyWhatIsNew) {
  describe();
  ASSERT_EQ(run_program(command("out")).exit_code, 0);
  ASSERT_EQ(run_program(command("all", {}, "1-3")).exit_code, 0);
  const auto more = answer(run_program(command("out", {}, "1-3")));
  EXPECT_EQ(more["cells"], 20);
  EXPECT_EQ(more["computed"], 6);
  EXPECT_EQ(more["trainings"], 3);
  EXPECT_EQ(computed(db("out")), computed(db("all")));
}

TEST_F(Resume, ChangedPricesAreNoticed) {
  const std::string prices = (folder_ / "prices.csv").string();
  ASSERT_EQ(
      run_program({"simulate", "--assets", "10", "--days", "260", "--seed", "3", "--out", prices})
          .exit_code,
      0);
  describe("prices = \"" + prices + "\"\n");
  ASSERT_EQ(run_program(command("out")).exit_code, 0);
  const std::string before = bytes_of(db("out"));
  std::string text = bytes_of(prices);
  const auto digit = text.find_last_of("12345678");
  text[digit] = static_cast<char>(text[digit] + 1);
  write_bytes(prices, text);
  const Finished refused = run_program(command("out"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("market \"m\" has changed since this study began"),
                                 HasSubstr(prices), HasSubstr("give another --out")));
  EXPECT_EQ(bytes_of(db("out")), before);
}

TEST_F(Resume, ChangedSettingsAreNoticed) {
  describe();
  ASSERT_EQ(run_program(command("out")).exit_code, 0);
  const Finished refused = run_program(command("out", {"--shrinkage", "0.25"}));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("has other settings than when this study began"),
                                 HasSubstr("shrinkage")));
  const Finished planned = run_program(command("out", {"--shrinkage", "0.25", "--dry-run"}));
  EXPECT_EQ(planned.exit_code, 2) << planned.out;
  EXPECT_THAT(planned.err, HasSubstr("has other settings than when this study began"));
  const Finished anew =
      run_program(command("out", {"--shrinkage", "0.25", "--dry-run", "--force"}));
  EXPECT_EQ(answer(anew)["done"], 0);
}

TEST_F(Resume, ACellThatFailsDoesNotStopTheOthers) {
  write_bytes(folder_ / "s.toml", description(kSimulated) +
                                      "[[method]]\nname = \"fails\"\nframework = \"historic\"\n"
                                      "lookback = 230\n");
  const auto found = answer(run_program(command("out")), 1);
  EXPECT_EQ(found["done"], 14);
  EXPECT_EQ(found["failed"], 2);
  ASSERT_EQ(found["failures"].size(), 2U);
  EXPECT_EQ(found["failures"][0]["method"], "fails");
  EXPECT_NE(found["failures"][0]["reason"], "");
  const auto listed =
      answer(run_program({"study", "--list", "--json", "--out", (folder_ / "out").string()}));
  EXPECT_EQ(listed["failed"], 2);
  EXPECT_EQ(answer(run_program(command("out")), 1)["computed"], 0);
  EXPECT_EQ(answer(run_program(command("out", {"--retry"})), 1)["computed"], 2);
}

TEST_F(Resume, TwoProcessesDoNotShareAStore) {
  describe();
  Child writer([&](auto say) {
    std::filesystem::create_directory(folder_ / "out");
    const Store store(db("out"), small_plan());
    say("x");
    ::pause();
  });
  ASSERT_EQ(writer.hear(), 'x');
  for (const char* more : {"--retry", "--force"}) {
    const Finished second = run_program(command("out", {more}));
    EXPECT_EQ(second.exit_code, 2);
    EXPECT_THAT(second.err, HasSubstr("is writing this study; wait for it"));
  }
}

TEST_F(Resume, AFullDiskIsAnErrorAndAnIntactStore) {
  describe();
  ASSERT_EQ(run_program(command("whole")).exit_code, 0);
  Child limited([&](auto say) {
    const auto size = std::filesystem::file_size(db("whole")) * 3 / 4;
    const rlimit limit = {.rlim_cur = size, .rlim_max = RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Finished finished = run_program(command("full"));
    say(std::to_string(finished.exit_code) + finished.err);
  });
  EXPECT_THAT(limited.hear_all(), AllOf(::testing::StartsWith("1"), HasSubstr("cannot be written"),
                                        HasSubstr("run the same command again")));
  const Results found = read_store(db("full"));
  const auto is_done = [](const Cell& cell) { return cell.state == CellState::done; };
  EXPECT_LT(std::count_if(found.cells.begin(), found.cells.end(), is_done), 14);
  ASSERT_EQ(run_program(command("full")).exit_code, 0);
  EXPECT_EQ(computed(db("full")), computed(db("whole")));
}

}  // namespace
}  // namespace sharpen::study
