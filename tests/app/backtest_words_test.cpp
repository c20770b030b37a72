// What the page of `sharpen backtest` says where there is little to say: no signal, no trades, and
// settings that nothing listens to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backtest/panels.hpp"
#include "sharpen/market/panel.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_program;

class BacktestWords : public ::testing::Test {
 protected:
  BacktestWords() : returns_(backtest::testing::random_panel(80, 6, 11)) {
    file_ = folder_.file("r.csv", market::panel_csv(returns_));
  }

  std::string page(std::vector<std::string> more) const {
    more.insert(more.begin(), {"backtest", "--returns", file_, "--lookback", "20", "-k", "3"});
    const testing::Finished run = run_program(more);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.out;
  }
  // Expects nothing of the rows before `begin` and from `end` on.
  std::string signal(Index begin, Index end) const {
    market::Panel panel = returns_;
    for (Index t = 0; t < panel.rows(); ++t)
      for (Index j = 0; j < panel.n(); ++j)
        if (t < begin || t >= end) panel.values[at(t * panel.n() + j)] = 0.0;
    return folder_.file("signal.csv", market::panel_csv(panel));
  }
  std::string by_signal(Index begin, Index end, const std::vector<std::string>& more) const {
    std::vector<std::string> flags = {"--framework",      "signal",   "--signal",
                                      signal(begin, end), "--memory", "1"};
    flags.insert(flags.end(), more.begin(), more.end());
    return page(flags);
  }

  testing::Folder folder_;
  market::Panel returns_;
  std::string file_;
};

TEST_F(BacktestWords, WithoutASignalARuleKeepsWhatWasHeld) {
  const std::string cash = "no_signal (cash: nothing worth holding)";
  const std::string kept = "no_signal (nothing worth trading for: what was held is kept)";
  EXPECT_THAT(by_signal(0, 50, {"--rule", "none"}), HasSubstr(cash));
  EXPECT_THAT(by_signal(0, 50, {"--rule", "cost", "--cost-bps", "0"}), HasSubstr(cash));
  for (const char* rule : {"cost", "band"}) {
    const std::string all = by_signal(0, 50, {"--rule", rule});
    EXPECT_THAT(all, HasSubstr(kept)) << rule;
    EXPECT_THAT(all, Not(HasSubstr("cash:"))) << rule;
    EXPECT_THAT(by_signal(30, 50, {"--rule", rule}),
                HasSubstr("no_signal (nothing worth trading for: what was held is kept in 29, "
                          "cash in "))
        << rule;
  }
}

TEST_F(BacktestWords, SaysThatNothingWasTraded) {
  const std::string never =
      "\nNothing was traded: everything stayed in cash, and there is no Sharpe ratio.\n";
  EXPECT_THAT(page({"--delay", "1000"}), HasSubstr(never));
  EXPECT_THAT(page({"--expected-sharpe", "1e-9"}), HasSubstr(never));
  EXPECT_THAT(page({"--expected-sharpe", "1e-9"}), Not(HasSubstr("cannot tell")));
  EXPECT_THAT(by_signal(0, 50, {"--rule", "none", "--stats-from", "60"}),
              HasSubstr("\nNothing was held in these periods: there is no Sharpe ratio.\n"));
  EXPECT_THAT(page({}), Not(HasSubstr("Nothing was")));
}

TEST_F(BacktestWords, SaysWhatNothingListensTo) {
  const auto warned = [&](const std::string& flag, const std::string& why) {
    return HasSubstr("--" + flag + " has no effect here; it goes with " + why);
  };
  EXPECT_THAT(page({"--rule", "none", "--expected-sharpe", "2"}),
              warned("expected-sharpe", "--rule cost"));
  EXPECT_THAT(page({"--rule", "band", "--holding-horizon", "2"}),
              warned("holding-horizon", "--rule cost"));
  EXPECT_THAT(page({"--optimizer", "equal", "--memory", "3"}),
              warned("memory", "other optimizers: equal holds 1/n of every asset"));
  EXPECT_THAT(page({"--memory", "3", "--expected-sharpe", "2", "--holding-horizon", "9"}),
              Not(HasSubstr("has no effect")));
}

}  // namespace
}  // namespace sharpen
