// Known answers: real moments, full sample, no shrinkage.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "select/naive.hpp"
#include "support/real_moments.hpp"

namespace sharpen::select::testing {
namespace {

using layer::Net;
using sharpen::testing::view;

struct Answer {
  const char* data;
  Index k;
  double full;
  double best;
  Support support;
  double oscar;  // 0 where none is known
  Support oscar_support;
};

void PrintTo(const Answer& answer, std::ostream* out) {
  *out << answer.data << " k = " << answer.k << (answer.oscar > 0.0 ? "" : " negated");
}

class KnownAnswers : public ::testing::TestWithParam<Answer> {};

TEST_P(KnownAnswers, AreReachedToNineDigits) {
  const Answer& answer = GetParam();
  const auto data = sharpen::testing::real_moments(answer.data);
  if (!data) GTEST_SKIP() << answer.data << " is not in " << sharpen::testing::data_folder();
  const bool negated = answer.oscar == 0.0;
  const VectorXd mu = negated ? VectorXd(-data->mu) : data->mu;
  const Status expected = negated ? Status::neutral_face : Status::ok;

  EXPECT_NEAR(full_sharpe(*exact_risk(data->Sigma), 0, view(mu), Net::positive), answer.full,
              6e-10);
  const Portfolio swap = run(data->Sigma, mu, answer.k, Optimizer::swap);
  EXPECT_NEAR(swap.sharpe, answer.best, 6e-10);
  EXPECT_EQ(swap.support, answer.support);
  EXPECT_EQ(swap.outcome.status, expected);
  EXPECT_EQ(swap.outcome.neutral_first, negated);
  EXPECT_NEAR(sharpe_of(data->Sigma, mu, swap), swap.sharpe, 1e-12);
  const Portfolio greedy = run(data->Sigma, mu, answer.k, Optimizer::greedy);
  EXPECT_LE(greedy.sharpe, swap.sharpe * (1 + 1e-12));
  EXPECT_EQ(greedy.support, naive_greedy(data->Sigma, mu, answer.k, Net::positive));
  if (negated) return;
  const Portfolio oscar = run(data->Sigma, mu, answer.k, Optimizer::oscar);
  EXPECT_NEAR(oscar.sharpe, answer.oscar, 6e-10);
  EXPECT_EQ(oscar.support, answer.oscar_support);
}

INSTANTIATE_TEST_SUITE_P(
    Design, KnownAnswers,
    ::testing::Values(
        Answer{"port1", 3, .334686597, .231408710, {2, 4, 28}, .206307644, {4, 25, 28}},
        Answer{
            "port1", 5, .334686597, .260939244, {2, 4, 8, 17, 28}, .212732505, {1, 3, 4, 25, 28}},
        Answer{"ff25", 3, .396524971, .307542142, {6, 14, 17}, .244864425, {0, 14, 20}},
        Answer{
            "ff25", 5, .396524971, .347594105, {6, 14, 17, 20, 24}, .286586319, {0, 1, 14, 20, 24}},
        Answer{"ff100", 3, .731103579, .447786414, {0, 8, 70}, .307958014, {1, 2, 8}},
        Answer{"port1", 3, .313302865, .189539689, {4, 15, 28}, 0.0, {}},
        Answer{"ff25", 3, .262503972, .176697204, {14, 20, 24}, 0.0, {}},
        Answer{"ff25", 5, .262503972, .206071531, {6, 7, 14, 20, 24}, 0.0, {}}));

TEST(KnownAnswers, OneAssetWithANegatedSignalIsCash) {
  for (const char* name : {"port1", "ff25"}) {
    const auto data = sharpen::testing::real_moments(name);
    if (!data) GTEST_SKIP() << name << " is not in " << sharpen::testing::data_folder();
    for (const Optimizer o :
         {Optimizer::oscar, Optimizer::symmetric, Optimizer::greedy, Optimizer::swap})
      EXPECT_EQ(run(data->Sigma, -data->mu, 1, o).outcome.status, Status::no_signal);
  }
}

}  // namespace
}  // namespace sharpen::select::testing
