// A study of two markets, three methods and a few days whose every number is different, and a
// folder for it that goes away.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "sharpen/base/random.hpp"
#include "sharpen/study/checksum.hpp"
#include "sharpen/study/plan.hpp"
#include "sharpen/study/store.hpp"

namespace sharpen::study {

class Folder {
 public:
  Folder() {
    // Every cell is brought to the disk before the next: in memory, where there is such a folder,
    // that takes no time.
    const std::filesystem::path memory = "/dev/shm";
    std::string pattern =
        (::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path()) /
        "sharpen-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder");
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ostringstream out;
  out << std::ifstream(file, std::ios::binary).rdbuf();
  return out.str();
}

inline void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

inline Market small_market(const std::string& name, Index n, Index periods) {
  Market market;
  market.name = name;
  market.source = "prices/" + name + ".csv";
  market.checksum = checksum_of_text(name);
  market.reading = {{"max-gap", "5"}};
  const std::vector<std::string> odd = {"<script>alert(1)</script>", "O'Neil \"x\"", "🚀", "=1+1",
                                        std::string(1000, 'T'),      "a,b;c\td"};
  for (Index i = 0; i < n; ++i)
    market.tickers.push_back(odd[static_cast<std::size_t>(i) % odd.size()] + std::to_string(i));
  for (Index t = 0; t < periods; ++t) market.dates.push_back("2020-" + std::to_string(100 + t));
  market.first_date = "2010-01-04";
  market.training_rows = 1000;
  market.risk_free = 1e-5;
  market.warnings = {"one asset left", "a \"suspect\" print\nin two lines"};
  return market;
}

inline Results small_plan(Index seeds = 2, Index n = 6, Index periods = 7) {
  Results plan;
  plan.name = "small";
  plan.settings = "seeds = " + std::to_string(seeds) + "\n";
  plan.versions = {{"sharpen", "0.1.0"}, {"blas", "OpenBLAS 0.3.21"}};
  plan.markets = {small_market("nikkei", n, periods), small_market("ftse", n + 1, periods)};
  plan.methods = {{.name = "historic-swap",
                   .label = "Historic",
                   .role = Role::own,
                   .framework = "historic",
                   .optimizer = "swap",
                   .training = "",
                   .settings = "framework = \"historic\"\nshrinkage = 0.1\n"},
                  {.name = "pfl-oscar",
                   .label = "PFL OSCAR",
                   .role = Role::paper,
                   .framework = "pfl",
                   .optimizer = "oscar",
                   .training = "paper",
                   .settings = "framework = \"pfl\"\nalpha = 0\n"},
                  {.name = "dfl-oscar",
                   .label = "DFL OSCAR",
                   .role = Role::sweep,
                   .framework = "dfl",
                   .optimizer = "oscar",
                   .training = "paper",
                   .alpha = 0.5,
                   .ensemble = 3,
                   .cost_bps = 2.5,
                   .settings = "framework = \"dfl\"\nalpha = 0.5\n"}};
  for (Index market = 0; market < 2; ++market)
    for (Index method = 0; method < 3; ++method)
      for (Index seed = 1; seed <= (method == 0 ? 1 : seeds); ++seed) {
        Cell cell;
        cell.market = market;
        cell.method = method;
        cell.k_given = "50%";
        cell.k = 3;
        if (method > 0) cell.seed = static_cast<std::uint64_t>(seed);
        plan.cells.push_back(cell);
      }
  return plan;
}

// A cell as it is when it is done, of numbers that depend on `seed` alone.
inline Cell found_cell(const Results& plan, Index at, std::uint64_t seed) {
  Cell cell = plan.cells.at(static_cast<std::size_t>(at));
  const Market& market = plan.markets.at(static_cast<std::size_t>(cell.market));
  Random random(seed);
  backtest::Run& run = cell.run;
  cell.state = CellState::done;
  cell.seconds = 1.0 + random.uniform();
  cell.warnings = {"seed " + std::to_string(seed), "naïve"};
  run.first_row = 1000;
  run.stats_from = 1;
  run.dates = market.dates;
  const std::size_t periods = run.dates.size();
  for (auto* column :
       {&run.returns, &run.gross_returns, &run.costs, &run.turnover, &run.net, &run.gross,
        &run.holdings, &run.effective_names, &run.largest, &run.trading_costs, &run.short_fees,
        &run.financing, &cell.delayed_returns, &cell.equal_returns})
    for (std::size_t t = 0; t < periods; ++t) column->push_back(random.normal() / 100.0);
  run.turnover[1] = std::numeric_limits<double>::quiet_NaN();
  run.weights_begin = {0};
  for (std::size_t t = 0; t < periods; ++t) {
    run.status.push_back(static_cast<backtest::PeriodStatus>(t % 7));
    for (Index asset = 0; asset < static_cast<Index>(market.tickers.size()); ++asset)
      if (t != 2 && random.uniform() < 0.5) run.weights.push_back({asset, random.normal()});
    run.weights_begin.push_back(static_cast<Index>(run.weights.size()));
  }
  run.risk_free = market.risk_free;
  run.n_decisions = static_cast<Index>(periods) - 1;
  run.n_jittered = 1;
  run.n_certified = 2;
  run.iterations = 12345;
  cell.metrics = backtest::metrics(cell.track(252.0));
  if (cell.seed) cell.regret = {random.normal(), random.normal()};
  return cell;
}

inline std::vector<std::uint64_t> bits(const std::vector<double>& values) {
  std::vector<std::uint64_t> found;
  for (const double value : values)
    found.push_back(std::isnan(value) ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(value));
  return found;
}

// Every number of a done cell, to the bit.
inline std::vector<std::uint64_t> fingerprint(const Cell& cell, bool with_weights = true) {
  const backtest::Run& run = cell.run;
  const backtest::Metrics& m = cell.metrics;
  std::vector<double> all = {cell.seconds, run.risk_free, m.max_drawdown.depth,
                             cell.regret ? cell.regret->mean : 0.0,
                             cell.regret ? cell.regret->oracle : 0.0};
  for (const double value : {m.periods_per_year,
                             m.mean_return,
                             m.mean_excess_return,
                             m.volatility,
                             m.volatility_annualized,
                             m.sharpe,
                             m.sharpe_annualized,
                             m.sortino,
                             m.sortino_annualized,
                             m.return_annualized,
                             m.final_wealth,
                             m.calmar,
                             m.hit_rate,
                             m.best_return,
                             m.worst_return,
                             m.turnover,
                             m.turnover_annualized,
                             m.mean_gross,
                             m.mean_net,
                             m.mean_cardinality,
                             m.max_cardinality,
                             m.mean_effective_names,
                             m.mean_largest_weight,
                             m.max_largest_weight,
                             m.beta,
                             m.correlation,
                             m.tracking_error,
                             m.tracking_error_annualized,
                             m.information_ratio,
                             m.information_ratio_annualized,
                             m.benchmark_sharpe,
                             m.benchmark_sharpe_annualized,
                             m.sharpe_gross,
                             m.sharpe_gross_annualized,
                             m.sharpe_delayed,
                             m.sharpe_delayed_annualized,
                             m.equal_sharpe,
                             m.equal_sharpe_annualized,
                             m.mean_holding_period,
                             m.break_even_bps,
                             m.trading_cost,
                             m.short_fee,
                             m.financing,
                             m.total_cost,
                             m.cost_annualized})
    all.push_back(value);
  for (const auto* column :
       {&run.returns, &run.gross_returns, &run.costs, &run.turnover, &run.net, &run.gross,
        &run.holdings, &run.effective_names, &run.largest, &run.benchmark, &run.trading_costs,
        &run.short_fees, &run.financing, &cell.delayed_returns, &cell.equal_returns})
    all.insert(all.end(), column->begin(), column->end());
  std::vector<std::uint64_t> found = bits(all);
  for (const Index value :
       {m.n_periods, m.n_rebalances, m.ruin_period, m.max_drawdown.peak, m.max_drawdown.trough,
        m.max_drawdown.recovery, static_cast<Index>(m.ruin), static_cast<Index>(cell.state),
        static_cast<Index>(cell.regret.has_value()), run.first_row, run.stats_from, run.n_decisions,
        run.n_jittered, run.n_certified, run.iterations, run.periods()})
    found.push_back(static_cast<std::uint64_t>(value));
  for (const auto status : run.status) found.push_back(static_cast<std::uint64_t>(status));
  if (!with_weights) return found;
  for (const backtest::Position& held : run.weights) {
    found.push_back(static_cast<std::uint64_t>(held.asset));
    found.push_back(std::bit_cast<std::uint64_t>(held.weight));
  }
  for (const Index begin : run.weights_begin) found.push_back(static_cast<std::uint64_t>(begin));
  return found;
}

// The study that a configuration file describes.
inline Plan plan_of(const std::string& toml) {
  settings::Values values(settings::study);
  values.read_toml(toml, "s.toml");
  return plan_study(grid_of(values, toml, "s.toml"), Log());
}

// A store with every cell done except the last, which failed.
inline Results write_small_study(const std::filesystem::path& file,
                                 const Results& plan = small_plan()) {
  Store store(file, plan);
  const auto cells = static_cast<Index>(plan.cells.size());
  for (Index at = 0; at + 1 < cells; ++at)
    store.write_done(at, found_cell(plan, at, 100 + static_cast<std::uint64_t>(at)));
  store.write_failed(cells - 1, "it \"failed\": <b>", 3.0);
  return plan;
}

}  // namespace sharpen::study
