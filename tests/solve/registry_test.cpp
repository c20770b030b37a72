#include "sharpen/solve/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "sharpen/base/error.hpp"
#include "support/allocations.hpp"
#include "support/problems.hpp"

namespace sharpen::solve {
namespace {

using testing::Problems;
using testing::RowMatrix;
using testing::view;

// A window of T returns over n assets, its mean, and a risk model with every part.
struct Given {
  Given(unsigned seed, Index n, Index T)
      : returns(Problems(seed).returns(T, n)), mean(returns.colwise().mean().transpose()) {
    risk = risk::from_windows(view(returns), T, std::span(&T, 1), {}, Threads(1));
  }
  Problem problem(Index k) const {
    return {.n = returns.cols(),
            .k = k,
            .mu = ConstVec(mean.data(), static_cast<std::size_t>(mean.size())),
            .risk = risk.get(),
            .window = view(returns)};
  }

  RowMatrix returns;
  Eigen::VectorXd mean;
  std::unique_ptr<risk::Risk> risk;
};

class Nothing : public Optimizer {
 public:
  void decide(const Problem& problem, Answer& out) override {
    out.portfolio.outcome.status = Status::no_signal;
    out.portfolio.support.clear();
    out.portfolio.weights.assign(static_cast<std::size_t>(problem.n), 0.0);
  }
};

OptimizerInfo nothing(std::string name) {
  return {.name = std::move(name),
          .label = "Nothing",
          .sentence = "holds cash",
          .make = [](const OptimizerSettings&) { return std::make_unique<Nothing>(); }};
}

TEST(OptimizerRegistry, RowsSayWhatHelpAndReportsNeed) {
  std::set<std::string> names;
  for (const OptimizerInfo* row : optimizers()) {
    EXPECT_TRUE(names.insert(row->name).second) << row->name;
    EXPECT_FALSE(row->label.empty()) << row->name;
    EXPECT_FALSE(row->sentence.empty()) << row->name;
    EXPECT_EQ(row->ignores == 0, row->ignores_since.empty()) << row->name;
    EXPECT_GT(row->seconds(100.0, 10.0), 0.0) << row->name;
    EXPECT_EQ(&optimizer_named(row->name), row);
  }
  EXPECT_THAT(optimizer_names(),
              ::testing::ElementsAre("oscar", "symmetric", "greedy", "swap", "pairs", "exact",
                                     "mssrm", "mssrm-long", "sdr", "equal"));
}

TEST(OptimizerRegistry, ExplainingDoesNotChangeTheFormOfTheRisk) {
  for (const OptimizerInfo* row : optimizers())
    for (const Index n : {120, 130, 140, 160, 200, 400}) {
      const auto settings = [&](bool explain) {
        return risk_settings_for(*row, 0.1, risk::Form::automatic, false, explain, n, 100);
      };
      EXPECT_EQ(settings(true).form, settings(false).form) << row->name << ' ' << n;
      EXPECT_NE(settings(true).form, risk::Form::automatic);
      const risk::Parts parts = settings(true).parts;
      EXPECT_TRUE(row->score == layer::Score::cholesky ? parts.lower : parts.root) << row->name;
    }
}

TEST(OptimizerRegistry, SentencesAreThoseOfTheDocumentation) {
  std::ifstream file(std::string(SHARPEN_SOURCE_DIR) + "/docs/solve.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const OptimizerInfo* row : optimizers()) {
    std::string sentence = row->sentence;
    for (std::size_t at = 0; (at = sentence.find('|', at)) != std::string::npos; at += 2)
      sentence.insert(at, 1, '\\');
    EXPECT_THAT(page.str(), ::testing::HasSubstr("| `" + row->name + "` | " + sentence));
  }
}

// Every row keeps what it promises of its answers, on the same problem.
TEST(OptimizerRegistry, AnswersAreWhatTheRowSays) {
  const Given given(3, 12, 60);
  for (const OptimizerInfo* row : optimizers()) {
    Answer answer;
    row->make({})->decide(given.problem(4), answer);
    EXPECT_EQ(answer.iterations.has_value(), row->iterates) << row->name;
    EXPECT_EQ(answer.certified.has_value(), row->proves) << row->name;
    EXPECT_NE(answer.portfolio.outcome.status, Status::invalid_input) << row->name;
    EXPECT_EQ(answer.portfolio.weights.size(), 12u) << row->name;
    EXPECT_LE(answer.portfolio.support.size(), row->ignores_setting("k") ? 12u : 4u) << row->name;
  }
}

TEST(OptimizerRegistry, ARowIsThereAsLongAsItsObject) {
  EXPECT_EQ(find_optimizer("nothing"), nullptr);
  {
    const RegisteredOptimizer mine(nothing("nothing"));
    EXPECT_EQ(optimizer_named("nothing").label, "Nothing");
    EXPECT_EQ(optimizer_names().back(), "nothing");
    EXPECT_THAT(names_of_optimizers([](const OptimizerInfo& row) { return row.softens; }, " or "),
                "oscar, symmetric, greedy, swap or nothing");
  }
  EXPECT_EQ(find_optimizer("nothing"), nullptr);
}

TEST(OptimizerRegistry, RefusesRowsThatCannotBeTold) {
  const auto add = [](OptimizerInfo row) { const RegisteredOptimizer mine(std::move(row)); };
  EXPECT_THROW(add(nothing("swap")), InputError);
  EXPECT_THROW(add(nothing("")), InputError);
  EXPECT_THROW(add({.name = "unmade", .label = "", .sentence = "", .make = {}}), InputError);
  try {
    static_cast<void>(optimizer_named("swop"));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "optimizer = swop is none of oscar, symmetric, greedy, swap, pairs, exact, mssrm, "
                 "mssrm-long, "
                 "sdr, equal");
  }
}

TEST(Optimizers, AllocateNothingAfterTheFirstProblem) {
  const Given given(5, 20, 80);
  for (const char* name : {"oscar", "symmetric", "greedy", "swap", "mssrm", "mssrm-long"}) {
    const auto optimizer = optimizer_named(name).make({});
    Problem problem = given.problem(5);
    if (!optimizer_named(name).needs.risk) problem.risk = nullptr;
    Answer answer;
    for (int warm = 0; warm < 2; ++warm) optimizer->decide(problem, answer);
    const long before = testing::allocation_count();
    optimizer->decide(problem, answer);
    EXPECT_EQ(testing::allocation_count(), before) << name;
  }
}

TEST(Optimizers, TakeProblemsOfAnySizeInAnyOrder) {
  const Given small(7, 8, 40), large(8, 15, 40);
  for (const OptimizerInfo* row : optimizers()) {
    const auto one = row->make({});
    for (const Given* given : {&small, &large, &small})
      for (const Index k : {2, 5}) {
        Answer again, fresh;
        one->decide(given->problem(k), again);
        row->make({})->decide(given->problem(k), fresh);
        EXPECT_EQ(again.portfolio.weights, fresh.portfolio.weights) << row->name;
      }
  }
}

TEST(DecideBatch, HasTheBitsOfProblemsDecidedAlone) {
  const Given given(9, 15, 60);
  const RowMatrix mu = Problems(10).returns(7, 15);
  const std::vector<Index> samples(7, 0);
  for (const OptimizerInfo* row : optimizers()) {
    if (!row->serves_models) continue;
    const auto batch = decide_batch(*row, {}, 4, *given.risk, samples, view(mu), Threads(3));
    for (Index i = 0; i < 7; ++i) {
      Answer alone;
      Problem problem = given.problem(4);
      problem.mu = view(mu).row(i);
      row->make({})->decide(problem, alone);
      EXPECT_EQ(batch[static_cast<std::size_t>(i)].weights, alone.portfolio.weights) << row->name;
    }
  }
  EXPECT_THROW(
      decide_batch(optimizer_named("swap"), {}, 16, *given.risk, samples, view(mu), Threads(1)),
      InputError);
}

TEST(Optimizers, StopWithinADecisionWhenTheyAreTold) {
  const Given given(9, 12, 40);
  for (const std::string_view name : {"greedy", "swap", "sdr", "mssrm", "mssrm-long"}) {
    Problem problem = given.problem(3);
    Index asked = 0;
    problem.stop = [&] { return ++asked > 1; };
    Answer answer;
    EXPECT_THROW(optimizer_named(std::string(name)).make({})->decide(problem, answer), Interrupted)
        << name;
    EXPECT_EQ(asked, 2) << name;
  }
}

TEST(Optimizers, SdrBoundsSignalsWhoseSquaresVanish) {
  const Given given(10, 6, 40);
  const Eigen::VectorXd mu = 1e-203 / given.mean.cwiseAbs().maxCoeff() * given.mean;
  Problem problem = given.problem(2);
  problem.mu = view(mu);
  Answer answer;
  optimizer_named("sdr").make({})->decide(problem, answer);
  ASSERT_GT(answer.portfolio.sharpe, 0.0);
  EXPECT_GE(answer.bound->sharpe, answer.portfolio.sharpe);
}

}  // namespace
}  // namespace sharpen::solve
