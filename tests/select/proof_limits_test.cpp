// Proofs under limits, against the kernel on every support.
#include <gtest/gtest.h>

#include <cmath>

#include "select/proof_reference.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/select/limited.hpp"
#include "sharpen/select/proof.hpp"
#include "support/real_moments.hpp"

namespace sharpen::select::testing {
namespace {

using layer::Net;
using layer::Objective;
using sharpen::testing::Problems;
using sharpen::testing::view;

// The best of all supports of k names by the kernel; NaN if none is possible.
double best_under(const risk::Risk& risk, const VectorXd& mu, Index k, const layer::Limits& limits,
                  const layer::ObjectiveSettings& objective) {
  SelectSettings settings;
  settings.k = k;
  settings.objective = objective;
  LimitedSelector selector(settings, risk.n());
  double best = std::nan("");
  Portfolio out;
  for (unsigned bits = 1; bits < 1u << risk.n(); ++bits) {
    if (__builtin_popcount(bits) != k) continue;
    Support K;
    for (Index j = 0; j < risk.n(); ++j)
      if (bits >> j & 1u) K.push_back(j);
    selector.run_on(risk, 0, view(mu), limits, K, out);
    const bool counts = out.outcome.note == Note::none || out.outcome.note == Note::below_risk;
    if (!out.outcome.solved() || !counts) continue;
    const double value = objective.kind == Objective::sharpe ? out.sharpe : *out.value;
    if (!(value <= best)) best = value;
  }
  return best;
}

layer::Limits limits_of_kind(int kind, Index n, Problems& problems) {
  layer::Limits limits;
  const auto all = static_cast<std::size_t>(n);
  if (kind == 0 || kind == 2) limits.lower.assign(all, 0.0);
  if (kind == 1) limits.lower.assign(all, -0.3);
  if (kind == 1 || kind == 2) limits.upper.assign(all, 0.6);
  if (kind >= 2) {
    layer::LimitRow row{
        .name = "row", .coefficients = {}, .lower = -layer::kUnlimited, .upper = 0.5};
    for (Index j = 0; j < n; ++j) row.coefficients.push_back(j % 3 == 0 ? 1.0 : 0.0);
    if (kind == 4)
      for (double& c : row.coefficients) c = problems.normal();
    if (kind == 4) row.lower = row.upper = 0.1;
    limits.rows.push_back(row);
  }
  return limits;
}

void agree_under_limits(unsigned seed, int count, Index most) {
  Problems problems(seed);
  for (int i = 0; i < count; ++i) {
    const Index n = 4 + problems.below(most - 3), k = 2 + problems.below(n - 1);
    const MatrixXd Sigma = random_covariance(problems, n);
    VectorXd mu = problems.signal(Sigma, true);
    const auto risk = exact_risk(Sigma);
    const layer::Limits limits = limits_of_kind(i % 5, n, problems);
    const layer::ObjectiveSettings objective{.kind = Objective::sharpe};
    SCOPED_TRACE(::testing::Message()
                 << "problem " << i << ", n = " << n << ", k = " << k << ", kind " << i % 5);
    const double best = best_under(*risk, mu, k, limits, objective);
    const Proved found =
        prove(*risk, mu, k, Net::positive, unhurried(2000), 1, &limits, {}, objective);
    if (!(best > 1e-6)) continue;
    EXPECT_NEAR(found.portfolio.sharpe, best, 2e-7 * best);
    EXPECT_GE(found.proof.bound, best * (1.0 - 1e-9));
    EXPECT_LE(found.proof.gap(), 1e-6);
  }
}

TEST(ExactUnderLimits, AgreesWithEnumeration) { agree_under_limits(11, 40, 8); }
TEST(ExactUnderLimits, SlowAgreesWithEnumerationOften) { agree_under_limits(12, 800, 10); }

TEST(ExactUnderLimits, ProvesUtilityAndReturn) {
  Problems problems(13);
  for (int i = 0; i < 20; ++i) {
    const Index n = 7, k = 3;
    const MatrixXd Sigma = random_covariance(problems, n);
    const VectorXd mu = problems.signal(Sigma, true);
    const auto risk = exact_risk(Sigma);
    layer::Limits limits;
    limits.lower.assign(7, 0.0);
    limits.upper.assign(7, 0.5);
    layer::LimitRow net{
        .name = "net", .coefficients = std::vector<double>(7, 1.0), .lower = 0.0, .upper = 1.0};
    limits.rows.push_back(net);
    layer::ObjectiveSettings objective;
    objective.kind = i % 2 == 0 ? Objective::utility : Objective::expected_return;
    objective.risk_aversion = 5.0;
    objective.volatility = 0.01;
    const double best = best_under(*risk, mu, k, limits, objective);
    const Proved found =
        prove(*risk, mu, k, Net::positive, unhurried(500), 1, &limits, {}, objective);
    if (!(best > 0.0)) continue;
    SCOPED_TRACE(i);
    EXPECT_FALSE(found.proof.of_sharpe);
    EXPECT_NEAR(*found.portfolio.value, best, 1e-6 * best);
    EXPECT_GE(found.proof.bound, best * (1.0 - 1e-9));
  }
}

TEST(ExactUnderLimits, NamesWhatTheBoundLeavesOut) {
  Problems problems(14);
  const MatrixXd Sigma = random_covariance(problems, 8);
  const VectorXd mu = problems.signal(Sigma, true);
  layer::Limits limits;
  limits.lower.assign(8, 0.0);
  limits.least_if_held.assign(8, 0.2);
  limits.names.push_back({.name = "energy", .members = {0, 1, 2}, .least = 0, .most = 1});
  const Proved found = prove(*exact_risk(Sigma), mu, 4, Net::positive, unhurried(200), 1, &limits,
                             {}, {.kind = Objective::sharpe});
  EXPECT_EQ(found.proof.dropped,
            (std::vector<std::string>{"if held, at least", "names of energy"}));
  EXPECT_GE(found.proof.bound, found.portfolio.sharpe);
}

// Fixed weights, caps that leave no choice but equal weights, rows that force them.
layer::Limits limits_without_interior(int kind, Index n, Index k) {
  layer::Limits limits;
  const auto all = static_cast<std::size_t>(n);
  const double cap = 1.0 / static_cast<double>(k);
  limits.lower.assign(all, kind < 3 ? 0.0 : -layer::kUnlimited);
  limits.upper.assign(all, kind % 3 == 0 ? cap : layer::kUnlimited);
  layer::LimitRow row{
      .name = "row", .coefficients = std::vector<double>(all), .lower = 0.0, .upper = 0.0};
  row.coefficients[0] = 1.0;
  if (kind == 1) row.coefficients[1] = 0.5, row.lower = 1.0, row.upper = layer::kUnlimited;
  if (kind == 2 || kind == 4) row.coefficients[2] = kind == 2 ? 1.0 : -1.0;
  if (kind == 5) limits.lower[3] = limits.upper[3] = 0.0;
  if (kind % 3 != 0) limits.rows.push_back(row);
  return limits;
}

TEST(ExactUnderLimits, ProvesUnderLimitsWithoutInterior) {
  Problems problems(17);
  for (int i = 0; i < 36; ++i) {
    const Index n = 8, k = 3;
    const MatrixXd Sigma = random_covariance(problems, n);
    const VectorXd mu = problems.signal(Sigma, true);
    const auto risk = exact_risk(Sigma);
    const layer::Limits limits = limits_without_interior(i % 6, n, k);
    const layer::ObjectiveSettings objective{.kind = Objective::sharpe};
    SCOPED_TRACE(::testing::Message() << "problem " << i << ", kind " << i % 6);
    const double best = best_under(*risk, mu, k, limits, objective);
    if (!(best > 1e-6)) continue;
    const Proved found =
        prove(*risk, mu, k, Net::positive, unhurried(2000), 1, &limits, {}, objective);
    EXPECT_EQ(found.proof.end, ProofEnd::optimal) << found.proof.gap();
    EXPECT_NEAR(found.portfolio.sharpe, best, 2e-7 * best);
    EXPECT_GE(found.proof.bound, best * (1.0 - 1e-9));
  }
}

TEST(ExactUnderLimits, ProvesTheLargestReturnThatLeavesRiskUnused) {
  Problems problems(18);
  for (int i = 0; i < 10; ++i) {
    const Index n = 9, k = 3;
    const MatrixXd Sigma = random_covariance(problems, n);
    const VectorXd mu = problems.signal(Sigma, true).cwiseAbs();
    layer::Limits limits;
    limits.lower.assign(9, 0.0);
    limits.upper.assign(9, i % 2 == 0 ? 1.0 : 0.3);
    limits.rows.push_back(
        {.name = "net", .coefficients = std::vector<double>(9, 1.0), .lower = 0.0, .upper = 1.0});
    const layer::ObjectiveSettings objective{.kind = Objective::expected_return, .volatility = 1e3};
    const Proved found =
        prove(*exact_risk(Sigma), mu, k, Net::positive, unhurried(50), 1, &limits, {}, objective);
    SCOPED_TRACE(i);
    EXPECT_EQ(found.portfolio.outcome.note, Note::below_risk);
    EXPECT_EQ(found.proof.end, ProofEnd::optimal) << found.proof.gap();
    EXPECT_GE(found.proof.bound, *found.portfolio.value);
  }
}

TEST(ExactUnderLimits, KeepsTheMostNamesOfAGroup) {
  Problems problems(15);
  for (int i = 0; i < 20; ++i) {
    const Index n = 8, k = 4;
    const MatrixXd Sigma = random_covariance(problems, n);
    const VectorXd mu = problems.signal(Sigma, true);
    layer::Limits limits;
    limits.lower.assign(8, i % 2 == 0 ? 0.0 : -0.5);
    limits.names.push_back(
        {.name = "energy", .members = {0, 1, 2, 3, 4}, .least = 0, .most = 1 + i % 3});
    const layer::ObjectiveSettings objective{.kind = Objective::sharpe};
    const Proved found =
        prove(*exact_risk(Sigma), mu, k, Net::positive, unhurried(300), 1, &limits, {}, objective);
    SCOPED_TRACE(i);
    Index held = 0;
    for (const Index name : found.portfolio.support) held += name <= 4 ? 1 : 0;
    EXPECT_LE(held, 1 + i % 3);
    EXPECT_GE(found.proof.bound, found.portfolio.sharpe);
  }
}

TEST(ExactUnderLimits, CallsNothingProvedWhereNothingEarns) {
  Problems problems(16);
  const MatrixXd Sigma = random_covariance(problems, 6);
  const VectorXd mu = -VectorXd::Ones(6) - 0.3 * problems.vector(6).cwiseAbs();
  layer::Limits limits;
  limits.lower.assign(6, 0.0);
  const Proved found = prove(*exact_risk(Sigma), mu, 2, Net::positive, unhurried(), 1, &limits, {},
                             {.kind = Objective::sharpe});
  EXPECT_LT(found.portfolio.sharpe, 0.0);
  EXPECT_EQ(found.proof.bound, 0.0);
  EXPECT_NE(found.proof.end, ProofEnd::optimal);
  EXPECT_TRUE(std::isinf(found.proof.gap()));
}

// A name that is held in a fixed amount does not count beside a direction without net position, so
// that names on which the kernel finds no portfolio of k may still have the better direction.
TEST(ExactUnderLimits, DoesNotDismissDirectionsBesideAFixedName) {
  MatrixXd Sigma(4, 4);
  Sigma << 3.31, 1.62, .32, -.65, 1.62, 2.89, -.4, -.63, .32, -.4, 2.32, .49, -.65, -.63, .49, 2.35;
  Sigma *= 1e-4;
  VectorXd mu(4);
  mu << -.0004, -.0009, -.0007, .0007;
  layer::Limits limits;
  limits.lower.assign(4, -layer::kUnlimited);
  limits.upper.assign(4, layer::kUnlimited);
  limits.lower[0] = limits.upper[0] = -0.3;
  const Proved found = prove(*exact_risk(Sigma), mu, 2, Net::positive, unhurried(), 1, &limits, {},
                             {.kind = Objective::sharpe});
  EXPECT_GE(found.proof.bound, 0.0728810);  // of names 2 and 3, one against the other
  EXPECT_TRUE(found.proof.end != ProofEnd::optimal || found.portfolio.sharpe > 0.07288);
}

// Where the risk that is allowed is not used up, the bound does not grow with it.
TEST(ExactUnderLimits, BoundsAReturnWhateverRiskIsLeft) {
  const MatrixXd Sigma = (MatrixXd(2, 2) << 4e-4, 1e-4, 1e-4, 9e-4).finished();
  const VectorXd mu = (VectorXd(2) << .0016, -.0006).finished();
  layer::Limits limits;
  limits.lower.assign(2, -0.5);
  limits.rows.push_back({.name = "net", .coefficients = {1.0, 1.0}, .lower = 1.0, .upper = 1.0});
  for (const double volatility : {0.3, 2.0, 20.0}) {
    const Proved found = prove(*exact_risk(Sigma), mu, 1, Net::positive, unhurried(), 1, &limits,
                               {}, {.kind = Objective::expected_return, .volatility = volatility});
    EXPECT_EQ(found.portfolio.outcome.note, Note::below_risk);
    EXPECT_GE(found.proof.bound, 0.0016 * (1.0 - 1e-12));
    EXPECT_LE(found.proof.bound, 0.0016 * (volatility > 10.0 ? 1.1 : 1.001)) << volatility;
    EXPECT_FALSE(found.proof.of_sharpe);
  }
}

TEST(ExactUnderLimits, ProvesThatNothingIsBetterThanCash) {
  const MatrixXd Sigma = (MatrixXd(2, 2) << 4e-4, 1e-4, 1e-4, 9e-4).finished();
  const VectorXd mu = (VectorXd(2) << -.001, -.002).finished();
  layer::Limits limits;
  limits.lower.assign(2, 0.0);
  for (const Objective objective : {Objective::expected_return, Objective::utility}) {
    const Proved found = prove(*exact_risk(Sigma), mu, 1, Net::positive, unhurried(), 1, &limits,
                               {}, {.kind = objective, .volatility = 0.01, .risk_aversion = 5.0});
    EXPECT_EQ(found.portfolio.outcome.status, Status::no_signal);
    EXPECT_EQ(found.proof.bound, 0.0);
    EXPECT_EQ(found.proof.end, ProofEnd::optimal);
  }
}

TEST(ExactUnderLimits, ProvesLongOnlyPortfoliosOfRealMarkets) {
  for (const char* name : {"port1", "port2", "ff100"}) {
    const auto data = sharpen::testing::real_moments(name);
    if (!data) GTEST_SKIP() << name << " is not in " << sharpen::testing::data_folder();
    layer::Limits limits;
    limits.lower.assign(static_cast<std::size_t>(data->mu.size()), 0.0);
    for (const Index k : {3, 5, 20}) {
      const Proved found = prove(*exact_risk(data->Sigma), data->mu, k, Net::positive, unhurried(),
                                 1, &limits, {}, {.kind = Objective::sharpe});
      EXPECT_EQ(found.proof.end, ProofEnd::optimal) << name << " " << k;
    }
  }
}

}  // namespace
}  // namespace sharpen::select::testing
