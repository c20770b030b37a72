// Times the exchange search with Sigma given: n = 500, k = 50 and n = 5,000, k = 100, one core.
// Every result is checked first: S(K) against a plain solve on the support, and no single
// exchange may lift it, by a plain recomputation of all pairs.
#include <fmt/format.h>
#include <lapacke.h>
#include <sys/resource.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "measure.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/layer/limited.hpp"
#include "sharpen/risk/risk.hpp"
#include "sharpen/select/explain.hpp"
#include "sharpen/select/limited.hpp"
#include "sharpen/select/select.hpp"

namespace {

using namespace sharpen;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr Index kLookback = 250;

// Returns of ten factors and noise of unequal size.
RowMatrix simulated_returns(Index rows, Index n, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  const auto draw = [&] { return normal(engine); };
  const RowMatrix loadings = RowMatrix::NullaryExpr(10, n, draw);
  const RowMatrix factors = RowMatrix::NullaryExpr(rows, 10, draw);
  RowMatrix returns = 0.004 * factors * loadings;
  for (Index j = 0; j < n; ++j) {
    const double sd = 0.008 * (1.0 + static_cast<double>(j % 5) / 2.0);
    for (Index t = 0; t < rows; ++t) returns(t, j) += sd * draw();
  }
  return returns;
}

struct Problem {
  std::string name;
  std::unique_ptr<risk::Risk> risk;
  RowMatrix returns;  // what the low-rank form refers to
};

// A covariance of factors plus noise, dense.
Problem factor_model(Index n, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  const RowMatrix F = RowMatrix::NullaryExpr(n, 10, [&] { return 0.004 * normal(engine); });
  RowMatrix Sigma = F * F.transpose();
  for (Index j = 0; j < n; ++j)
    Sigma(j, j) += std::pow(0.008 * (1.0 + static_cast<double>(j % 5) / 2.0), 2);
  risk::RiskSettings settings;
  settings.shrinkage = 0.0;
  settings.parts = {.lower = true, .root = false};
  return {"factor model, dense", risk::from_covariance({Sigma.data(), n, n}, settings), {}};
}

Problem sample_covariance(Index n, risk::Form form, std::mt19937_64& engine) {
  Problem problem;
  problem.name = form == risk::Form::dense ? "sample, dense" : "sample, low rank";
  problem.returns = simulated_returns(kLookback, n, engine);
  risk::RiskSettings settings;
  settings.form = form;
  settings.parts = {.lower = false, .root = false};
  const std::array<Index, 1> ends{kLookback};
  problem.risk = risk::from_windows({problem.returns.data(), kLookback, n}, kLookback, ends,
                                    settings, Threads(1));
  return problem;
}

// S(K), and the largest S over all single exchanges, from K's blocks of Sigma by plain algebra.
struct Check {
  double value = 0.0;
  double best_neighbour = 0.0;
};

double value_of(double A, double B, double C) { return B > 0.0 ? C : C - B * B / A; }

Check check(const risk::Risk& risk, const VectorXd& mu, const std::vector<Index>& K) {
  const Index n = risk.n(), k = static_cast<Index>(K.size());
  std::vector<double> scratch(static_cast<std::size_t>(risk.scratch_size()));
  MatrixXd columns(n, k);
  for (Index s = 0; s < k; ++s)
    risk.column(0, K[static_cast<std::size_t>(s)],
                {columns.col(s).data(), static_cast<std::size_t>(n)}, scratch);
  const VectorXd D = Eigen::Map<const VectorXd>(risk.diagonal(0).data(), n);
  const MatrixXd S = columns(K, Eigen::all);
  Check result;
  for (Index out = -1; out < k; ++out) {
    // K without one asset (none at first), and every other asset added to it.
    std::vector<Index> kept;
    for (Index s = 0; s < k; ++s)
      if (s != out) kept.push_back(s);
    const Eigen::LLT<MatrixXd> llt(S(kept, kept));
    const VectorXd ones = VectorXd::Ones(static_cast<Index>(kept.size()));
    const VectorXd m = mu(K)(kept);
    const VectorXd a = llt.solve(m), b = llt.solve(ones);
    if (out < 0) {
      result.value = value_of(b.sum(), a.sum(), a.dot(m));
      continue;
    }
    const MatrixXd cross = columns(Eigen::all, kept);
    const VectorXd rm = mu - cross * a;
    const VectorXd r1 = VectorXd::Ones(n) - cross * b;
    const VectorXd rv =
        D - llt.matrixL().solve(cross.transpose()).colwise().squaredNorm().transpose();
    for (Index j = 0; j < n; ++j) {
      if (std::find(K.begin(), K.end(), j) != K.end()) continue;
      result.best_neighbour =
          std::max(result.best_neighbour,
                   value_of(b.sum() + r1[j] * r1[j] / rv[j], a.sum() + rm[j] * r1[j] / rv[j],
                            a.dot(m) + rm[j] * rm[j] / rv[j]));
    }
  }
  return result;
}

double median_ms(select::Selector& selector, const risk::Risk& risk, const VectorXd& mu, int runs) {
  std::vector<double> times;
  select::Portfolio out;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    selector.run(risk, 0, {mu.data(), static_cast<std::size_t>(mu.size())}, out);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    times.push_back(took.count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Prints a line per problem and returns the slowest median; NaN if a result is wrong.
double slowest(Index n, Index k, int runs, std::mt19937_64& engine) {
  std::vector<Problem> problems;
  problems.push_back(factor_model(n, engine));
  problems.push_back(sample_covariance(n, risk::Form::dense, engine));
  problems.push_back(sample_covariance(n, risk::Form::low_rank, engine));
  std::normal_distribution<double> normal;
  double worst = 0.0;
  for (const Problem& problem : problems) {
    const risk::Risk& risk = *problem.risk;
    VectorXd mu = VectorXd::NullaryExpr(n, [&] { return 0.001 * normal(engine); });
    double B = 0.0;
    for (Index j = 0; j < n; ++j) B += risk.ones_solution(0)[static_cast<std::size_t>(j)] * mu[j];
    if (B < 0.0) mu = -mu;
    for (const bool face : {false, true}) {
      if (face) mu = -mu;
      select::SelectSettings settings;
      settings.k = k;
      settings.optimizer = select::Optimizer::greedy;
      select::Selector greedy(settings, risk);
      settings.optimizer = select::Optimizer::swap;
      select::Selector swap(settings, risk);
      select::Portfolio out;
      swap.run(risk, 0, {mu.data(), static_cast<std::size_t>(n)}, out);
      const Check checked = check(risk, mu, out.support);
      const bool right = out.outcome.solved() && static_cast<Index>(out.support.size()) == k &&
                         std::abs(*out.value - checked.value) <= 1e-9 * checked.value &&
                         checked.best_neighbour <= checked.value * (1 + 1e-9);
      const double greedy_ms = median_ms(greedy, risk, mu, runs);
      const double swap_ms = median_ms(swap, risk, mu, runs);
      fmt::print("swap n={} k={} {:<20} {:<7} greedy {:8.2f} ms, swap {:8.2f} ms{}\n", n, k,
                 problem.name, face ? "B <= 0" : "B > 0", greedy_ms, swap_ms,
                 right ? "" : "  WRONG RESULT");
      worst = right ? std::max(worst, swap_ms) : std::nan("");
      if (!right) return worst;
    }
  }
  return worst;
}

// A market over 60 days, in the low-rank form.
struct Market {
  Market(Index n, std::mt19937_64& engine)
      : returns(simulated_returns(60, n, engine)), mu(returns.colwise().mean().transpose()) {
    const Index T = returns.rows();
    risk::RiskSettings settings;
    settings.parts = {.lower = false, .root = true};
    risk = risk::from_windows({returns.data(), T, n}, T, std::span(&T, 1), settings, Threads(1));
  }
  ConstVec signal() const { return {mu.data(), static_cast<std::size_t>(mu.size())}; }

  RowMatrix returns;
  VectorXd mu;
  std::unique_ptr<risk::Risk> risk;
};

// Seconds for the reasons of k = n names; NaN if one of them is wrong by a plain solve without it.
double explain_seconds(Index n, std::mt19937_64& engine) {
  const Market market(n, engine);
  const auto& risk = market.risk;
  const ConstVec signal = market.signal();
  select::SelectSettings all{{.k = n}, select::Optimizer::symmetric};
  select::Selector selector(all, *risk);
  select::Portfolio found, without;
  selector.run(*risk, 0, signal, found);
  const auto start = std::chrono::steady_clock::now();
  const select::Explanation explanation = select::explain(all, *risk, 0, signal, found);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::vector<Index> others = found.support;
  others.erase(others.begin() + n / 2);
  selector.run_on(*risk, 0, signal, others, without);
  const double lost = explanation.reasons[static_cast<std::size_t>(n / 2)].sharpe_lost_if_removed;
  const bool right = std::abs(lost - (found.sharpe - without.sharpe)) <= 1e-9 * found.sharpe;
  return right ? took.count() : std::nan("");
}

// Resident memory at its largest, in MB, after a market of 200,000 assets: n^2 would be 320 GB.
double huge_market_mb(std::mt19937_64& engine) {
  constexpr Index n = 200000;
  const Market market(n, engine);
  const auto& risk = market.risk;
  const ConstVec signal = market.signal();
  select::Portfolio found;
  select::Selector({{.k = 10}}, *risk).run(*risk, 0, signal, found);
  const double full = select::full_sharpe(*risk, 0, signal, layer::Net::positive);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return found.sharpe <= full ? static_cast<double>(used.ru_maxrss) / 1024.0 : std::nan("");
}

// Milliseconds of this thread for long-only portfolios of k names, the median of several signals;
// NaN if one of them breaks a limit or does not say what its weights say.
double limited_ms(const risk::Risk& risk, Index k, std::mt19937_64& engine) {
  const Index n = risk.n();
  std::normal_distribution<double> normal;
  select::SelectSettings settings;
  settings.k = k;
  select::LimitedSelector selector(settings, n);
  layer::Limits limits;
  limits.lower.assign(static_cast<std::size_t>(n), 0.0);
  std::vector<double> Sw(static_cast<std::size_t>(n)), times;
  std::vector<double> scratch(static_cast<std::size_t>(risk.scratch_size()));
  select::Portfolio out;
  for (int i = 0; i < 5; ++i) {
    const VectorXd mu = VectorXd::NullaryExpr(n, [&] { return 0.001 * normal(engine); });
    const double start = bench::now(bench::Clock::cpu);
    selector.run(risk, 0, {mu.data(), static_cast<std::size_t>(n)}, limits, out);
    times.push_back(1e3 * (bench::now(bench::Clock::cpu) - start));
    const VectorXd w = Eigen::Map<const VectorXd>(out.weights.data(), n);
    risk.apply(0, out.weights, Sw, scratch);
    const double sharpe = mu.dot(w) / std::sqrt(w.dot(Eigen::Map<const VectorXd>(Sw.data(), n)));
    const bool right = out.outcome.status == Status::ok && w.minCoeff() >= 0.0 &&
                       (w.array() != 0.0).count() <= k && std::abs(w.sum() - 1.0) <= 1e-9 &&
                       std::abs(*out.value - sharpe) <= 1e-9 * sharpe;
    if (!right) return std::nan("");
  }
  return bench::median(times);
}

// Milliseconds of this thread for a decision that follows another one, the mean of many days with
// signals that last: names and risk aversion from the portfolio without costs, net position not
// negative. NaN if one of them is of too many names or does not say what its weights say.
double costed_decision_ms(Index n, Index k, std::mt19937_64& engine) {
  constexpr Index kRows = 100, kDays = 200;
  constexpr double kVolatility = 0.0063, kCost = 8e-4;
  std::normal_distribution<double> normal;
  const auto size = static_cast<std::size_t>(n);
  const RowMatrix returns = simulated_returns(kRows + kDays, n, engine);
  std::vector<Index> ends;
  for (Index d = 0; d < kDays; ++d) ends.push_back(kRows + d);
  risk::RiskSettings windows;
  windows.parts = {.lower = false, .root = false};
  const auto risk =
      risk::from_windows({returns.data(), kRows + kDays, n}, kRows, ends, windows, Threads(1));
  select::SelectSettings free, costed;
  free.k = costed.k = k;
  free.sizing = {.kind = layer::Sizing::volatility, .target_volatility = kVolatility};
  costed.objective.kind = layer::Objective::utility;
  select::Selector ideal(free, *risk);
  select::LimitedSelector decide(costed, n);
  select::Portfolio wanted, out;
  layer::Limits limits;
  limits.holdings.assign(size, 0.0);
  limits.costs.assign(size, kCost);
  limits.rows.push_back({"net", std::vector<double>(size, 1.0), 0.0});
  std::vector<double> scratch(static_cast<std::size_t>(risk->scratch_size())), z(size), Sw(size);
  VectorXd x = VectorXd::Zero(n), s(n);
  double seconds = 0.0;
  for (Index d = 0; d < kDays; ++d) {
    x = 0.9 * x + 0.436 * VectorXd::NullaryExpr(n, [&] { return normal(engine); });
    s = x.cwiseProduct(Eigen::Map<const VectorXd>(risk->diagonal(d).data(), n).cwiseSqrt());
    const ConstVec signal{s.data(), size};
    s /= std::sqrt(risk->solve(d, signal, z, scratch));
    ideal.run(*risk, d, signal, wanted);
    const double gamma = std::sqrt(*wanted.value) / kVolatility;
    const double start = bench::now(bench::Clock::cpu);
    decide.run_from(*risk, d, signal, limits, {gamma, wanted.support}, out);
    seconds += bench::now(bench::Clock::cpu) - start;
    risk->apply(d, out.weights, Sw, scratch);
    double value = 0.0;
    for (std::size_t i = 0; i < size; ++i)
      value += (signal[i] - 0.5 * gamma * Sw[i]) * out.weights[i] -
               kCost * std::abs(out.weights[i] - limits.holdings[i]);
    const bool right = out.outcome.solved() && static_cast<Index>(out.support.size()) <= k &&
                       std::abs(*out.value - value) <= 1e-9 * std::abs(value);
    if (!right) return std::nan("");
    for (std::size_t i = 0; i < size; ++i)
      limits.holdings[i] = out.weights[i] * (1.0 + returns(kRows + d, static_cast<Index>(i)));
  }
  return 1e3 * seconds / kDays;
}

// Of problems of three factors, long-only, capped in every second one: the mean of what `swap`
// finds of the best of all supports, and in how many it finds that, both in percent.
struct Found {
  double value = 0.0, equal = 0.0;
};

Found limited_against_all(int problems, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<Index> sizes(6, 18), few(2, 4);
  Found found;
  int count = 0;
  for (int problem = 0; problem < problems; ++problem) {
    const Index n = sizes(engine), k = few(engine);
    const RowMatrix F = RowMatrix::NullaryExpr(n, 3, [&] { return 0.01 * normal(engine); });
    RowMatrix Sigma = F * F.transpose();
    Sigma.diagonal().array() += 5e-5;
    const VectorXd mu = VectorXd::NullaryExpr(n, [&] { return 0.001 * (normal(engine) + 0.5); });
    risk::RiskSettings plain;
    plain.shrinkage = 0.0;
    const auto risk = risk::from_covariance({Sigma.data(), n, n}, plain);
    layer::Limits limits;
    limits.lower.assign(static_cast<std::size_t>(n), 0.0);
    limits.upper.assign(static_cast<std::size_t>(n), problem % 2 == 0 ? 1.0 : 0.6);
    const ConstVec signal{mu.data(), static_cast<std::size_t>(n)};
    layer::LimitedSolver solver({}, limits, n);
    std::vector<double> upper(limits.upper);
    double best = 0.0;
    for (unsigned mask = 1; mask < 1u << n; ++mask) {
      if (std::popcount(mask) != static_cast<int>(k)) continue;
      for (std::size_t i = 0; i < upper.size(); ++i)
        upper[i] = (mask >> i & 1u) != 0 ? limits.upper[i] : 0.0;
      if (solver.forward_within(*risk, 0, signal, limits.lower, upper) == layer::LimitedEnd::ok)
        best = std::max(best, solver.value());
    }
    if (best <= 0.0) continue;
    select::SelectSettings settings;
    settings.k = k;
    select::Portfolio out;
    select::LimitedSelector(settings, n).run(*risk, 0, signal, limits, out);
    const double share = out.value.value_or(0.0) / best;
    found.value += 100.0 * share;
    found.equal += share > 1.0 - 1e-9 ? 100.0 : 0.0;
    ++count;
  }
  return {found.value / count, found.equal / count};
}

void report_limited(std::mt19937_64& engine) {
  const Problem small = factor_model(500, engine);
  const Problem sample = sample_covariance(500, risk::Form::dense, engine);
  const Problem large = sample_covariance(5000, risk::Form::low_rank, engine);
  const double factors = limited_ms(*small.risk, 50, engine);
  const double samples = limited_ms(*sample.risk, 50, engine);
  const double slower = std::isnan(factors) ? factors : std::max(samples, factors);
  bench::at_most("limited_swap_n500_k50_ms", slower, 40.0);
  bench::at_most("limited_swap_n5000_k100_ms", limited_ms(*large.risk, 100, engine), 1000.0);
  bench::at_most("costed_decision_n200_k20_ms", costed_decision_ms(200, 20, engine), 0.5);
  const Found found = limited_against_all(1000, engine);
  bench::at_least("limited_swap_equal_enumeration_percent", found.equal, 95.0);
  bench::at_least("limited_swap_value_percent", found.value, 99.9);
}

bool report(const char* name, double value, double bound) {
  const bool ok = value <= bound;
  fmt::print("bench: {} {:.3g} <={:g} {}\n", name, value, bound, ok ? "ok" : "short");
  return ok;
}

}  // namespace

int main() {
  std::mt19937_64 engine(2024);
  const double small = slowest(500, 50, 21, engine);
  const double large = slowest(5000, 100, 5, engine);
  report("swap_n500_k50_ms", small, 5.0);
  report("swap_n5000_k100_ms", large, 250.0);
  const double explained = explain_seconds(2400, engine), megabytes = huge_market_mb(engine);
  report("explain_n2400_k2400_s", explained, 2.0);
  report("solve_n200000_k10_mb", megabytes, 2000.0);
  report_limited(engine);
  return std::isnan(small + large + explained + megabytes) ? 1 : 0;
}
