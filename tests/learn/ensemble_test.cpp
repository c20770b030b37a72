// Several members, one signal: the mean of their directions of unit risk.
#include "sharpen/learn/ensemble.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/risk/risk.hpp"
#include "support/linear_algebra.hpp"
#include "support/problems.hpp"

namespace sharpen::learn {
namespace {

using Eigen::VectorXd;
using testing::Problems;
using testing::RowMatrix;
using testing::view;

constexpr double kShrinkage = 0.1;

// A market of n assets, its risk in either form, and the same Sigma as a plain matrix.
struct Market {
  Market(unsigned seed, Index n, Index rows, risk::Form form)
      : problems(seed), returns(problems.returns(rows, n)) {
    Sigma = testing::naive_covariance(returns, kShrinkage);
    const Index end = rows;
    risk = risk::from_windows(view(returns), rows, std::span(&end, 1),
                              {.shrinkage = kShrinkage, .form = form, .parts = {}}, Threads(1));
  }
  Index n() const { return returns.cols(); }
  RowMatrix members(Index count) { return 1e-3 * problems.matrix(count, n()); }

  Problems problems;
  RowMatrix returns;
  Eigen::MatrixXd Sigma;
  std::unique_ptr<risk::Risk> risk;
};

struct Combined {
  VectorXd signal;
  double agreement = 0.0;
};

Combined combine(const Market& market, const RowMatrix& mu) {
  Combined out{.signal = VectorXd(market.n())};
  Combiner combiner(*market.risk);
  out.agreement = combiner.run(*market.risk, 0, view(mu), view(out.signal));
  return out;
}

// The mean direction, from its definition.
VectorXd mean_direction(const Market& market, const RowMatrix& mu) {
  VectorXd mean = VectorXd::Zero(market.n());
  for (Index m = 0; m < mu.rows(); ++m) {
    const VectorXd row = mu.row(m);
    const VectorXd a = testing::solve_spd(market.Sigma, row);
    mean += a / std::sqrt(row.dot(a)) / static_cast<double>(mu.rows());
  }
  return mean;
}

class Combination : public ::testing::TestWithParam<risk::Form> {};
INSTANTIATE_TEST_SUITE_P(Forms, Combination,
                         ::testing::Values(risk::Form::dense, risk::Form::low_rank));

TEST_P(Combination, LeadsToTheMeanOfTheUnitRiskDirections) {
  Market market(1, 24, 40, GetParam());
  const RowMatrix mu = market.members(5);
  const Combined combined = combine(market, mu);
  const VectorXd ybar = mean_direction(market, mu);
  const VectorXd found = testing::solve_spd(market.Sigma, combined.signal);
  const double scale = found.norm() / ybar.norm();
  EXPECT_LT((found - scale * ybar).norm(), 1e-9 * found.norm());
  EXPECT_NEAR(combined.agreement, std::sqrt(ybar.dot(market.Sigma * ybar)), 1e-10);
}

TEST_P(Combination, OfOneMemberIsItsExpectationBitForBit) {
  Market market(2, 12, 30, GetParam());
  const RowMatrix mu = market.members(1);
  const Combined combined = combine(market, mu);
  for (Index i = 0; i < market.n(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(combined.signal[i]),
              std::bit_cast<std::uint64_t>(mu(0, i)));
  EXPECT_EQ(combined.agreement, 1.0);
}

TEST_P(Combination, OfMembersThatDifferInSizeOnlyIsFullAgreementAtTheirMeanSharpe) {
  Market market(3, 12, 30, GetParam());
  RowMatrix mu = market.members(3);
  mu.row(1) = 8.0 * mu.row(0);
  mu.row(2) = 0.5 * mu.row(0);
  const Combined combined = combine(market, mu);
  EXPECT_NEAR(combined.agreement, 1.0, 1e-12);
  EXPECT_LE(combined.agreement, 1.0);
  const VectorXd expected = (1.0 + 8.0 + 0.5) / 3.0 * mu.row(0).transpose();
  EXPECT_LT((combined.signal - expected).norm(), 1e-12 * expected.norm());
}

TEST_P(Combination, DependsOnTheDirectionsOfTheMembersNotOnTheirSizes) {
  Market market(4, 12, 30, GetParam());
  RowMatrix mu = market.members(4);
  const Combined before = combine(market, mu);
  mu.row(2) *= 1024.0;  // exact
  const Combined after = combine(market, mu);
  EXPECT_NEAR(before.agreement, after.agreement, 1e-14);
  EXPECT_LT((before.signal.normalized() - after.signal.normalized()).norm(), 1e-13);
}

TEST_P(Combination, OfOppositeMembersHasNoSignal) {
  Market market(5, 12, 30, GetParam());
  RowMatrix mu = market.members(2);
  mu.row(1) = -mu.row(0);
  const Combined combined = combine(market, mu);
  EXPECT_EQ(combined.agreement, 0.0);
  EXPECT_EQ(combined.signal.cwiseAbs().maxCoeff(), 0.0);
}

TEST_P(Combination, OfManyMembersWithNothingInCommonAgreesLittle) {
  Market market(6, 40, 60, GetParam());
  const Combined combined = combine(market, market.members(25));
  EXPECT_GT(combined.agreement, 0.1);  // about 1/sqrt(25)
  EXPECT_LT(combined.agreement, 0.4);
}

TEST_P(Combination, CountsAMemberWithoutDirectionAsZero) {
  Market market(7, 12, 30, GetParam());
  RowMatrix mu = market.members(2);
  const Combined one = combine(market, mu.topRows(1));
  mu.row(1).setZero();
  const Combined both = combine(market, mu);
  EXPECT_NEAR(both.agreement, 0.5, 1e-12);
  EXPECT_LT((both.signal.normalized() - one.signal.normalized()).norm(), 1e-13);
  const Combined none = combine(market, RowMatrix::Zero(3, market.n()));
  EXPECT_EQ(none.agreement, 0.0);
  EXPECT_EQ(none.signal.norm(), 0.0);
}

TEST_P(Combination, IsNotANumberIfAMemberIsNot) {
  Market market(8, 12, 30, GetParam());
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    RowMatrix mu = market.members(3);
    mu(1, 4) = bad;
    const Combined combined = combine(market, mu);
    EXPECT_TRUE(std::isnan(combined.agreement));
    for (Index i = 0; i < market.n(); ++i) EXPECT_TRUE(std::isnan(combined.signal[i]));
    EXPECT_TRUE(std::isnan(combine(market, mu.middleRows(1, 1)).agreement));
  }
}

TEST_P(Combination, KeepsItsDigitsAtTheEndsOfTheRange) {
  Market market(9, 12, 30, GetParam());
  RowMatrix mu = market.members(3);
  const Combined plain = combine(market, mu);
  for (const double size : {0x1p-800, 0x1p+800}) {
    const RowMatrix extreme = size * mu;
    const Combined combined = combine(market, extreme);
    EXPECT_NEAR(combined.agreement, plain.agreement, 1e-14);
    EXPECT_LT((combined.signal / size - plain.signal).norm(), 1e-12 * plain.signal.norm());
  }
}

TEST(Combiner, RefusesShapesThatDoNotFit) {
  Market market(10, 12, 30, risk::Form::dense), other(10, 13, 30, risk::Form::dense);
  Combiner combiner(*market.risk);
  VectorXd signal(12), longer(13);
  const RowMatrix mu = market.members(2);
  EXPECT_THROW(combiner.run(*market.risk, 1, view(mu), view(signal)), InputError);
  EXPECT_THROW(combiner.run(*market.risk, 0, view(mu), view(longer)), InputError);
  EXPECT_THROW(combiner.run(*other.risk, 0, view(mu), view(longer)), InputError);
  EXPECT_THROW(combiner.run(*market.risk, 0, ConstMat(mu.data(), 0, 12), view(signal)), InputError);
}

TEST(Combiner, GivesNoNumbersForASampleWithoutRisk) {
  RowMatrix flat = RowMatrix::Zero(20, 3);
  const Index end = 20;
  const auto risk = risk::from_windows(view(flat), 20, std::span(&end, 1),
                                       {.shrinkage = kShrinkage, .parts = {}}, Threads(1));
  ASSERT_EQ(risk->status(0), Status::invalid_input);
  Combiner combiner(*risk);
  const RowMatrix mu = RowMatrix::Ones(2, 3);
  VectorXd signal(3);
  EXPECT_TRUE(std::isnan(combiner.run(*risk, 0, view(mu), view(signal))));
  EXPECT_TRUE(std::isnan(signal[0]));
}

std::vector<select::Portfolio> own_portfolios(const Market& market, const RowMatrix& mu,
                                              const select::SelectSettings& settings) {
  const std::vector<Index> samples(static_cast<std::size_t>(mu.rows()), 0);
  return select::select_batch(settings, *market.risk, samples, view(mu), Threads(2));
}

TEST(MemberSpread, CountsWhatEachMemberHoldsByItself) {
  Market market(11, 15, 40, risk::Form::dense);
  const RowMatrix mu = market.members(4);
  const select::SelectSettings settings = {{.k = 3}};
  const MemberSpread spread = member_spread(own_portfolios(market, mu, settings));
  RowMatrix weights(4, market.n());
  select::Selector selector(settings, *market.risk);
  for (Index m = 0; m < 4; ++m) {
    select::Portfolio portfolio;
    selector.run(*market.risk, 0, view(mu).row(m), portfolio);
    weights.row(m) = Eigen::Map<const Eigen::RowVectorXd>(portfolio.weights.data(), market.n());
  }
  double held = 0.0;
  for (Index i = 0; i < market.n(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const VectorXd w = weights.col(i);
    const double mean = w.mean();
    EXPECT_EQ(spread.held[at], static_cast<double>((w.array() != 0.0).count()) / 4.0);
    EXPECT_NEAR(spread.mean[at], mean, 1e-15);
    EXPECT_NEAR(spread.sd[at], std::sqrt((w.array() - mean).square().sum() / 3.0), 1e-15);
    held += spread.held[at];
  }
  EXPECT_NEAR(held, 3.0, 1e-12);  // every member holds three names
}

TEST(MemberSpread, OfOneMemberHasNoDeviation) {
  Market market(12, 10, 40, risk::Form::dense);
  const RowMatrix mu = market.members(1);
  const MemberSpread spread = member_spread(own_portfolios(market, mu, {{.k = 2}}));
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_TRUE(std::isnan(spread.sd[i]));
    EXPECT_EQ(spread.held[i], spread.mean[i] != 0.0 ? 1.0 : 0.0);
  }
}

TEST(MemberSpread, OfAMemberThatIsNotANumberIsNone) {
  Market market(13, 10, 40, risk::Form::dense);
  RowMatrix mu = market.members(2);
  mu(0, 0) = std::nan("");
  const MemberSpread spread = member_spread(own_portfolios(market, mu, {{.k = 2}}));
  double held = 0.0;
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_TRUE(std::isnan(spread.mean[i]));
    held += spread.held[i];
  }
  EXPECT_EQ(held, 1.0);  // two names by one member of two
}

}  // namespace
}  // namespace sharpen::learn
