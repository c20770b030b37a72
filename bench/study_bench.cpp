// Times the study `demo` on two threads, and doing it again when nothing is left to do; says how
// far off the dry run was. With the argument `paper` it times the preset `paper` on a simulated
// market of 47 assets and 2,500 days instead, which takes many minutes. Checked first: every cell
// is done, and cells picked from the study are the plain backtests of their settings.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "measure.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/study/run.hpp"

namespace {

using namespace sharpen;
namespace fs = std::filesystem;

constexpr int kThreads = 2;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / fmt::format("sharpen-bench-{}", getpid())) {
    fs::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path file() const { return path_ / "study.db"; }

 private:
  fs::path path_;
};

// Everything that the command does, from its description to the last cell.
study::Tally run(const std::string& toml, const fs::path& file) {
  settings::Values values(settings::study);
  values.read_toml(toml, "bench.toml");
  const study::Plan plan = study::plan_study(study::grid_of(values, toml, "bench.toml"), Log());
  study::Store store(file, plan.results);
  return study::run_study(plan, store, {.threads = kThreads}, Log());
}

double timed(const std::string& toml, const fs::path& file, study::Tally& tally) {
  const double start = bench::now(bench::Clock::wall);
  tally = run(toml, file);
  return bench::now(bench::Clock::wall) - start;
}

double expected_minutes(const std::string& toml) {
  settings::Values values(settings::study);
  values.read_toml(toml, "bench.toml");
  const study::Plan plan = study::plan_study(study::grid_of(values, toml, "bench.toml"), Log());
  const std::vector<study::CellState> missing(plan.results.cells.size(), study::CellState::missing);
  return study::estimate_study(plan, missing, {.threads = kThreads}).minutes;
}

void check(const std::string& toml, const fs::path& file) {
  settings::Values values(settings::study);
  values.read_toml(toml, "bench.toml");
  const study::Plan plan = study::plan_study(study::grid_of(values, toml, "bench.toml"), Log());
  const study::Results found = study::read_store(file);
  for (Index cell = 0; cell < static_cast<Index>(found.cells.size()); cell += 13) {
    const study::Cell& at = found.cells[static_cast<std::size_t>(cell)];
    const backtest::BacktestResult plain =
        backtest::backtest(plan.returns[static_cast<std::size_t>(at.market)],
                           backtest::backtest_settings(plan.values_of(cell)), Threads(kThreads));
    bench::require(at.run.returns == plain.run.returns,
                   fmt::format("cell {} is not the backtest of its settings", cell));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Folder folder;
  study::Tally tally;
  if (argc > 1 && std::string_view(argv[1]) == "paper") {
    const std::string toml =
        "preset = \"paper\"\n[[market]]\nsimulate = { assets = 47, days = 2500, seed = 1 }\n";
    fmt::print("expected: {:.3g} minutes\n", expected_minutes(toml));
    const double seconds = timed(toml, folder.file(), tally);
    bench::require(tally.done == tally.cells, "not every cell of the study is done");
    bench::at_most("study-paper-47-minutes", seconds / 60.0, 45.0);
    return 0;
  }
  const std::string demo = "preset = \"demo\"\n";
  const double expected = 60.0 * expected_minutes(demo);
  const double seconds = timed(demo, folder.file(), tally);
  bench::require(tally.done == tally.cells, "not every cell of the demo is done");
  check(demo, folder.file());
  const double again = timed(demo, folder.file(), tally);
  bench::require(tally.computed == 0, "a finished study was done again");
  fmt::print("demo: {} cells in {:.3g} s, {:.3g} s expected; again: {:.3g} s\n", tally.cells,
             seconds, expected, again);
  bench::at_most("study-demo-seconds", seconds, 60.0);
  bench::at_most("study-again-seconds", again, 1.0);
  bench::at_most("study-dry-run-off-by", std::max(seconds / expected, expected / seconds), 3.0);
  return 0;
}
