// Portfolios under limits: every optimum is judged by the conditions of optimality, computed here
// from the weights and multipliers alone; the problem is convex, so that they are proof.
#include "sharpen/layer/limited.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "layer/active_path.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "support/problems.hpp"
#include "support/real_moments.hpp"

namespace sharpen::layer {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using sharpen::testing::RowMatrix;
using sharpen::testing::view;
using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::unique_ptr<risk::Risk> risk_of(const RowMatrix& Sigma) {
  risk::RiskSettings settings;
  settings.shrinkage = 0.0;
  return risk::from_covariance(view(Sigma), settings);
}

// Factor models of one to five factors, some with twins, under limits of every kind.
struct Instance {
  explicit Instance(std::uint64_t seed, Index most = 40);

  double uniform() { return std::uniform_real_distribution<double>()(engine); }
  double normal() { return std::normal_distribution<double>()(engine); }
  bool chance(double p) { return uniform() < p; }
  Index below(Index m) { return std::uniform_int_distribution<Index>(0, m - 1)(engine); }
  void make_twins();
  void set_bounds();
  void set_rows();
  void set_trading();

  std::mt19937_64 engine;
  Index n;
  RowMatrix Sigma;
  VectorXd mu;
  Limits limits;
};

Instance::Instance(std::uint64_t seed, Index most) : engine(seed), n(2 + below(most - 1)) {
  const Index factors = 1 + below(5);
  const double size = std::pow(10.0, -4.0 * uniform());
  RowMatrix B(n, factors);
  for (Index i = 0; i < n; ++i)
    for (Index f = 0; f < factors; ++f) B(i, f) = normal();
  Sigma = size * B * B.transpose();
  mu = VectorXd(n);
  const double drift = 2.0 * uniform() - 1.0;
  for (Index i = 0; i < n; ++i) mu(i) = 0.01 * (normal() + drift);
  if (chance(0.2)) make_twins();
  const double own = size * std::pow(10.0, -3.0 * uniform());
  for (Index i = 0; i < n; ++i) Sigma(i, i) += own * (chance(0.5) ? 1.0 : 0.5 + uniform());
  set_bounds();
  set_rows();
  set_trading();
}

void Instance::make_twins() {
  for (Index i = 1; i < n; i += 2) {
    mu(i) = mu(i - 1);
    Sigma.row(i) = Sigma.row(i - 1);
    Sigma.col(i) = Sigma.col(i - 1);
  }
}

void Instance::set_bounds() {
  const Index kind = below(4);
  if (kind == 3) return;
  limits.lower.assign(at(n), kind == 1 ? -0.1 : 0.0);
  if (kind == 0 && chance(0.5)) return;
  limits.upper.assign(at(n), kind == 1 ? 0.2 : std::max(0.1, 2.0 / static_cast<double>(n)));
}

void Instance::set_rows() {
  const std::vector<double> ones(at(n), 1.0);
  if (chance(0.5)) limits.rows.push_back({"net", ones, chance(0.5) ? 0.0 : -kInf, 1.0});
  if (chance(0.5)) return;
  const Index groups = 1 + below(10);
  for (Index group = 0; group < groups; ++group) {
    LimitRow row{"group", std::vector<double>(at(n)), chance(0.3) ? -0.05 : -kInf,
                 0.1 + 0.5 * uniform() + 1.0 / static_cast<double>(groups)};
    for (Index i = group; i < n; i += groups) row.coefficients[at(i)] = 1.0;
    limits.rows.push_back(row);
  }
  if (chance(0.3)) limits.rows.push_back(limits.rows.back());
  if (chance(0.5)) {
    LimitRow row{"beta", std::vector<double>(at(n)), -0.2, 0.2};
    for (double& x : row.coefficients) x = normal();
    limits.rows.push_back(row);
  }
}

void Instance::set_trading() {
  if (chance(0.5)) limits.gross = 1.0 + 1.5 * uniform();
  if (chance(0.5)) return;
  limits.holdings.assign(at(n), 0.0);
  for (Index i = 0; i < n; ++i) {
    const double low = limits.lower.empty() ? -1.0 : limits.lower[at(i)];
    const double high = limits.upper.empty() ? 1.0 : limits.upper[at(i)];
    if (chance(0.4)) limits.holdings[at(i)] = std::clamp(0.1 * normal(), low, high);
  }
  if (chance(0.7)) {
    limits.costs.assign(at(n), 0.0);
    for (double& cost : limits.costs) cost = 0.002 * uniform();
  }
  if (chance(0.5)) limits.turnover = 0.3 + uniform();
}

// The largest violation of a condition, relative to what it is made of.
class Judge {
 public:
  Judge(const Instance& instance, const MatrixXd& H, const Limits& limits, const VectorXd& w,
        ConstVec multipliers, double theta)
      : instance_(instance), limits_(limits), w_(w), multipliers_(multipliers), theta_(theta) {
    const VectorXd Hw = H * w;
    e_ = theta * instance.mu - Hw;
    scale_ = std::max((theta * instance.mu).cwiseAbs().maxCoeff(), Hw.cwiseAbs().maxCoeff());
    for (std::size_t r = 0; r < limits.rows.size(); ++r)
      e_ -=
          multipliers[r] * Eigen::Map<const VectorXd>(limits.rows[r].coefficients.data(), w.size());
    assets();
    rows();
  }
  double worst() const { return worst_; }
  const std::string& where() const { return where_; }

 private:
  void note(double violation, const std::string& where) {
    if (violation > worst_) {
      worst_ = violation;
      where_ = where;
    }
  }
  void assets() {
    const double nu = multipliers_[limits_.rows.size()],
                 tau = multipliers_[limits_.rows.size() + 1];
    for (Index i = 0; i < w_.size(); ++i) {
      const double w = w_(i);
      const double low = limits_.lower.empty() ? -kInf : limits_.lower[at(i)];
      const double high = limits_.upper.empty() ? kInf : limits_.upper[at(i)];
      const std::string name = "asset " + std::to_string(i);
      note(low - w, name + " below");
      note(w - high, name + " above");
      double left = nu * (w > 0.0 ? 1.0 : -1.0), right = nu * (w >= 0.0 ? 1.0 : -1.0);
      if (limits_.gross == kInf) left = right = 0.0;
      if (!limits_.holdings.empty()) {
        const double kappa = tau + theta_ * (limits_.costs.empty() ? 0.0 : limits_.costs[at(i)]);
        const double h = limits_.holdings[at(i)];
        left += kappa * (w > h ? 1.0 : -1.0);
        right += kappa * (w >= h ? 1.0 : -1.0);
      }
      if (w > low) note((left - e_(i)) / scale_, name + " wants less");
      if (w < high) note((e_(i) - right) / scale_, name + " wants more");
    }
  }
  void row(double value, double lower, double upper, double multiplier, const std::string& name) {
    note((value - upper) / std::max(1.0, std::abs(upper)), name + " above");
    note((lower - value) / std::max(1.0, std::abs(lower)), name + " below");
    const double slack = multiplier > 0.0 ? upper - value : value - lower;
    if (multiplier != 0.0) note(std::min(std::abs(multiplier) / scale_, slack), name + " slack");
  }
  void rows() {
    for (std::size_t r = 0; r < limits_.rows.size(); ++r) {
      const LimitRow& limit = limits_.rows[r];
      const double value = Eigen::Map<const VectorXd>(limit.coefficients.data(), w_.size()).dot(w_);
      row(value, limit.lower, limit.upper, multipliers_[r], limit.name + std::to_string(r));
    }
    const double nu = multipliers_[limits_.rows.size()],
                 tau = multipliers_[limits_.rows.size() + 1];
    row(w_.lpNorm<1>(), -kInf, limits_.gross, nu, "gross");
    if (limits_.holdings.empty()) return;
    const Eigen::Map<const VectorXd> h(limits_.holdings.data(), w_.size());
    row((w_ - h).lpNorm<1>(), -kInf, limits_.turnover, tau, "turnover");
  }

  const Instance& instance_;
  const Limits& limits_;
  const VectorXd& w_;
  ConstVec multipliers_;
  double theta_;
  VectorXd e_;
  double scale_ = 0.0, worst_ = 0.0;
  std::string where_;
};

double return_after_costs(const Instance& instance, const VectorXd& w) {
  double earned = instance.mu.dot(w);
  const Limits& limits = instance.limits;
  for (std::size_t i = 0; i < limits.costs.size(); ++i)
    earned -= limits.costs[i] * std::abs(w(static_cast<Index>(i)) - limits.holdings[i]);
  return earned;
}

// Whether the combination of rows by these multipliers is larger for every w between the bounds
// than the limits of the rows allow: it is least at bounds and kinks, asset by asset.
bool proves_infeasible(const Limits& limits, ConstVec multipliers, Index n) {
  const std::size_t rows = limits.rows.size();
  double allowed = 0.0, least = 0.0, size = 0.0;
  for (std::size_t r = 0; r < rows + 2; ++r) {
    const double y = multipliers[r];
    if (y == 0.0) continue;
    const double upper = r < rows    ? limits.rows[r].upper
                         : r == rows ? limits.gross
                                     : limits.turnover;
    const double lower = r < rows ? limits.rows[r].lower : 0.0;
    allowed += y * (y > 0.0 ? upper : lower);
    size += std::abs(y);
  }
  for (Index i = 0; i < n; ++i) {
    const double h = limits.holdings.empty() ? 0.0 : limits.holdings[at(i)];
    const auto sum = [&](double w) {
      double value = multipliers[rows] * std::abs(w) + multipliers[rows + 1] * std::abs(w - h);
      for (std::size_t r = 0; r < rows; ++r)
        value += multipliers[r] * limits.rows[r].coefficients[at(i)] * w;
      return value;
    };
    const double low = limits.lower.empty() ? -1e6 : limits.lower[at(i)];
    const double high = limits.upper.empty() ? 1e6 : limits.upper[at(i)];
    double own = kInf;
    for (const double w : {low, high, std::clamp(0.0, low, high), std::clamp(h, low, high)})
      own = std::min(own, sum(w));
    least += own;
  }
  return least > allowed - 1e-9 * size;
}

ObjectiveSettings some_objective(Instance& instance, int kind) {
  const double variance = instance.Sigma.diagonal().mean();
  ObjectiveSettings objective;
  objective.kind = static_cast<Objective>(kind);
  objective.volatility = std::sqrt(variance) * std::pow(10.0, -2.0 * instance.uniform());
  objective.risk_aversion = std::pow(10.0, 0.0 - 3.0 * instance.uniform()) / variance;
  return objective;
}

// What the solver adds for `sharpe`.
Limits all_limits(const ObjectiveSettings& objective, const Instance& instance) {
  Limits limits = instance.limits;
  if (objective.kind == Objective::sharpe)
    limits.rows.push_back({"net", std::vector<double>(at(instance.n), 1.0), 1.0, 1.0});
  return limits;
}

struct Tally {
  Index ok = 0, flagged = 0, infeasible = 0;
};

void judge_instance(std::uint64_t seed, Index most, Tally& tally) {
  SCOPED_TRACE("instance " + std::to_string(seed));
  Instance instance(seed, most);
  const auto risk = risk_of(instance.Sigma);
  const ObjectiveSettings objective = some_objective(instance, static_cast<int>(seed % 3));
  const Limits limits = all_limits(objective, instance);
  LimitedSolver solver(objective, instance.limits, instance.n);
  LimitedState state;
  VectorXd w(instance.n);
  const LimitedEnd end = solver.forward(*risk, 0, view(instance.mu), {}, state, view(w));
  ASSERT_NE(end, LimitedEnd::not_converged);
  if (end == LimitedEnd::infeasible) {
    EXPECT_TRUE(proves_infeasible(limits, solver.proof(), instance.n));
    ++tally.infeasible;
    return;
  }
  ++(end == LimitedEnd::ok ? tally.ok : tally.flagged);
  if (end == LimitedEnd::neutral) return;
  const double theta = solver.theta();
  const Judge judge(instance, instance.Sigma, limits, w, solver.multipliers(), theta);
  EXPECT_LT(judge.worst(), 1e-9) << judge.where();
  const double variance = w.dot(instance.Sigma * w);
  if (end != LimitedEnd::ok) return;
  if (objective.kind == Objective::expected_return) {
    EXPECT_NEAR(std::sqrt(variance) / objective.volatility, 1.0, 1e-9);
  } else if (objective.kind == Objective::sharpe) {
    EXPECT_NEAR(theta * return_after_costs(instance, w) / variance, 1.0, 1e-9);
  }
}

TEST(Limited, OptimaMeetTheConditions) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < 900; ++seed) judge_instance(seed, 40, tally);
  EXPECT_GT(tally.ok, 600);
  EXPECT_GT(tally.flagged, 30);
  EXPECT_GT(tally.infeasible, 20);
}

TEST(Limited, SlowOptimaMeetTheConditionsUpToTwoHundredAssets) {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= 20000; ++seed) judge_instance(seed << 20, 200, tally);
  EXPECT_GT(tally.ok, 15000);
}

// From anywhere the same bits: the answer depends on what is free and active alone.
TEST(Limited, StartsNearbyGiveTheSameBits) {
  Index same = 0, shorter = 0, count = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Instance instance(seed);
    const auto risk = risk_of(instance.Sigma);
    LimitedSolver solver(some_objective(instance, static_cast<int>(seed % 3)), instance.limits,
                         instance.n);
    LimitedState warm, cold;
    VectorXd w(instance.n), again(instance.n);
    VectorXd near = instance.mu;
    for (Index i = 0; i < near.size(); ++i) near(i) *= 1.0 + 0.01 * instance.normal();
    if (solver.forward(*risk, 0, view(near), {}, warm, view(w)) != LimitedEnd::ok) continue;
    const LimitedEnd end = solver.forward(*risk, 0, view(instance.mu), {}, cold, view(w));
    const Index steps = solver.steps();
    ASSERT_EQ(solver.forward(*risk, 0, view(instance.mu), {}, warm, view(again)), end) << seed;
    if (end != LimitedEnd::ok) continue;
    ++count;
    same += w == again;
    shorter += solver.steps() <= steps;
    EXPECT_LT((w - again).lpNorm<Eigen::Infinity>(), 1e-9 * std::max(1.0, w.lpNorm<1>())) << seed;
  }
  EXPECT_GT(count, 150);
  EXPECT_GT(same, count * 95 / 100);  // the rest have ties at the optimum
  EXPECT_GT(shorter, count * 95 / 100);
}

struct KnownAnswer {
  const char* data;
  double long_only;
  Index held;  // by long_only
  double at_most_a_tenth, a_tenth_short_to_a_fifth, gross, third;
};

void PrintTo(const KnownAnswer& answer, std::ostream* out) { *out << answer.data; }

class KnownSharpe : public ::testing::TestWithParam<KnownAnswer> {};

TEST_P(KnownSharpe, IsReachedToNineDigits) {
  const auto data = sharpen::testing::real_moments(GetParam().data);
  if (!data) GTEST_SKIP() << GetParam().data << " is not in " << sharpen::testing::data_folder();
  const Index n = data->mu.size();
  const auto risk = risk_of(RowMatrix(data->Sigma));
  Index held = 0;
  const auto best = [&](const Limits& limits) {
    LimitedState state;
    VectorXd w(n);
    LimitedSolver solver({}, limits, n);
    EXPECT_EQ(solver.forward(*risk, 0, view(data->mu), {}, state, view(w)), LimitedEnd::ok);
    EXPECT_NEAR(w.sum(), 1.0, 1e-12);
    held = (w.array() != 0.0).count();
    return data->mu.dot(w) / std::sqrt(w.dot(data->Sigma * w));
  };
  Limits limits;
  limits.gross = 1.6;
  EXPECT_NEAR(best(limits), GetParam().gross, 6e-10);
  limits = {};
  limits.lower.assign(at(n), -0.1);
  limits.upper.assign(at(n), 0.2);
  EXPECT_NEAR(best(limits), GetParam().a_tenth_short_to_a_fifth, 6e-10);
  limits.lower.assign(at(n), 0.0);
  limits.upper.assign(at(n), 0.1);
  EXPECT_NEAR(best(limits), GetParam().at_most_a_tenth, 6e-10);
  limits.upper.clear();
  EXPECT_NEAR(best(limits), GetParam().long_only, 6e-10);
  EXPECT_EQ(held, GetParam().held);
  LimitRow third{"third", std::vector<double>(at(n)), -kInf, 0.3};
  std::fill_n(third.coefficients.begin(), n / 3, 1.0);
  limits.rows.push_back(third);
  EXPECT_NEAR(best(limits), GetParam().third, 6e-10);
}

INSTANTIATE_TEST_SUITE_P(
    Markets, KnownSharpe,
    ::testing::Values(
        KnownAnswer{"port1", .210441927, 4, .177016562, .272861664, .249711049, .208885663},
        KnownAnswer{"port2", .363785403, 13, .337698939, .656618286, .456634209, .361184934},
        KnownAnswer{"port3", .295635985, 15, .291842738, .501808716, .364019542, .294570721},
        KnownAnswer{"ff25", .265086634, 6, .256892189, .318316033, .300730321, .263853337},
        KnownAnswer{"ff49", .289532863, 11, .281354671, .379271907, .335908732, .286337278},
        KnownAnswer{"ff100", .270553508, 8, .266549357, .580460649, .365982575, .270535156}));

// Gross exposure of no more than the net one leaves no room for shorts.
TEST(Limited, GrossOfOneIsLongOnly) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Instance instance(seed);
    const auto risk = risk_of(instance.Sigma);
    const auto best = [&](const Limits& limits) {
      LimitedSolver solver({}, limits, instance.n);
      LimitedState state;
      VectorXd w(instance.n);
      solver.forward(*risk, 0, view(instance.mu), {}, state, view(w));
      return w;
    };
    Limits gross, lower;
    gross.gross = 1.0;
    lower.lower.assign(at(instance.n), 0.0);
    EXPECT_LT((best(gross) - best(lower)).lpNorm<Eigen::Infinity>(), 1e-9) << seed;
  }
}

// Limits that never bind leave the closed form, whatever the risk form.
TEST(Limited, WithoutBindingLimitsIsTheTangentPortfolio) {
  sharpen::testing::Problems problems(7);
  const RowMatrix returns = problems.returns(60, 90);
  const std::array<Index, 1> ends = {60};
  const Threads threads(1);
  for (const risk::Form form : {risk::Form::dense, risk::Form::low_rank}) {
    const auto risk = risk::from_windows(view(returns), 60, ends,
                                         {.shrinkage = 0.2, .form = form, .parts = {}}, threads);
    const VectorXd mu = problems.vector(90).cwiseAbs();
    VectorXd a(90), scratch(risk->scratch_size()), w(90);
    risk->solve(0, view(mu), view(a), view(scratch));
    ASSERT_GT(a.sum(), 0.0);
    Limits loose;
    loose.gross = 1e6;
    for (const Limits& limits : {Limits{}, loose}) {
      LimitedSolver solver({}, limits, 90);
      LimitedState state;
      ASSERT_EQ(solver.forward(*risk, 0, view(mu), {}, state, view(w)), LimitedEnd::ok);
      EXPECT_LT((w - a / a.sum()).norm(), 1e-10 * w.norm());
    }
  }
}

// A signal counts by its proportions.
TEST(Limited, SharpeDoesNotDependOnTheScaleOfTheSignal) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Instance instance(seed);
    instance.limits.costs.clear();
    const auto risk = risk_of(instance.Sigma);
    LimitedSolver solver({}, instance.limits, instance.n);
    VectorXd w(instance.n), scaled(instance.n);
    LimitedState first, second;
    const LimitedEnd end = solver.forward(*risk, 0, view(instance.mu), {}, first, view(w));
    const VectorXd mu = 1024.0 * instance.mu;
    EXPECT_EQ(solver.forward(*risk, 0, view(mu), {}, second, view(scaled)), end) << seed;
    EXPECT_TRUE(end == LimitedEnd::infeasible || w == scaled) << seed;
  }
}

TEST(Limited, ASignalThatIsNotFiniteIsAnOutcome) {
  Instance instance(1);
  const auto risk = risk_of(instance.Sigma);
  LimitedSolver solver({}, {}, instance.n);
  LimitedState state;
  VectorXd w(instance.n), zero(instance.n);
  const VectorXd ones = VectorXd::Ones(instance.n);
  instance.mu(0) = std::nan("");
  EXPECT_EQ(solver.forward(*risk, 0, view(instance.mu), {}, state, view(w)),
            LimitedEnd::invalid_input);
  EXPECT_TRUE(std::isnan(w(0)));
  solver.vjp(*risk, 0, view(instance.mu), {}, state, view(ones), view(zero), {});
  EXPECT_EQ(zero, VectorXd::Zero(instance.n));
}

// A small market of uncorrelated names.
struct Small {
  explicit Small(std::vector<double> signal)
      : mu(Eigen::Map<const VectorXd>(signal.data(), static_cast<Index>(signal.size()))),
        w(mu.size()),
        risk(risk_of(1e-4 * RowMatrix::Identity(mu.size(), mu.size()))) {}

  LimitedEnd solve(const ObjectiveSettings& objective, const Limits& limits, ConstVec more = {}) {
    LimitedSolver solver(objective, limits, mu.size());
    return solver.forward(*risk, 0, view(mu), more, state, view(w));
  }

  VectorXd mu, w;
  std::unique_ptr<risk::Risk> risk;
  LimitedState state;
};

// Rows that say what others say are no contradiction.
TEST(Limited, EqualitiesMayFollowFromEachOther) {
  Small market({0.01, 0.02, 0.03, -0.01});
  Limits limits;
  limits.lower.assign(4, 0.0);
  limits.rows = {{"net again", {1.0, 1.0, 1.0, 1.0}, 1.0, 1.0},
                 {"nothing", {0.0, 0.0, 0.0, 0.0}, 0.0, 0.0}};
  EXPECT_EQ(market.solve({}, limits), LimitedEnd::ok);
  EXPECT_NEAR(market.w(2), 0.5, 1e-12);
  limits.rows = {{"first", {1.0, 1.0, 0.0, 0.0}, 0.4, 0.4},
                 {"rest", {0.0, 0.0, 1.0, 1.0}, 0.6, 0.6}};
  market.state = {};
  EXPECT_EQ(market.solve({}, limits), LimitedEnd::ok);
  EXPECT_NEAR(market.w(0) + market.w(1), 0.4, 1e-12);
  limits.rows[1].lower = limits.rows[1].upper = 0.7;
  market.state = {};
  EXPECT_EQ(market.solve({}, limits), LimitedEnd::infeasible);
}

TEST(Limited, EveryWeightMayBeGiven) {
  Small market({0.01, -0.02});
  Limits limits;
  limits.lower = limits.upper = {0.25, 0.75};
  EXPECT_NE(market.solve({}, limits), LimitedEnd::infeasible);
  EXPECT_EQ(market.w(0), 0.25);
  EXPECT_EQ(market.w(1), 0.75);
  limits.lower = limits.upper = {0.25, 0.5};
  market.state = {};
  EXPECT_EQ(market.solve({}, limits), LimitedEnd::infeasible);
}

// Without a best portfolio of net position 1, and without risk to spend, theta has no value of its
// own: starts from such states do not drift.
TEST(Limited, EndsWithoutAThetaCanBeStartedFrom) {
  Small neutral({-0.01, -0.02, -0.03});
  Small rich({0.01, 0.02, 0.03});
  Limits caps;
  caps.lower.assign(3, 0.0);
  caps.upper.assign(3, 0.1);
  ObjectiveSettings spend;
  spend.kind = Objective::expected_return;
  spend.volatility = 1.0;
  for (int i = 0; i < 80; ++i) {
    ASSERT_EQ(neutral.solve({}, {}), LimitedEnd::neutral) << i;
    EXPECT_NEAR(neutral.w(0), 0.5, 1e-9) << i;
    ASSERT_EQ(rich.solve(spend, caps), LimitedEnd::below_risk) << i;
    EXPECT_NEAR(rich.w.sum(), 0.3, 1e-12) << i;
  }
}

// What adds up to zero but for rounding is zero: the best position has no net.
TEST(Limited, AReturnOfRoundingIsNone) {
  for (const std::vector<double>& mu : {std::vector<double>{0.1, 0.2, -0.3}, {0.3, -0.1, -0.2}}) {
    Small market(mu);
    EXPECT_EQ(market.solve({}, {}), LimitedEnd::neutral);
    EXPECT_LT(market.w.lpNorm<1>(), 1.0 + 1e-9);
  }
}

// Under a mask the risk of the path falls before it grows.
TEST(Limited, RiskIsSpentWhereItFallsAtFirst) {
  Small market({0.1, 0.0});
  ObjectiveSettings objective;
  objective.kind = Objective::expected_return;
  objective.volatility = std::sqrt(0.6e-4);
  Limits net;
  net.rows = {{"net", {1.0, 1.0}, 1.0, 1.0}};
  const std::vector<double> more = {8e-4, 0.0};
  EXPECT_EQ(market.solve(objective, net, more), LimitedEnd::ok);
  EXPECT_NEAR(market.w.squaredNorm(), 0.6, 1e-9);
  EXPECT_GT(market.w(0), market.w(1));
}

TEST(Limited, AMaskThatIsNotFiniteIsAnOutcome) {
  Small market({0.1, 0.2});
  const std::vector<double> more = {0.0, kInf};
  EXPECT_EQ(market.solve({}, {}, more), LimitedEnd::invalid_input);
}

// The optimum without an asset, from the one with it, is that of bounds of zero.
TEST(Limited, AssetsCanBeForbiddenAndAllowedAgain) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("instance " + std::to_string(seed));
    Instance instance(seed, 20);
    const Index n = instance.n;
    const auto risk = risk_of(instance.Sigma);
    const ObjectiveSettings objective = some_objective(instance, static_cast<int>(seed % 3));
    LimitedSolver solver(objective, instance.limits, n);
    LimitedState state;
    VectorXd w(n), expected(n);
    if (solver.forward(*risk, 0, view(instance.mu), {}, state, view(w)) != LimitedEnd::ok) continue;
    const Index name = instance.below(n);
    Limits without = instance.limits;
    without.lower.resize(at(n), -kInf);
    without.upper.resize(at(n), kInf);
    without.lower[at(name)] = without.upper[at(name)] = 0.0;
    LimitedSolver other(objective, without, n);
    LimitedState fresh;
    const LimitedEnd end = other.forward(*risk, 0, view(instance.mu), {}, fresh, view(expected));
    const bool possible = solver.allow(name, false);
    const LimitedEnd got = possible ? solver.again() : LimitedEnd::infeasible;
    ASSERT_EQ(got, end);
    if (end != LimitedEnd::ok) continue;
    const Eigen::Map<const VectorXd> found(solver.weights().data(), n);
    EXPECT_LT((found - expected).norm(), 1e-8 * std::max(1.0, expected.norm()));
    ASSERT_TRUE(solver.allow(name, true));
    ASSERT_EQ(solver.again(), LimitedEnd::ok);
    EXPECT_LT((found - w).norm(), 1e-8 * std::max(1.0, w.norm()));
  }
}

TEST(Limits, SayWhatIsNotInOrder) {
  const auto message = [](const Limits& limits) -> std::string {
    try {
      limits.validate(2);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  Limits limits;
  EXPECT_EQ(message(limits), "");
  limits.lower = {0.0, 0.3};
  limits.upper = {1.0, 0.2};
  EXPECT_THAT(message(limits), HasSubstr("the weight of asset 2 must lie between 0.3 and 0.2"));
  limits = {};
  limits.lower = {0.0};
  EXPECT_THAT(message(limits), HasSubstr("lower has 1 entries for 2 assets"));
  limits = {};
  limits.rows = {{"Energy", {1.0, std::nan("")}, 0.0, 1.0}};
  EXPECT_THAT(message(limits), HasSubstr("row 'Energy' of asset 2 is nan"));
  limits = {};
  limits.gross = -1.0;
  EXPECT_THAT(message(limits), HasSubstr("gross is at most -1"));
  limits = {};
  limits.turnover = 0.1;
  EXPECT_THAT(message(limits), HasSubstr("give holdings"));
  limits.holdings = {0.0, 0.0};
  limits.costs = {0.0, -1e-4};
  EXPECT_THAT(message(limits), HasSubstr("the cost of asset 2 is -0.0001"));
}

// Central differences, for coordinates along which no asset or row changes sides.
class Differences {
 public:
  Differences(LimitedSolver& solver, const risk::Risk& risk, const VectorXd& g)
      : solver_(solver), risk_(risk), g_(g) {}

  // d (g^T w) along `mu + t dmu, more + t dmore`; none where a side changes within the step.
  std::optional<double> along(const VectorXd& mu, const VectorXd& more, const VectorXd& dmu,
                              const VectorXd& dmore) {
    const auto [up, above] = at_point(mu + dmu, more + dmore);
    const auto [down, below] = at_point(mu - dmu, more - dmore);
    if (!above || !below || above->piece != below->piece || above->side != below->side) return {};
    return (up - down) / 2.0;
  }

 private:
  std::pair<double, std::unique_ptr<ActiveSet>> at_point(const VectorXd& mu, const VectorXd& more) {
    LimitedState state;
    VectorXd w(mu.size());
    const LimitedEnd end = solver_.forward(risk_, 0, view(mu), view(more), state, view(w));
    return {g_.dot(w), end == LimitedEnd::ok ? std::move(state.set) : nullptr};
  }

  LimitedSolver& solver_;
  const risk::Risk& risk_;
  const VectorXd& g_;
};

TEST(Limited, GradientsAreThoseOfFiniteDifferences) {
  Index checked = 0, turned = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("instance " + std::to_string(seed));
    Instance instance(seed, 14);
    const Index n = instance.n;
    const auto risk = risk_of(instance.Sigma);
    LimitedSolver solver(some_objective(instance, static_cast<int>(seed % 3)), instance.limits, n);
    VectorXd w(n), g(n), more(n), dL_dmu(n), dL_dmore(n);
    for (Index i = 0; i < n; ++i) {
      g(i) = instance.normal();
      more(i) = instance.Sigma(i, i) * (0.1 + (seed % 2 == 0 ? 0.0 : instance.uniform()));
    }
    LimitedState state;
    if (solver.forward(*risk, 0, view(instance.mu), view(more), state, view(w)) != LimitedEnd::ok)
      continue;
    solver.vjp(*risk, 0, view(instance.mu), view(more), state, view(g), view(dL_dmu),
               view(dL_dmore));
    Differences differences(solver, *risk, g);
    const VectorXd none = VectorXd::Zero(n);
    const double size = g.norm() * w.norm() + 1e-3;
    for (Index i = 0; i < n; ++i) {
      const double h = 1e-5 * std::abs(instance.mu(i)) + 1e-8;
      const auto by_mu = differences.along(instance.mu, more, h * VectorXd::Unit(n, i), none);
      const double d = 1e-5 * more(i);
      const auto by_more = differences.along(instance.mu, more, none, d * VectorXd::Unit(n, i));
      turned += !by_mu + !by_more;
      checked += by_mu.has_value() + by_more.has_value();
      EXPECT_NEAR(by_mu.value_or(h * dL_dmu(i)), h * dL_dmu(i), 3e-10 * size) << "mu " << i;
      EXPECT_NEAR(by_more.value_or(d * dL_dmore(i)), d * dL_dmore(i), 3e-10 * size) << "d " << i;
    }
  }
  EXPECT_GT(checked, 2000);
  EXPECT_LT(turned, checked / 20);
}

}  // namespace
}  // namespace sharpen::layer
