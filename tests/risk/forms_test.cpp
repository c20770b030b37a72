// Both risk forms against plain Eigen, against each other, and against themselves one by one.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/risk/risk.hpp"
#include "support/linear_algebra.hpp"
#include "support/problems.hpp"

namespace sharpen::risk {
namespace {

using testing::inverse_root;
using testing::lower_factor;
using testing::naive_covariance;
using testing::Problems;
using testing::RowMatrix;
using testing::solve_lower;
using testing::solve_lower_t;
using testing::solve_spd;
using testing::view;

struct Case {
  Index n, T;
  double lambda;
  Form form;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Form form : {Form::dense, Form::low_rank})
    for (const double lambda : {1.0, 0.5, 0.1, 1e-3, 1e-5})
      for (const auto& [n, T] : {std::pair<Index, Index>{1, 5},
                                 {2, 2},
                                 {3, 40},
                                 {7, 12},
                                 {17, 5},
                                 {40, 100},
                                 {65, 30},
                                 {84, 20},
                                 {131, 20}})
        all.push_back({n, T, lambda, form});
  return all;
}

class RiskForms : public ::testing::TestWithParam<Case> {};

// Every action of the contract against the matrix it stands for.
TEST_P(RiskForms, EveryActionAgreesWithThePlainMatrix) {
  const auto [n, T, lambda, form] = GetParam();
  Problems random(static_cast<unsigned>(1000 * n + T));
  const RowMatrix returns = random.returns(T + 3, n);
  const std::vector<Index> ends = {T, T + 2};
  RiskSettings settings;
  settings.shrinkage = lambda;
  settings.form = form;
  const auto risk = from_windows(view(returns), T, ends, settings, Threads(1));
  ASSERT_EQ(risk->form(), form);
  ASSERT_EQ(risk->n(), n);
  ASSERT_EQ(risk->samples(), 2);
  std::vector<double> scratch(static_cast<std::size_t>(risk->scratch_size()));

  for (Index s = 0; s < 2; ++s) {
    ASSERT_EQ(risk->status(s), Status::ok);
    ASSERT_EQ(risk->jitter(s), 0.0);
    const RowMatrix window = returns.middleRows(ends[static_cast<std::size_t>(s)] - T, T);
    const Eigen::MatrixXd Sigma = naive_covariance(window, lambda);
    const Eigen::MatrixXd L = lower_factor(Sigma);
    const Eigen::VectorXd x = random.vector(n);
    const Eigen::VectorXd one = Eigen::VectorXd::Ones(n);
    Eigen::VectorXd out(n);
    const auto near = [&](const Eigen::VectorXd& want, const char* what) {
      EXPECT_LE((out - want).norm(), 1e-9 * want.norm()) << what << " of sample " << s;
    };

    const double C = risk->solve(s, view(x), view(out), scratch);
    const Eigen::VectorXd a = solve_spd(Sigma, x);
    near(a, "solve");
    EXPECT_NEAR(C, x.dot(a), 1e-9 * x.dot(a));
    risk->lower_solve(s, view(x), view(out), scratch);
    near(solve_lower(L, x), "lower_solve");
    risk->lower_solve_t(s, view(x), view(out), scratch);
    near(solve_lower_t(L, x), "lower_solve_t");
    risk->root_solve(s, view(x), view(out), scratch);
    near(inverse_root(Sigma) * x, "root_solve");
    risk->apply(s, view(x), view(out), scratch);
    near(Sigma * x, "apply");
    for (const Index j : {Index{0}, n / 2, n - 1}) {
      risk->column(s, j, view(out), scratch);
      near(Sigma.col(j), "column");
    }

    const Eigen::VectorXd b = solve_spd(Sigma, one);
    out = Eigen::Map<const Eigen::VectorXd>(risk->ones_solution(s).data(), n);
    near(b, "ones_solution");
    EXPECT_NEAR(risk->ones_norm2(s), b.sum(), 1e-9 * b.sum());
    out = Eigen::Map<const Eigen::VectorXd>(risk->diagonal(s).data(), n);
    near(Sigma.diagonal(), "diagonal");

    std::vector<Index> K;
    for (Index j = n - 1; j >= 0; j -= 2) K.push_back(j);
    const auto k = static_cast<Index>(K.size());
    RowMatrix sub(k, k);
    risk->submatrix(s, K, view(sub), scratch);
    EXPECT_LE((sub - Sigma(K, K)).norm(), 1e-12 * Sigma.norm()) << "submatrix of sample " << s;
    EXPECT_EQ(sub, sub.transpose());
  }
}

TEST_P(RiskForms, SoftRestrictionSolvesItsSystem) {
  const auto [n, T, lambda, form] = GetParam();
  Problems random(static_cast<unsigned>(77 * n + T));
  const RowMatrix returns = random.returns(T, n);
  RiskSettings settings;
  settings.shrinkage = lambda;
  settings.form = form;
  const std::vector<Index> ends = {T};
  const auto risk = from_windows(view(returns), T, ends, settings, Threads(1));
  std::vector<double> scratch(static_cast<std::size_t>(risk->scratch_size()));
  std::vector<double> factor(static_cast<std::size_t>(risk->restriction_size()));
  const Eigen::MatrixXd Sigma = naive_covariance(returns, lambda);

  for (int round = 0; round < 3; ++round) {
    Eigen::VectorXd p(n);
    for (Index i = 0; i < n; ++i)
      p[i] = round == 0   ? 1.0 / (1.0 + std::exp(random.normal()))
             : round == 1 ? double(i % 2)
                          : 1.0;
    const Eigen::MatrixXd P = p.asDiagonal();
    const Eigen::MatrixXd D = Sigma.diagonal().asDiagonal();
    const Eigen::MatrixXd F = P * Sigma * P + (Eigen::MatrixXd::Identity(n, n) - P * P) * D;
    const Eigen::VectorXd v = random.vector(n);
    const Eigen::VectorXd want = solve_spd(F, v);
    Eigen::VectorXd out(n);
    ASSERT_TRUE(risk->restrict_to(0, view(p), factor, scratch));
    risk->restricted_solve(0, view(p), factor, view(v), view(out), scratch);
    EXPECT_LE((out - want).norm(), 1e-9 * want.norm()) << "mask of round " << round;
  }
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return std::string(c.form == Form::dense ? "dense" : "low_rank") + "_n" + std::to_string(c.n) +
         "_T" + std::to_string(c.T) + "_" + std::to_string(info.index);
}
INSTANTIATE_TEST_SUITE_P(Sizes, RiskForms, ::testing::ValuesIn(cases()), case_name);

std::vector<double> solution_bits(const Risk& risk, Index s, const Eigen::VectorXd& x) {
  std::vector<double> scratch(static_cast<std::size_t>(risk.scratch_size()));
  std::vector<double> all, out(static_cast<std::size_t>(risk.n()));
  risk.solve(s, view(x), out, scratch);
  all.insert(all.end(), out.begin(), out.end());
  risk.lower_solve(s, view(x), out, scratch);
  all.insert(all.end(), out.begin(), out.end());
  risk.lower_solve_t(s, view(x), out, scratch);
  all.insert(all.end(), out.begin(), out.end());
  risk.root_solve(s, view(x), out, scratch);
  all.insert(all.end(), out.begin(), out.end());
  const ConstVec b = risk.ones_solution(s);
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

TEST(RiskSetUp, BatchHasTheBitsOfWindowsOneByOneForAnyThreadCount) {
  Problems random(5);
  const Index n = 33, T = 20, S = 17;
  const RowMatrix returns = random.returns(T + S + 10, n);
  const Eigen::VectorXd x = random.vector(n);
  std::vector<Index> ends;
  for (Index s = 0; s < S; ++s) ends.push_back(T + (s * 7) % (S + 10));
  for (const Form form : {Form::dense, Form::low_rank}) {
    RiskSettings settings;
    settings.form = form;
    const auto one = from_windows(view(returns), T, ends, settings, Threads(1));
    const auto two = from_windows(view(returns), T, ends, settings, Threads(2));
    for (Index s = 0; s < S; ++s) {
      const std::vector<Index> end = {ends[static_cast<std::size_t>(s)]};
      const auto alone = from_windows(view(returns), T, end, settings, Threads(1));
      EXPECT_EQ(solution_bits(*one, s, x), solution_bits(*alone, 0, x));
      EXPECT_EQ(solution_bits(*one, s, x), solution_bits(*two, s, x));
    }
  }
}

TEST(RiskSetUp, NothingAfterAWindowsEndIsRead) {
  Problems random(6);
  const Index n = 30, T = 9;
  RowMatrix returns = random.returns(40, n);
  const Eigen::VectorXd x = random.vector(n);
  const std::vector<Index> ends = {12, 20, 40};
  for (const Form form : {Form::dense, Form::low_rank}) {
    RiskSettings settings;
    settings.form = form;
    RowMatrix changed = returns;
    changed.bottomRows(20).setConstant(std::nan(""));
    const auto before = from_windows(view(returns), T, ends, settings, Threads(1));
    const auto after = from_windows(view(changed), T, ends, settings, Threads(1));
    EXPECT_EQ(solution_bits(*before, 0, x), solution_bits(*after, 0, x));
    EXPECT_EQ(solution_bits(*before, 1, x), solution_bits(*after, 1, x));
    EXPECT_EQ(after->status(1), Status::ok);
    EXPECT_EQ(after->status(2), Status::invalid_input) << "a window of NaN is not usable";
  }
}

TEST(RiskSetUp, ChoosesTheCheaperForm) {
  Problems random(7);
  const RowMatrix wide = random.returns(10, 60);
  const std::vector<Index> ends = {10};
  RiskSettings settings;
  EXPECT_EQ(from_windows(view(wide), 10, ends, settings, Threads(1))->form(), Form::low_rank);
  settings.shrinkage = 0.0;
  EXPECT_EQ(from_windows(view(wide), 10, ends, settings, Threads(1))->form(), Form::dense);
  settings.shrinkage = 0.1;
  const RowMatrix between = random.returns(10, 25);
  EXPECT_EQ(from_windows(view(between), 10, ends, settings, Threads(1))->form(), Form::low_rank);
  settings.parts = {.lower = true, .root = false, .restriction = false};
  EXPECT_EQ(from_windows(view(between), 10, ends, settings, Threads(1))->form(), Form::dense);
  const RowMatrix narrow = random.returns(60, 10);
  const std::vector<Index> later = {60};
  EXPECT_EQ(from_windows(view(narrow), 60, later, settings, Threads(1))->form(), Form::dense);
}

// Rank-deficient without shrinkage: LAPACK may factor it with pivots of rounding size.
TEST(RiskSetUp, SingularCovarianceIsJitteredAndSaysSo) {
  Problems random(8);
  const RowMatrix returns = random.returns(10, 25);
  const std::vector<Index> ends = {10};
  RiskSettings settings;
  settings.shrinkage = 0.0;
  const auto risk = from_windows(view(returns), 10, ends, settings, Threads(1));
  ASSERT_EQ(risk->status(0), Status::ok);
  EXPECT_GT(risk->jitter(0), 0.0);
  const Eigen::MatrixXd Sigma = naive_covariance(returns, 0.0);
  EXPECT_LE(risk->jitter(0), 1e-3 * Sigma.trace());
  const Eigen::VectorXd x = random.vector(25);
  Eigen::VectorXd a(25), applied(25);
  std::vector<double> scratch(static_cast<std::size_t>(risk->scratch_size()));
  risk->solve(0, view(x), view(a), scratch);
  risk->apply(0, view(x), view(applied), scratch);
  const Eigen::MatrixXd jittered = Sigma + risk->jitter(0) * Eigen::MatrixXd::Identity(25, 25);
  EXPECT_LE((jittered * a - x).norm(), 1e-13 * jittered.norm() * a.norm());
  EXPECT_LE((jittered * x - applied).norm(), 1e-14 * jittered.norm() * x.norm());
}

// Whatever LAPACK says of the pivots: T centred rows have rank T - 1 at most.
TEST(RiskSetUp, ShortWindowsWithoutShrinkageAreAlwaysJittered) {
  Problems random(81);
  for (int round = 0; round < 300; ++round) {
    const Index n = 2 + random.below(30), T = 2 + random.below(n - 1);
    const RowMatrix returns = random.returns(T, n);
    const std::vector<Index> ends = {T};
    RiskSettings settings;
    settings.shrinkage = 0.0;
    const auto risk = from_windows(view(returns), T, ends, settings, Threads(1));
    EXPECT_EQ(risk->status(0), Status::ok);
    EXPECT_GT(risk->jitter(0), 0.0);
  }
}

// Assets whose variances differ by many orders of magnitude: the symmetric root must still be one.
TEST(RiskSetUp, RootOfABadlyScaledCovarianceKeepsItsDigits) {
  Problems random(82);
  for (const double ratio : {1e-6, 1e-10, 1e-14, 1e-18})
    for (int round = 0; round < 10; ++round) {
      const Index n = 8;
      const RowMatrix X = random.matrix(40, n);
      RowMatrix Sigma = X.transpose() * X / 40.0;
      Sigma.row(3) *= std::sqrt(ratio);
      Sigma.col(3) *= std::sqrt(ratio);
      RiskSettings settings;
      settings.shrinkage = 0.0;
      const auto risk = from_covariance(view(std::as_const(Sigma)), settings);
      ASSERT_EQ(risk->status(0), Status::ok);
      EXPECT_EQ(risk->jitter(0), 0.0);
      const Eigen::VectorXd m = random.vector(n);
      Eigen::VectorXd z(n), a(n);
      std::vector<double> scratch(static_cast<std::size_t>(risk->scratch_size()));
      risk->root_solve(0, view(m), view(z), scratch);
      const double C = risk->solve(0, view(m), view(a), scratch);
      EXPECT_NEAR(z.squaredNorm(), C, 1e-7 * C) << ratio;
    }
}

// A price that grows steadily has returns that differ in their last digits, which is no risk; cash
// that moves by 1e-6 a day has some.
TEST(RiskSetUp, RoundingOfPricesIsNoRiskAndQuietCashIs) {
  const Index T = 60;
  for (const double growth : {1e-6, 0.0005, -0.002})
    for (const Form form : {Form::dense, Form::low_rank}) {
      RowMatrix steady(T, 3), cash(T, 3);
      Problems problems(7);
      for (Index j = 0; j < 3; ++j)
        for (Index t = 0; t < T; ++t) {
          const double price = 17.0 * static_cast<double>(j + 1);
          steady(t, j) =
              price * std::pow(1.0 + growth, t + 1) / (price * std::pow(1.0 + growth, t)) - 1.0;
          cash(t, j) = growth + 1e-6 * problems.normal();
        }
      RiskSettings settings;
      settings.form = form;
      const auto none = from_windows(view(steady), T, std::span(&T, 1), settings, Threads(1));
      EXPECT_EQ(none->status(0), Status::invalid_input) << growth;
      const auto some = from_windows(view(cash), T, std::span(&T, 1), settings, Threads(1));
      ASSERT_EQ(some->status(0), Status::ok);
      EXPECT_NEAR(std::sqrt(some->diagonal(0)[1]), 1e-6, 3e-7);
    }
}

TEST(RiskSetUp, ConstantAssetIsHandledByShrinkageAndByJitter) {
  Problems random(9);
  RowMatrix returns = random.returns(50, 6);
  const std::vector<Index> ends = {50};
  for (const double level : {0.0, 0.001, 0.0003, 0.1})  // the mean of a constant is rounded
    for (const double lambda : {0.1, 0.0})
      for (const bool root : {false, true}) {
        returns.col(2).setConstant(level);
        RiskSettings settings;
        settings.shrinkage = lambda;
        settings.parts.root = root;
        const auto risk = from_windows(view(returns), 50, ends, settings, Threads(1));
        EXPECT_EQ(risk->status(0), Status::ok) << lambda << ' ' << level;
        EXPECT_EQ(risk->jitter(0) > 0.0, lambda == 0.0) << level;
        EXPECT_GE(risk->diagonal(0)[2], risk->jitter(0));
        EXPECT_GT(risk->diagonal(0)[2], 1e-22);
      }
}

TEST(RiskSetUp, WindowWithoutRiskIsInvalidInput) {
  for (const double level : {0.0, 0.1, 1e-3})
    for (const Form form : {Form::dense, Form::low_rank}) {
      const RowMatrix flat = RowMatrix::Constant(30, 4, level);
      RiskSettings settings;
      settings.form = form;
      const std::vector<Index> ends = {30};
      EXPECT_EQ(from_windows(view(flat), 30, ends, settings, Threads(1))->status(0),
                Status::invalid_input)
          << level;
    }
}

// One asset moves a hundred times as much as the others: what is left of the signal along it is all
// rounding after one solve.
TEST(RiskSetUp, LowRankSolvesKeepTheirDigitsWithLittleShrinkage) {
  using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  constexpr Index n = 150, T = 40;
  Problems random(12);
  RowMatrix returns = random.returns(T, n);
  returns.col(3) *= 100.0;
  const std::vector<Index> ends = {T};
  for (const double lambda : {1e-2, 1e-3, 1e-5}) {
    const LongMatrix centred = (returns.rowwise() - returns.colwise().mean()).cast<long double>();
    const LongMatrix S = centred.transpose() * centred / static_cast<long double>(T - 1);
    const LongMatrix Sigma =
        (1.0L - static_cast<long double>(lambda)) * S +
        static_cast<long double>(lambda) * S.trace() / n * LongMatrix::Identity(n, n);
    const Eigen::LLT<LongMatrix> factor(Sigma);
    for (const bool root : {false, true}) {
      const RiskSettings settings{.shrinkage = lambda,
                                  .form = Form::low_rank,
                                  .parts = {.lower = false, .root = root, .restriction = false}};
      const auto risk = from_windows(view(returns), T, ends, settings, Threads(1));
      std::vector<double> scratch(at(risk->scratch_size()));
      const Eigen::VectorXd m = Eigen::VectorXd(S.col(3).cast<double>()) + 0.01 * random.vector(n);
      Eigen::VectorXd out(n);
      risk->solve(0, view(m), {out.data(), at(n)}, scratch);
      const Eigen::VectorXd want = factor.solve(m.cast<long double>()).cast<double>();
      EXPECT_LT((out - want).norm(), 1e-9 * want.norm()) << lambda << ' ' << root;
    }
  }
}

// Where roots or restrictions are needed, the low-rank form pays earlier.
TEST(RiskSettings, AutomaticFormIsTheCheaperOne) {
  const auto first_low_rank = [](Parts parts, double shrinkage) {
    const RiskSettings settings{.shrinkage = shrinkage, .parts = parts};
    Index n = 1;
    while (n < 1000 && settings.form_for(n, 100) != Form::low_rank) ++n;
    return n;
  };
  EXPECT_EQ(first_low_rank({.lower = true, .root = false, .restriction = false}, 0.1), 301);
  EXPECT_EQ(first_low_rank({.lower = true, .root = false, .restriction = true}, 0.1), 151);
  EXPECT_EQ(first_low_rank({.lower = false, .root = true, .restriction = false}, 0.1), 126);
  EXPECT_EQ(first_low_rank({}, 0.1), 126);
  EXPECT_EQ(first_low_rank({}, 1e-6), 1000);
}

std::string message_of(const auto& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(RiskErrors, NameFieldValueAndBound) {
  Problems random(10);
  const RowMatrix returns = random.returns(20, 4);
  const std::vector<Index> ends = {20};
  const auto with = [&](double lambda, Form form, Index lookback) {
    RiskSettings settings;
    settings.shrinkage = lambda;
    settings.form = form;
    return message_of([&] { from_windows(view(returns), lookback, ends, settings, Threads(1)); });
  };
  EXPECT_NE(with(1.5, Form::dense, 20).find("shrinkage = 1.5 is outside [0, 1]"),
            std::string::npos);
  EXPECT_NE(with(-0.1, Form::dense, 20).find("shrinkage = -0.1"), std::string::npos);
  EXPECT_NE(with(std::nan(""), Form::dense, 20).find("shrinkage = nan"), std::string::npos);
  EXPECT_NE(with(1e-6, Form::low_rank, 20).find("form = low-rank needs shrinkage"),
            std::string::npos);
  EXPECT_NE(with(0.1, Form::dense, 1).find("lookback = 1 is below 2"), std::string::npos);
  EXPECT_NE(with(0.1, Form::dense, 21).find("a window of 21 rows cannot end at row 20"),
            std::string::npos);
}

TEST(RiskErrors, GivenCovarianceMustBeSymmetricAndSemidefinite) {
  const auto give = [](const RowMatrix& Sigma, double lambda) {
    return message_of([&] {
      RiskSettings settings;
      settings.shrinkage = lambda;
      from_covariance(view(Sigma), settings);
    });
  };
  RowMatrix good(2, 2);
  good << 1.0, 0.5, 0.5, 1.0;
  EXPECT_EQ(give(good, 0.0), "no error");
  RowMatrix skew = good;
  skew(0, 1) = 0.4;
  EXPECT_NE(give(skew, 0.0).find("not symmetric: row 2, column 1"), std::string::npos);
  RowMatrix indefinite = good;
  indefinite(0, 1) = indefinite(1, 0) = 1.01;
  EXPECT_NE(give(indefinite, 0.0).find("not positive semidefinite"), std::string::npos);
  EXPECT_NE(give(indefinite, 0.5).find("not positive semidefinite"), std::string::npos)
      << "shrinkage must not hide it";
  RowMatrix negative = good;
  negative(1, 1) = -1.0;
  EXPECT_NE(give(negative, 0.0).find("negative variance -1 in row 2"), std::string::npos);
  RowMatrix hole = good;
  hole(0, 1) = std::nan("");
  EXPECT_NE(give(hole, 0.0).find("not finite in row 1, column 2"), std::string::npos);
  RowMatrix singular = RowMatrix::Ones(3, 3);
  EXPECT_EQ(give(singular, 0.0), "no error") << "semidefinite is enough; jitter does the rest";
  EXPECT_NE(give(RowMatrix(2, 3).setOnes(), 0.0).find("2 x 3"), std::string::npos);
}

}  // namespace
}  // namespace sharpen::risk
