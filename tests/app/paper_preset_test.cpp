// `--preset paper` has the values that the paper states: in the printed settings, in the network
// that is trained, in the split, and in the numbers of names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sharpen/base/settings.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using testing::answer_of;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using testing::run_program;

TEST(PaperPreset, HasTheStatedValues) {
  const std::string config =
      run_program({"backtest", "--framework", "dfl", "--preset", "paper", "--print-config"}).out;
  for (const char* line : {"lookback = 100\n",
                           "horizon = 1\n",
                           "hidden = [\"512\", \"256\"]\n",
                           "learning-rate = 0.001\n",
                           "batch = 64\n",
                           "alpha = 0.5\n",
                           "topk = \"bisection\"\n",
                           "mixing = \"literal\"\n",
                           "decision-loss = \"return\"\n",
                           "score = \"cholesky\"\n",
                           "reoptimization = \"masked\"\n",
                           "sizing = \"budget\"\n",
                           "optimizer = \"oscar\"\n",
                           "network = \"joint\"\n",
                           "ensemble = 1\n",
                           "validation = 0\n",
                           "warm-start = 0\n",
                           "historic-risk = \"rolling\"\n",
                           "cost-bps = 0\n",
                           "net = \"positive\"\n",
                           "# shrinkage is not set: 0.10 from windows",
                           "# split is not set: 80% for historic, pfl"})
    EXPECT_THAT(config, HasSubstr(line));
}

TEST(PaperPreset, TrainsThePapersNetworkOnTheFirstFourFifths) {
  const Folder folder;
  const std::string prices = folder.path("prices.csv");
  constexpr long n = 47, T = 100, rows = 300;  // 301 prices of as many names as EuroStoxx 50's
  ASSERT_EQ(run_program({"simulate", "--assets", "47", "--days", "301", "--out", prices}).exit_code,
            0);
  const json training = answer_of({"train", "--prices", prices, "--preset", "paper", "--epochs",
                                   "1", "--out", folder.path("m.sharpen"), "--json"});
  EXPECT_EQ(training["parameters"], T * n * 512 + 512 + 512 * 256 + 256 + 256 * n + n);
  EXPECT_EQ(training["samples"], rows - T);
  EXPECT_EQ(training["validation_samples"], 0);
  EXPECT_EQ(training["k"], 5);
  EXPECT_EQ(answer_of({"inspect", folder.path("m.sharpen"), "--json"})["settings"]["shrinkage"],
            0.10);

  const json test = answer_of({"backtest", "--prices", prices, "--preset", "paper", "--framework",
                               "pfl", "--sizing", "volatility", "--epochs", "1", "--json"});
  EXPECT_EQ(test["training_rows"], 240);
  EXPECT_EQ(test["n_periods"], 60);
  EXPECT_EQ(test["max_cardinality"], 5);
}

// k = round(rho N) for rho = 10, 15, 20 % in EuroStoxx 50, FTSE 100, KOSPI 200 and Nikkei 225.
TEST(PaperPreset, CountsTheNamesOfThePapersMarkets) {
  const struct {
    Index n, k[3];
  } markets[] = {{47, {5, 7, 9}}, {93, {9, 14, 19}}, {162, {16, 24, 32}}, {208, {21, 31, 42}}};
  constexpr const char* shares[] = {"10%", "15%", "20%"};
  for (const auto& market : markets)
    for (int i = 0; i < 3; ++i) {
      const auto value = settings::parse(settings::find("k"), shares[i]);
      EXPECT_EQ(std::get<settings::CountOrShare>(value).of(market.n, "k"), market.k[i])
          << market.n << " " << shares[i];
    }
}

}  // namespace
}  // namespace sharpen
