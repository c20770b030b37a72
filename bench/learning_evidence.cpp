// What trainings came to before costs (docs/learning.md), with the settings that were the defaults
// when nothing traded at a cost, on simulated markets. Every cell is one training, its result one
// line of a file, so that a run that was stopped goes on where it was:
//   learning_evidence FILE          runs what is missing, then prints the tables
//   learning_evidence FILE --print  prints the tables of what is there
//
// A market has 50 assets and 4,500 days; the first 2,000 train (the last fifth of them validate),
// 2,499 test. A cell trains eight members. "single" are the first four, each by itself; "ensemble"
// is the mean direction of all eight. Sharpe ratios are annualised, out of sample, before costs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "evidence.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/learn/train.hpp"
#include "sharpen/market/simulate.hpp"

namespace {

using namespace sharpen;
using bench::Moments;
using bench::moments;

constexpr int kMembers = 8;
constexpr int kAlone = 4;  // members that are also backtested alone
constexpr std::uint64_t kMarkets[] = {101, 102, 103};
// Markets that nothing was chosen on, for what was chosen on the others.
constexpr std::uint64_t kFreshMarkets[] = {201, 202, 203};
constexpr std::uint64_t kSeeds[] = {1, 2, 3, 4, 5};
constexpr double kShares[] = {10.0, 15.0, 20.0};
constexpr Index kTraining = 2000, kDays = 4500;
constexpr int kNullMarkets = 20;

struct Method {
  std::string name;
  double alpha = 0.5;
  learn::Mixing mixing = learn::Mixing::balanced;
  layer::Reoptimization reoptimization = layer::Reoptimization::restricted;
  learn::NetworkKind network = learn::NetworkKind::shared;
  Index horizon = 1;
  learn::DecisionLoss loss = learn::DecisionLoss::mean_return;
  std::vector<Index> hidden = {64, 32};
};

using enum learn::Mixing;
using enum layer::Reoptimization;

const std::vector<Method> kMain = {
    {.name = "pfl", .alpha = 0.0},
    {.name = "dfl-masked-literal", .mixing = literal, .reoptimization = masked},
    {.name = "dfl-masked-balanced", .mixing = balanced, .reoptimization = masked},
    {.name = "dfl-restricted-literal", .mixing = literal, .reoptimization = restricted},
    {.name = "dfl-restricted-balanced", .mixing = balanced, .reoptimization = restricted},
};

// PFL, what was chosen, and its nearest rival.
const std::vector<Method> kChosen = {kMain[0], kMain[1], kMain[2]};

// Of the balanced, restricted DFL; 0 and 0.5 are in the main table.
const std::vector<Method> kAlphas = {
    {.name = "alpha-0.1", .alpha = 0.1},
    {.name = "alpha-0.9", .alpha = 0.9},
    {.name = "alpha-1", .alpha = 1.0},
};

const std::vector<Method> kVariants = {
    {.name = "joint-pfl", .alpha = 0.0, .network = learn::NetworkKind::joint},
    {.name = "joint-dfl", .network = learn::NetworkKind::joint},
    {.name = "horizon-5-pfl", .alpha = 0.0, .horizon = 5},
    {.name = "horizon-5-dfl", .horizon = 5},
    {.name = "sharpe-dfl", .loss = learn::DecisionLoss::sharpe},
};

std::span<const std::uint64_t> markets_of(std::string_view table) {
  return table == "fresh" ? kFreshMarkets : kMarkets;
}

market::Panel simulated(std::uint64_t seed, Index days, double predictability) {
  market::SimulationSettings settings;
  settings.assets = 50;
  settings.days = days;
  settings.seed = seed;
  settings.predictability = predictability;
  return market::simple_returns(market::simulate(settings));
}

backtest::BacktestSettings backtest_settings(const Method& method, double share,
                                             std::uint64_t seed) {
  backtest::BacktestSettings s;
  s.framework = method.alpha > 0.0 ? backtest::Framework::dfl : backtest::Framework::pfl;
  s.k = {.count = 0, .percent = share};
  s.sizing = {.kind = layer::Sizing::volatility, .target_volatility = 0.1 / std::sqrt(252.0)};
  s.bootstrap.replications = 1;
  s.rules = {.rule = trade::Rule::none, .memory = 1};
  s.account.cost_bps = {};
  learn::TrainSettings& t = s.training;
  t.network = method.network;
  t.hidden = method.hidden;
  t.inputs = learn::Inputs::returns;
  t.prediction_loss = learn::PredictionLoss::squared;
  t.validation = 0.2;
  t.epochs = 30;
  t.rules = s.rules;
  t.train_block = 0;
  t.train_cost_bps = 0.0;
  t.alpha = method.alpha;
  t.mixing = method.mixing;
  t.decision_loss = method.loss;
  t.horizon = method.horizon;
  t.layer.reoptimization = method.reoptimization;
  t.mandate = s;
  t.ensemble = kMembers;
  t.seed = seed;
  return s;
}

market::Panel first_rows(const market::Panel& panel, Index rows) {
  market::Panel out = panel;
  out.dates.resize(static_cast<std::size_t>(rows));
  out.values.resize(static_cast<std::size_t>(rows * panel.n()));
  return out;
}

// By key, "table market seed share method": the Sharpe ratio of the ensemble, then of each member.
using Results = bench::Cells;

std::string key_of(std::string_view table, std::uint64_t market, std::uint64_t seed, double share,
                   const std::string& method) {
  return fmt::format("{} {} {} {} {}", table, market, seed, share, method);
}

// The walk alone, without the regret and the intervals of a whole backtest.
double sharpe_of(const market::Panel& returns, const backtest::BacktestSettings& settings,
                 const learn::Model& model, const Threads& threads) {
  backtest::WalkSettings walk;
  walk.first_row = kTraining;
  std::vector<Index> rows;
  for (Index row = kTraining; row < returns.rows(); ++row) rows.push_back(row - 1);
  backtest::Expectations expected =
      backtest::learned_expectations(returns, rows, {}, &model, threads, {});
  const backtest::OptimizerPolicy policy(
      std::make_unique<backtest::GivenSignal>(returns, rows, std::move(expected.values)),
      solve::optimizer_named("swap"), settings);
  const backtest::Run run = backtest::walk_forward(returns, policy, walk, threads);
  return backtest::metrics(run.track(252.0)).sharpe_annualized;
}

// One training and its backtests: the ensemble, then every member alone.
std::vector<double> run_cell(const market::Panel& returns, const Method& method, double share,
                             std::uint64_t seed, const Threads& threads) {
  const backtest::BacktestSettings s = backtest_settings(method, share, seed);
  const learn::Model model =
      learn::train(first_rows(returns, kTraining), s.training, 252.0, threads);
  std::vector<double> out(kAlone + 1);
  out[0] = sharpe_of(returns, s, model, threads);
  for (int m = 0; m < kAlone; ++m) {
    learn::Model alone = model;
    alone.members = {model.members[static_cast<std::size_t>(m)]};
    alone.settings.ensemble = 1;
    out[static_cast<std::size_t>(m + 1)] = sharpe_of(returns, s, alone, threads);
  }
  return out;
}

void run_table(Results& results, std::string_view table, const std::vector<Method>& methods,
               std::span<const double> shares, const Threads& threads) {
  for (const std::uint64_t seed : kSeeds)
    for (const std::uint64_t market : markets_of(table)) {
      market::Panel returns;
      for (const double share : shares)
        for (const Method& method : methods) {
          const std::string key = key_of(table, market, seed, share, method.name);
          if (results.find(key) != nullptr) continue;
          if (returns.dates.empty()) returns = simulated(market, kDays, 0.15);
          results.add(key, run_cell(returns, method, share, seed, threads));
          std::cerr << key << '\n';
        }
    }
}

// Historic, which has no seed: the ensemble's column, repeated.
void run_historic(Results& results, const Threads& threads) {
  for (const std::uint64_t market : kMarkets)
    for (const double share : kShares) {
      const std::string key = key_of("main", market, 0, share, "historic");
      if (results.find(key) != nullptr) continue;
      const market::Panel returns = simulated(market, kDays, 0.15);
      backtest::BacktestSettings s = backtest_settings(kMain[0], share, 0);
      s.framework = backtest::Framework::historic;
      s.split = returns.dates[static_cast<std::size_t>(kTraining)];
      const double sharpe = backtest::backtest(returns, s, threads).metrics.sharpe_annualized;
      results.add(key, std::vector<double>(kAlone + 1, sharpe));
    }
}

// Null markets are short: nothing can be learned, however long they are.
void run_null(Results& results, const Threads& threads) {
  for (int i = 0; i < kNullMarkets; ++i)
    for (const Method& method : {kMain[0], kMain[1], kMain[4]}) {
      const auto market = static_cast<std::uint64_t>(1001 + i);
      const std::string key = key_of("null", market, 1, 10.0, method.name);
      if (results.find(key) != nullptr) continue;
      results.add(key, run_cell(simulated(market, 2500, 0.0), method, 10.0, 1, threads));
      std::cerr << key << '\n';
    }
}

enum class Kind { single, ensemble };

// One number per market and seed: the ensemble's, or the mean of its members' alone.
std::vector<double> column(const Results& results, std::string_view table, double share,
                           const std::string& method, Kind kind) {
  std::vector<double> out;
  for (const std::uint64_t market : markets_of(table))
    for (const std::uint64_t seed : kSeeds) {
      const std::string key = key_of(table, market, method == "historic" ? 0 : seed, share, method);
      if (results.find(key) == nullptr) return {};
      const std::vector<double>& row = *results.find(key);
      out.push_back(kind == Kind::ensemble
                        ? row[0]
                        : moments(std::vector<double>(row.begin() + 1, row.end())).mean);
    }
  return out;
}

// The spread between single networks of one market: what a single seed's number is worth.
double spread_of_singles(const Results& results, std::string_view table, double share,
                         const std::string& method) {
  double variance = 0.0;
  for (const std::uint64_t market : markets_of(table)) {
    std::vector<double> all;
    for (const std::uint64_t seed : kSeeds) {
      const auto& row =
          *results.find(key_of(table, market, method == "historic" ? 0 : seed, share, method));
      all.insert(all.end(), row.begin() + 1, row.end());
    }
    variance += std::pow(moments(all).sd, 2) / static_cast<double>(std::size(kMarkets));
  }
  return std::sqrt(variance);
}

double spread_of_ensembles(const std::vector<double>& ensembles) {
  double variance = 0.0;
  const std::size_t seeds = std::size(kSeeds);
  for (std::size_t m = 0; m < std::size(kMarkets); ++m)
    variance +=
        std::pow(
            moments(std::vector<double>(ensembles.begin() + static_cast<Index>(m * seeds),
                                        ensembles.begin() + static_cast<Index>((m + 1) * seeds)))
                .sd,
            2) /
        static_cast<double>(std::size(kMarkets));
  return std::sqrt(variance);
}

std::string by_market(const std::vector<double>& x) {
  std::string out;
  const std::size_t seeds = std::size(kSeeds);
  for (std::size_t m = 0; m < std::size(kMarkets); ++m)
    out += fmt::format("{}{:.2f}", m == 0 ? "" : " / ",
                       moments(std::vector<double>(x.begin() + static_cast<Index>(m * seeds),
                                                   x.begin() + static_cast<Index>((m + 1) * seeds)))
                           .mean);
  return out;
}

// A row: singles, ensembles, and what the ensemble gains on `base` over the same markets and seeds.
void print_row(const Results& results, std::string_view table, double share,
               const std::string& method, const std::vector<double>& base) {
  const auto single = column(results, table, share, method, Kind::single),
             ensemble = column(results, table, share, method, Kind::ensemble);
  if (single.empty()) return;
  std::string gain = "–";
  if (!base.empty() && base != ensemble) {
    std::vector<double> d(ensemble.size());
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = ensemble[i] - base[i];
    const Moments m = moments(d);
    const auto better = std::count_if(d.begin(), d.end(), [](double x) { return x > 0.0; });
    gain = fmt::format("{:+.2f} ± {:.2f} ({} of {})", m.mean, m.standard_error(), better, d.size());
  }
  fmt::print("| {:g} % | {} | {:.2f} ± {:.2f} | {:.2f} ± {:.2f} | {} | {} |\n", share, method,
             moments(single).mean, spread_of_singles(results, table, share, method),
             moments(ensemble).mean, spread_of_ensembles(ensemble), by_market(ensemble), gain);
}

void print_header() {
  fmt::print(
      "| k | method | single | ensemble of 8 | by market | ensemble against PFL's |\n"
      "|---|---|---|---|---|---|\n");
}

void print_tables(const Results& results) {
  fmt::print("Main table: annualised Sharpe, mean ± sd between seeds within a market\n\n");
  print_header();
  for (const double share : kShares) {
    const auto base = column(results, "main", share, "pfl", Kind::ensemble);
    print_row(results, "main", share, "historic", base);
    for (const Method& method : kMain) print_row(results, "main", share, method.name, base);
  }
  fmt::print("\nThe same on fresh markets\n\n");
  print_header();
  for (const double share : kShares) {
    const auto base = column(results, "fresh", share, "pfl", Kind::ensemble);
    for (const Method& method : kChosen) print_row(results, "fresh", share, method.name, base);
  }
  fmt::print("\nalpha, of balanced and restricted DFL\n\n");
  print_header();
  for (const double share : kShares) {
    const auto base = column(results, "main", share, "pfl", Kind::ensemble);
    print_row(results, "main", share, "pfl", {});
    print_row(results, "alpha", share, "alpha-0.1", base);
    print_row(results, "main", share, "dfl-restricted-balanced", base);
    print_row(results, "alpha", share, "alpha-0.9", base);
    print_row(results, "alpha", share, "alpha-1", base);
  }
  fmt::print("\nOther choices, k = 15 %\n\n");
  print_header();
  const auto base = column(results, "main", 15.0, "pfl", Kind::ensemble);
  for (const Method& method : kVariants) print_row(results, "variant", 15.0, method.name, base);
  fmt::print(
      "\nNull markets\n\n| method | markets | mean | standard error | mean / standard error |\n"
      "|---|---|---|---|---|\n");
  for (const Method& method : {kMain[0], kMain[1], kMain[4]}) {
    std::vector<double> x;
    for (int i = 0; i < kNullMarkets; ++i) {
      const std::string key =
          key_of("null", static_cast<std::uint64_t>(1001 + i), 1, 10.0, method.name);
      if (results.find(key) != nullptr) x.push_back(results.find(key)->front());
    }
    const Moments m = moments(x);
    if (m.count > 1)
      fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} |\n", method.name, m.count, m.mean,
                 m.standard_error(), m.mean / m.standard_error());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: learning_evidence FILE [--print]\n";
    return 2;
  }
  Results results(argv[1], kAlone + 1);
  if (argc == 2) {
    const Threads threads(0);
    const double middle[] = {15.0};
    run_historic(results, threads);
    run_table(results, "main", kMain, kShares, threads);
    run_null(results, threads);
    run_table(results, "alpha", kAlphas, middle, threads);
    run_table(results, "variant", kVariants, middle, threads);
    run_table(results, "fresh", kChosen, kShares, threads);
    run_table(results, "alpha", kAlphas, kShares, threads);
  }
  print_tables(results);
  return 0;
}
