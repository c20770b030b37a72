// An optimizer that the library has never heard of, through every front door: one class and one
// row are all it takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "backtest/panels.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/command/backtest.hpp"
#include "sharpen/command/predict.hpp"
#include "sharpen/command/report.hpp"
#include "sharpen/command/solve.hpp"
#include "sharpen/command/study.hpp"
#include "sharpen/solve/registry.hpp"
#include "study/small_study.hpp"
#include "support/models.hpp"

namespace sharpen {
namespace {

using settings::Values;
using ::testing::HasSubstr;

// The k names with the largest mu, equally weighted.
class Largest : public solve::Optimizer {
 public:
  void decide(const solve::Problem& problem, solve::Answer& out) override {
    std::vector<Index>& K = out.portfolio.support;
    K.resize(static_cast<std::size_t>(problem.n));
    std::iota(K.begin(), K.end(), Index{0});
    std::ranges::stable_sort(K, std::greater(),
                             [&](Index i) { return problem.mu[static_cast<std::size_t>(i)]; });
    K.resize(static_cast<std::size_t>(problem.k));
    std::ranges::sort(K);
    out.portfolio.outcome = {.status = Status::ok};
    out.portfolio.weights.assign(static_cast<std::size_t>(problem.n), 0.0);
    for (const Index i : K)
      out.portfolio.weights[static_cast<std::size_t>(i)] = 1.0 / static_cast<double>(problem.k);
    out.iterations = 1;
  }
};

class Toy : public ::testing::Test {
 protected:
  const solve::RegisteredOptimizer toy_{
      {.name = "toy",
       .label = "Toy",
       .sentence = "the k largest expected returns, equally weighted",
       .iterates = true,
       .ignores = settings::of_scale,
       .ignores_since = "weighs its names equally",
       .make = [](const solve::OptimizerSettings&) { return std::make_unique<Largest>(); }}};
};

Values values_of(settings::Command command,
                 const std::vector<std::pair<std::string, std::string>>& flags) {
  Values values(command);
  for (const auto& [name, text] : flags) values.set_flag(name, text);
  return values;
}

market::MemoryPanel in_memory(const market::Panel& returns) {
  return {.raw = {.file = "returns", .kind = market::PanelKind::returns, .panel = returns}};
}

TEST_F(Toy, IsAChoiceOfTheSettingAndInItsDocumentation) {
  EXPECT_THAT(settings::find("optimizer").all_choices(), ::testing::Contains("toy"));
  EXPECT_THAT(settings::options_markdown(), HasSubstr("`equal`, `toy` | `swap`"));
  EXPECT_EQ(values_of(settings::backtest, {{"optimizer", "toy"}}).text("optimizer"), "toy");
}

TEST_F(Toy, Solves) {
  const market::Panel returns = backtest::testing::random_panel(60, 8, 1);
  const Values values = values_of(settings::solve, {{"optimizer", "toy"},
                                                    {"k", "2"},
                                                    {"lookback", "50"},
                                                    {"explain", "true"},
                                                    {"sizing", "gross"}});
  const command::Solution solution =
      command::solve_answer(values, {.panel = in_memory(returns)}, Log());
  EXPECT_EQ(solution.held().size(), 2u);
  for (const Index i : solution.held()) {
    EXPECT_EQ(solution.portfolio.weights[static_cast<std::size_t>(i)], 0.5);
    ASSERT_NE(solution.reason(i), nullptr);
  }
  EXPECT_THAT(solution.warnings, ::testing::Contains(HasSubstr("toy weighs its names equally")));
  const auto answer = nlohmann::json::parse(command::solve_json(solution));
  EXPECT_EQ(answer["optimizer"], "toy");
  EXPECT_EQ(answer["iterations"], 1);
}

TEST_F(Toy, IsWalkedForward) {
  const market::Panel returns = backtest::testing::random_panel(90, 6, 2);
  const Values values = values_of(settings::backtest, {{"optimizer", "toy"},
                                                       {"k", "3"},
                                                       {"lookback", "30"},
                                                       {"replications", "10"},
                                                       {"sizing", "gross"}});
  const command::BacktestAnswer answer =
      command::backtest_answer(values, {.panel = in_memory(returns)}, Log(), {});
  for (const backtest::Position& position : answer.result.run.weights_of(0))
    EXPECT_EQ(position.weight, 1.0 / 3.0);
  EXPECT_EQ(answer.result.run.iterations, answer.result.run.n_decisions);
  EXPECT_EQ(answer.label, "rolling toy");
  EXPECT_THAT(answer.warnings,
              ::testing::Contains(HasSubstr("optimizer = toy weighs its names equally: ")));
  EXPECT_EQ(nlohmann::json::parse(command::backtest_json(answer))["iterations"],
            answer.result.run.iterations);
}

TEST_F(Toy, DecidesForAModel) {
  market::Panel returns = backtest::testing::random_panel(40, 3, 3);
  returns.tickers = {"AAA", "BBB", "CCC"};
  const Values values =
      values_of(settings::predict, {{"optimizer", "toy"}, {"k", "2"}, {"max-age", "100000"}});
  const command::Prediction found = command::predict_answer(
      values, {.model = testing::made_model({}), .panel = in_memory(returns)}, Log());
  EXPECT_EQ(found.held().size(), 2u);
  for (const Index i : found.held()) EXPECT_EQ(found.weight(i), 0.5);
  EXPECT_EQ(nlohmann::json::parse(command::predict_json(found))["optimizer"], "toy");
}

TEST_F(Toy, IsAMethodOfAStudyAndItsReport) {
  const study::Folder folder;
  const std::string config = folder / "toy.toml", out = folder / "toy";
  study::write_bytes(config,
                     "optimizers = [\"toy\"]\nframeworks = [\"historic\"]\nk = [2]\nlookback = 15\n"
                     "[[market]]\nname = \"a\"\nsimulate = { assets = 5, days = 100, seed = 1 }\n");
  Values values(settings::study);
  values.read_toml_file(config);
  values.set_flag("config", config);
  values.set_flag("out", out);
  const command::StudyAnswer answer = command::study_answer(values, Log(), {}, {});
  EXPECT_EQ(answer.counts().done, answer.counts().cells);
  ASSERT_EQ(answer.results.methods.size(), 1u);
  EXPECT_EQ(answer.results.methods[0].name, "historic-toy");
  EXPECT_EQ(answer.results.methods[0].label, "Historic Toy");
  const command::ReportAnswer report =
      command::report_answer(values_of(settings::report, {{"study", out}}), {});
  EXPECT_THAT(report.text, HasSubstr("Historic Toy"));
}

// What the layer of PyTorch calls to decide.
TEST_F(Toy, DecidesForBatches) {
  const market::Panel returns = backtest::testing::random_panel(30, 4, 4);
  const auto risk =
      risk::from_windows(returns.matrix(), 20, std::vector<Index>{20, 30}, {}, Threads(1));
  const std::vector<double> mu = {1.0, 2.0, 3.0, 4.0, 4.0, 3.0, 2.0, 1.0};
  const auto portfolios =
      solve::decide_batch(solve::optimizer_named("toy"), {}, 2, *risk, std::vector<Index>{0, 1},
                          ConstMat(mu.data(), 2, 4), Threads(1));
  EXPECT_THAT(portfolios.at(0).support, ::testing::ElementsAre(2, 3));
  EXPECT_THAT(portfolios.at(1).support, ::testing::ElementsAre(0, 1));
}

}  // namespace
}  // namespace sharpen
