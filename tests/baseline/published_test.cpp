// The published results of mSSRM-PGA: 36 figures (docs/baselines.md).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sharpen/backtest/policies.hpp"
#include "sharpen/backtest/walk_forward.hpp"
#include "support/files.hpp"

namespace sharpen::baseline {
namespace {

struct Published {
  const char* data;
  Index lookback;
  Index k;
  const char* sharpe;  // monthly, as printed
  const char* wealth;  // likewise
};

void PrintTo(const Published& cell, std::ostream* out) {
  *out << cell.data << " T = " << cell.lookback << ", m = " << cell.k;
}

class PublishedMssrm : public ::testing::TestWithParam<Published> {};

// Decided at the end of every month from the fifth on, from a window that grows to T months; the
// months before count as cash from the second on.
TEST_P(PublishedMssrm, IsReproducedToThePrintedDigits) {
  const Published& cell = GetParam();
  const std::string folder = testing::data_folder();
  const std::string file = folder + "/" + cell.data + "_monthly_gross.csv";
  if (folder.empty() || !std::filesystem::exists(file))
    GTEST_SKIP() << "there is no " << cell.data << " in the folder of test data";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  if (cell.k != 10 || cell.lookback != 60)
    GTEST_SKIP() << "under sanitizers one window and one m of each data set";
#endif
  constexpr auto kind = market::PanelKind::gross_returns;
  const market::Panel returns = market::simple_returns(market::read_panel(file, kind), kind);
  solve::OptimizerSettings settings;
  settings.k = {.count = cell.k, .percent = 0.0};
  const backtest::OptimizerPolicy policy(std::make_unique<backtest::RollingMean>(),
                                         solve::optimizer_named("mssrm-long"), settings);
  backtest::WalkSettings walk;
  walk.lookback = cell.lookback;
  walk.min_history = 5;
  walk.stats_from = 1;
  const backtest::Run run = backtest::walk_forward(returns, policy, walk, Threads(2));
  const backtest::Metrics metrics = backtest::metrics(run.track(12.0));
  EXPECT_EQ(fmt::format("{:.4f}", metrics.sharpe), cell.sharpe);
  EXPECT_EQ(fmt::format("{:.2f}", metrics.final_wealth), cell.wealth);
  EXPECT_EQ(run.n_decisions, 618);
  for (const backtest::PeriodStatus status : run.status)
    EXPECT_TRUE(status == backtest::PeriodStatus::ok || status == backtest::PeriodStatus::idle);
}

INSTANTIATE_TEST_SUITE_P(NeurIPS2024, PublishedMssrm,
                         ::testing::Values(Published{"ff25", 60, 10, "0.2481", "615.34"},
                                           Published{"ff25", 60, 15, "0.2481", "614.71"},
                                           Published{"ff25", 60, 20, "0.2481", "614.70"},
                                           Published{"ff25", 120, 10, "0.2472", "640.89"},
                                           Published{"ff25", 120, 15, "0.2474", "643.44"},
                                           Published{"ff25", 120, 20, "0.2474", "643.44"},
                                           Published{"ff49", 60, 10, "0.2151", "285.02"},
                                           Published{"ff49", 60, 15, "0.2135", "262.54"},
                                           Published{"ff49", 60, 20, "0.2134", "262.06"},
                                           Published{"ff49", 120, 10, "0.2041", "188.38"},
                                           Published{"ff49", 120, 15, "0.2040", "172.95"},
                                           Published{"ff49", 120, 20, "0.2041", "173.27"},
                                           Published{"ff100", 60, 10, "0.2290", "527.09"},
                                           Published{"ff100", 60, 15, "0.2289", "522.28"},
                                           Published{"ff100", 60, 20, "0.2285", "515.50"},
                                           Published{"ff100", 120, 10, "0.2391", "635.65"},
                                           Published{"ff100", 120, 15, "0.2381", "597.67"},
                                           Published{"ff100", 120, 20, "0.2384", "603.05"}));

}  // namespace
}  // namespace sharpen::baseline
