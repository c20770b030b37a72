// Decisions that follow each other: what is held and what trading costs.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/layer/limited.hpp"
#include "sharpen/select/limited.hpp"
#include "support/problems.hpp"

namespace sharpen::select {
namespace {

using Eigen::VectorXd;
using layer::Objective;
using sharpen::testing::Problems;
using sharpen::testing::RowMatrix;
using sharpen::testing::view;

// Windows of returns, one sample a day, and signals that last.
struct TradeDays {
  static constexpr Index kRows = 100;

  TradeDays(unsigned seed, Index n_, Index days) : n(n_), problems(seed) {
    returns = problems.returns(kRows + days, n);
    std::vector<Index> ends;
    for (Index d = 0; d < days; ++d) ends.push_back(kRows + d);
    risk::RiskSettings settings;
    settings.parts = {.lower = false, .root = false};
    risk = risk::from_windows(view(returns), kRows, ends, settings, Threads(1));
    scratch.resize(at(risk->scratch_size()));
    x = VectorXd::Zero(n);
    for (Index d = 0; d < days; ++d) signals.push_back(next_signal(d));
  }

  VectorXd next_signal(Index d) {
    VectorXd s(n), z(n);
    x = 0.9 * x + 0.436 * problems.vector(n);
    for (Index i = 0; i < n; ++i) s[i] = x[i] * std::sqrt(risk->diagonal(d)[at(i)]);
    return s / std::sqrt(risk->solve(d, view(s), view(z), scratch));
  }
  layer::Limits limits(ConstVec held, double cost, bool net) const {
    layer::Limits out;
    out.holdings.assign(held.begin(), held.end());
    out.costs.assign(at(n), cost);
    if (net) out.rows.push_back({"net", std::vector<double>(at(n), 1.0), 0.0});
    return out;
  }
  double value(Index d, double gamma, const layer::Limits& limits, ConstVec w) {
    std::vector<double> Sw(w.size());
    risk->apply(d, w, Sw, scratch);
    double value = 0.0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      value += signals[at(d)][static_cast<Index>(i)] * w[i] - 0.5 * gamma * w[i] * Sw[i];
      if (!limits.costs.empty()) value -= limits.costs[i] * std::abs(w[i] - limits.holdings[i]);
    }
    return value;
  }

  Index n;
  Problems problems;
  RowMatrix returns;
  std::unique_ptr<risk::Risk> risk;
  std::vector<double> scratch;
  VectorXd x;
  std::vector<VectorXd> signals;
};

SelectSettings utility_of(Index k, double gamma = 1.0) {
  SelectSettings settings;
  settings.k = k;
  settings.objective = {.kind = Objective::utility, .risk_aversion = gamma};
  return settings;
}

constexpr double kGamma = 60.0, kCost = 2e-3;

// The best of all supports of at most k names, by solving on each.
double best_of_all(TradeDays& days, Index d, Index k, const layer::Limits& limits) {
  const Index n = days.n;
  layer::LimitedSolver solver({.kind = Objective::utility, .risk_aversion = kGamma}, limits, n);
  std::vector<double> lower(at(n)), upper(at(n));
  double best = -std::numeric_limits<double>::infinity();
  for (unsigned mask = 0; mask < 1u << n; ++mask) {
    if (std::popcount(mask) > static_cast<int>(k)) continue;
    bool possible = true;
    for (Index i = 0; i < n; ++i) {
      const bool in = (mask >> i & 1u) != 0;
      possible = possible && (in || !solver.must_be_held(i));
      lower[at(i)] = in ? solver.lower(i) : 0.0;
      upper[at(i)] = in ? solver.upper(i) : 0.0;
    }
    if (!possible) continue;
    if (is_solved(solver.forward_within(*days.risk, d, view(days.signals[at(d)]), lower, upper)))
      best = std::max(best, solver.value());
  }
  return best;
}

// Random holdings of up to k names; then by kind: free, net >= 0, two names fixed, bounds.
layer::Limits random_limits(TradeDays& days, Index d, Index k, int kind) {
  std::vector<double> held(at(days.n));
  for (Index a = 0; a < days.problems.below(k + 1); ++a)
    held[at(days.problems.below(days.n))] = 0.1 * days.problems.normal();
  const double cost = std::array{0.1, 1.0, 3.0}[at(d % 3)] * kCost;
  layer::Limits limits = days.limits(held, cost, kind % 2 == 1);
  if (kind >= 2) {
    limits.lower.assign(at(days.n), kind >= 4 ? -0.15 : -layer::kUnlimited);
    limits.upper.assign(at(days.n), kind >= 4 ? 0.2 : layer::kUnlimited);
    const Index fixed = days.problems.below(days.n);
    for (const Index i : {fixed, (fixed + 1) % days.n})
      limits.lower[at(i)] = limits.upper[at(i)] = held[at(i)];
  }
  return limits;
}

TEST(TradedSelection, FindsTheBestOfAllSupports) {
  constexpr Index kDays = 300;
  int equal = 0, count = 0;
  for (const Index k : {2, 3, 4}) {
    TradeDays days(static_cast<unsigned>(10 + k), 9, kDays / 3);
    LimitedSelector selector(utility_of(k), 9);
    for (Index d = 0; d < kDays / 3; ++d) {
      const layer::Limits limits = random_limits(days, d, k, static_cast<int>(d % 6));
      const double best = best_of_all(days, d, k, limits);
      if (!std::isfinite(best)) continue;
      SCOPED_TRACE(::testing::Message() << "k = " << k << ", day " << d);
      std::vector<Index> wanted;
      for (Index i = 0; i < k; ++i) wanted.push_back((2 * i + d) % 9);
      std::ranges::sort(wanted);
      Portfolio p;
      selector.run_from(*days.risk, d, view(days.signals[at(d)]), limits,
                        {.risk_aversion = kGamma, .names = wanted}, p);
      ASSERT_TRUE(p.value);
      EXPECT_EQ(p.outcome.status, p.support.empty() ? Status::no_signal : Status::ok);
      EXPECT_LE(p.support.size(), at(k));
      EXPECT_NEAR(*p.value, days.value(d, kGamma, limits, p.weights), 1e-12);
      EXPECT_NEAR(*p.theta, 1.0 / kGamma, 1e-15);
      const double lost = best == *p.value ? 0.0 : (best - *p.value) / std::abs(best);
      EXPECT_GE(lost, -1e-9);
      EXPECT_LE(lost, 0.02);
      equal += lost <= 1e-9;
      ++count;
    }
  }
  EXPECT_GE(count, 290);
  EXPECT_GE(equal, 0.97 * count);
}

TEST(TradedSelection, IsAsGoodAsTheSearchOfAllNames) {
  for (const auto& [n, k] : {std::pair<Index, Index>{60, 8}, {200, 20}}) {
    constexpr Index kDays = 12;
    TradeDays days(n, n, kDays);
    LimitedSelector from(utility_of(k), n), anew(utility_of(k, kGamma), n);
    std::vector<double> held(at(n));
    std::vector<Index> wanted;
    double mean = 0.0;
    for (Index d = 0; d < kDays; ++d) {
      const layer::Limits limits = days.limits(held, kCost, true),
                          free = days.limits(held, 0, true);
      Portfolio ideal, p, q;
      const ConstVec s = view(days.signals[at(d)]);
      anew.run(*days.risk, d, s, free, ideal);
      from.run_from(*days.risk, d, s, limits, {kGamma, ideal.support}, p);
      anew.run(*days.risk, d, s, limits, q);
      ASSERT_TRUE(p.outcome.solved());
      EXPECT_LE(p.support.size(), at(k));
      EXPECT_GE(*p.value, *q.value - 0.01 * std::abs(*q.value)) << n << ", day " << d;
      mean += *p.value / *q.value / kDays;
      held = p.weights;
    }
    EXPECT_GE(mean, 0.998);
  }
}

TEST(TradedSelection, WithoutCostsIsTheSearchWithoutThem) {
  constexpr Index n = 80, k = 8;
  TradeDays days(3, n, 10);
  LimitedSelector from(utility_of(k), n), anew(utility_of(k, kGamma), n);
  const std::vector<double> nothing(at(n));
  for (Index d = 0; d < 10; ++d) {
    const ConstVec s = view(days.signals[at(d)]);
    layer::Limits free = days.limits(nothing, 0.0, true);
    Portfolio p, q;
    anew.run(*days.risk, d, s, free, q);
    from.run_from(*days.risk, d, s, free, {kGamma, q.support}, p);
    EXPECT_GE(*p.value, (1.0 - 1e-9) * *q.value);
    free.holdings.clear();
    free.costs.clear();
    from.run_from(*days.risk, d, s, free, {kGamma, q.support}, p);
    EXPECT_GE(*p.value, (1.0 - 1e-9) * *q.value);
  }
}

TEST(TradedSelection, LeavesAloneWhatIsNotWorthATrade) {
  constexpr Index n = 120, k = 10;
  TradeDays days(5, n, 6);
  LimitedSelector selector(utility_of(k), n);
  std::vector<double> held(at(n));
  for (Index a = 0; a < k; ++a) held[at(11 * a)] = 0.05 * days.problems.normal() + 0.03;
  held[0] = 1e-19;
  held[11] = std::abs(held[11]) + 1.0;  // net
  std::vector<Index> wanted(at(k));
  std::iota(wanted.begin(), wanted.end(), 40);
  for (Index d = 0; d < 6; ++d)
    for (const double cost : {1.0, 1e3, 1e6}) {
      Portfolio p;
      selector.run_from(*days.risk, d, view(days.signals[at(d)]), days.limits(held, cost, true),
                        {kGamma, wanted}, p);
      ASSERT_TRUE(p.outcome.solved());
      EXPECT_EQ(p.weights, held);
    }
  // At moderate costs, some are traded, and the others not by a single bit.
  Index kept = 0, traded = 0;
  for (Index d = 0; d < 6; ++d) {
    Portfolio p;
    selector.run_from(*days.risk, d, view(days.signals[at(d)]), days.limits(held, kCost, true),
                      {kGamma, wanted}, p);
    for (std::size_t i = 0; i < at(n); ++i) {
      if (std::abs(held[i]) < 1e-12) continue;  // dust goes where names need its place
      kept += p.weights[i] == held[i];
      traded += p.weights[i] != held[i];
      const double moved = std::abs(p.weights[i] - held[i]);
      EXPECT_TRUE(moved == 0.0 || moved > 1e-12) << moved;
    }
    held = p.weights;
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(traded, 0);
}

TEST(TradedSelection, DependsOnNothingButItsArguments) {
  constexpr Index n = 150, k = 12;
  TradeDays days(8, n, 15);
  LimitedSelector in_a_row(utility_of(k), n);
  std::vector<double> held(at(n));
  Portfolio p, alone;
  for (Index d = 0; d < 15; ++d) {
    const ConstVec s = view(days.signals[at(d)]);
    const double gamma = kGamma * (1.0 + 0.1 * static_cast<double>(d % 3));
    layer::Limits limits = days.limits(held, kCost * static_cast<double>(1 + d % 2), d % 4 != 0);
    if (d % 5 == 4) limits.upper.assign(at(n), 0.1);
    const std::vector<Index> wanted{d, d + 20, d + 40};
    in_a_row.run_from(*days.risk, d, s, limits, {gamma, wanted}, p);
    LimitedSelector(utility_of(k), n).run_from(*days.risk, d, s, limits, {gamma, wanted}, alone);
    EXPECT_EQ(p.weights, alone.weights) << d;
    EXPECT_EQ(p.value, alone.value) << d;
    held = p.weights;
  }
}

TEST(TradedSelection, CountsNamesThatCannotBeTraded) {
  constexpr Index n = 60, k = 6;
  TradeDays days(9, n, 4);
  LimitedSelector selector(utility_of(k), n);
  std::vector<double> held(at(n));
  for (Index a = 0; a < k; ++a) held[at(7 * a)] = 0.1;
  for (Index d = 0; d < 4; ++d) {
    layer::Limits limits = days.limits(held, 1e-5, true);
    limits.lower.assign(at(n), -layer::kUnlimited);
    limits.upper.assign(at(n), layer::kUnlimited);
    for (const Index i : {0, 7, 14, 5}) limits.lower[at(i)] = limits.upper[at(i)] = held[at(i)];
    Portfolio p;
    selector.run_from(*days.risk, d, view(days.signals[at(d)]), limits, {kGamma, {}}, p);
    ASSERT_TRUE(p.outcome.solved());
    EXPECT_LE(p.support.size(), at(k));
    for (const Index i : {0, 7, 14, 5}) EXPECT_EQ(p.weights[at(i)], held[at(i)]);
  }
}

TEST(TradedSelection, RefusesWhatItCannotStartFrom) {
  TradeDays days(1, 12, 1);
  const layer::Limits limits = days.limits(std::vector<double>(12), kCost, false);
  const std::vector<Index> nobody{12};
  Portfolio p;
  LimitedSelector sharpe({{.k = 3}}, 12), utility(utility_of(3), 12);
  const ConstVec s = view(days.signals[0]);
  EXPECT_THROW(sharpe.run_from(*days.risk, 0, s, limits, {kGamma, {}}, p), InputError);
  EXPECT_THROW(utility.run_from(*days.risk, 0, s, limits, {kGamma, nobody}, p), InputError);
  EXPECT_THROW(utility.run_from(*days.risk, 0, s, limits, {0.0, {}}, p), InputError);
  const std::vector<double> bad(12, std::numeric_limits<double>::quiet_NaN());
  utility.run_from(*days.risk, 0, bad, limits, {kGamma, {}}, p);
  EXPECT_EQ(p.outcome.status, Status::invalid_input);
}

}  // namespace
}  // namespace sharpen::select
