// Times results into the file of a study, in groups that are on the disk before the next begins:
// cells of 250 days that hold ten of fifty names. Checked first: what was written is read back.
// The folder is the argument, or that for temporary files: a disk, and not memory, says something.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "measure.hpp"
#include "sharpen/base/random.hpp"
#include "sharpen/study/store.hpp"

namespace {

using namespace sharpen;
namespace fs = std::filesystem;

constexpr Index kDays = 250, kAssets = 50, kHeld = 10, kGroup = 500, kGroups = 8;

study::Results plan_of_many() {
  study::Results plan;
  plan.name = "bench";
  study::Market market;
  market.name = "m";
  for (Index i = 0; i < kAssets; ++i) market.tickers.push_back(fmt::format("T{:03}", i));
  for (Index t = 0; t < kDays; ++t)
    market.dates.push_back(fmt::format("2020-{:02}-{:02}", t / 28, t % 28));
  plan.markets = {market};
  study::Method method;
  method.name = "x";
  plan.methods = {method};
  for (Index seed = 0; seed < kGroup * kGroups; ++seed) {
    study::Cell cell;
    cell.k_given = "10";
    cell.k = kHeld;
    cell.seed = static_cast<std::uint64_t>(seed);
    plan.cells.push_back(cell);
  }
  return plan;
}

// Numbers without a pattern: nothing is saved by packing them.
study::Cell found_cell(const study::Results& plan) {
  study::Cell cell = plan.cells[0];
  Random random(1);
  backtest::Run& run = cell.run;
  run.dates = plan.markets[0].dates;
  for (auto* column :
       {&run.returns, &run.gross_returns, &run.costs, &run.turnover, &run.net, &run.gross,
        &run.holdings, &run.effective_names, &run.largest, &run.trading_costs, &run.short_fees,
        &run.financing, &cell.delayed_returns, &cell.equal_returns})
    for (Index t = 0; t < kDays; ++t) column->push_back(0.01 * random.normal());
  run.status.assign(static_cast<std::size_t>(kDays), backtest::PeriodStatus::ok);
  run.weights_begin = {0};
  for (Index t = 0; t < kDays; ++t) {
    for (Index i = 0; i < kHeld; ++i)
      run.weights.push_back({i * (kAssets / kHeld), random.normal()});
    run.weights_begin.push_back(static_cast<Index>(run.weights.size()));
  }
  cell.metrics = backtest::metrics(cell.track(252.0));
  return cell;
}

}  // namespace

int main(int argc, char** argv) {
  const fs::path folder = (argc > 1 ? fs::path(argv[1]) : fs::temp_directory_path()) /
                          fmt::format("sharpen-bench-{}", getpid());
  fs::create_directories(folder);
  const fs::path file = folder / "study.db";
  const study::Results plan = plan_of_many();
  const study::Cell found = found_cell(plan);
  std::vector<double> seconds;
  double cpu = 0.0;
  {
    study::Store store(file, plan);
    for (Index group = 0; group < kGroups; ++group) {
      const double start = bench::now(bench::Clock::wall), before = bench::now(bench::Clock::cpu);
      store.together([&] {
        for (Index i = 0; i < kGroup; ++i) store.write_done(group * kGroup + i, found);
      });
      seconds.push_back(bench::now(bench::Clock::wall) - start);
      cpu += bench::now(bench::Clock::cpu) - before;
    }
  }
  const double bytes = static_cast<double>(fs::file_size(file)) / (kGroup * kGroups);
  const double start = bench::now(bench::Clock::wall);
  const study::Results read = study::read_store(file);
  const double reading = bench::now(bench::Clock::wall) - start;
  for (const study::Cell& cell : read.cells)
    bench::require(cell.run.returns == found.run.returns && cell.run.weights == found.run.weights,
                   "a cell is not what was written");
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  fmt::print("{} results of {:.3g} kB in groups of {}: {:.3g} ms of work each; read in {:.3g} s\n",
             read.cells.size(), bytes / 1e3, kGroup, 1e3 * cpu / (kGroup * kGroups), reading);
  bench::at_least("store-results-a-second", kGroup / bench::median(seconds), 2000.0);
  return 0;
}
