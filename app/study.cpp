#include "study.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <system_error>
#include <tuple>

#include "interrupt.hpp"
#include "output.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/base/threads.hpp"
#include "stderr_log.hpp"
#include "study_progress.hpp"

namespace sharpen::app {

namespace {

namespace fs = std::filesystem;
using settings::Values;

std::string shown(const fs::path& path) { return printable(path.string(), 400); }

// --out, or a folder here that is called after the study.
fs::path folder_of(const Values& values, const std::string& name) {
  if (values.has("out")) return values.text("out");
  return name == "study" ? "study" : "study-" + name;
}

fs::path store_in(const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(folder, ignored) && !fs::is_directory(folder, ignored))
    throw InputError(
        fmt::format("out = {} is a file, not a folder; choose another name", shown(folder)));
  return folder / "study.db";
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw InputError(fmt::format("out = {} cannot be made: {}", shown(folder), error.message()));
}

// --force: what is there gets another name, and everybody is told which.
void set_aside(const fs::path& file, const Log& log) {
  const fs::path other = study::set_aside(file);
  if (!other.empty()) log.warning(fmt::format("the study that was there is now {}", shown(other)));
}

study::RunSettings run_settings(const Values& values) {
  return {.threads = static_cast<int>(values.integer("threads")),
          .gigabytes = values.has("memory") ? values.real("memory") : 0.0,
          .retry = values.flag("retry")};
}

// States of the plan's cells in a file that may not be there, for --dry-run.
std::vector<study::CellState> states_in(const fs::path& file, const study::Results& plan) {
  std::vector<study::CellState> states(plan.cells.size(), study::CellState::missing);
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return states;
  const study::Results stored = study::read_store(file, study::Detail::states);
  const auto key = [](const study::Results& of, const study::Cell& cell) {
    return std::tuple(of.markets[static_cast<std::size_t>(cell.market)].name,
                      of.methods[static_cast<std::size_t>(cell.method)].name, cell.k_given,
                      cell.seed);
  };
  std::map<decltype(key(plan, plan.cells.front())), study::CellState> known;
  for (const study::Cell& cell : stored.cells) known[key(stored, cell)] = cell.state;
  for (std::size_t i = 0; i < states.size(); ++i)
    if (const auto found = known.find(key(plan, plan.cells[i])); found != known.end())
      states[i] = found->second;
  return states;
}

void list(const Values& values, const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored))
    throw InputError(
        fmt::format("{}: there is no study; give --out DIR, the folder of one", shown(file)));
  const study::Results results = study::read_store(file, study::Detail::states);
  print(values.flag("json") ? list_json(results, file) : list_text(results, file));
}

void estimate(const Values& values, const study::Plan& plan, const fs::path& file) {
  const study::RunSettings settings = run_settings(values);
  const int threads = Threads(settings.threads).count();
  const study::Estimate found =
      study::estimate_study(plan, states_in(file, plan.results), settings);
  print(values.flag("json") ? estimate_json(found, threads, file) : estimate_text(found, threads));
}

study::Tally compute(const Values& values, const study::Plan& plan, const fs::path& file,
                     const Log& log) {
  study::Store store(file, plan.results);
  const Interrupts interrupts;
  StudyBar bar(plan.results.name);
  const auto show = [&](const study::StudyProgress& now) { bar.show(now); };
  return study::run_study(plan, store, run_settings(values), log,
                          {.progress = show, .stop = [&] { return interrupts.seen(); }});
}

// What keeps the answer from being a success.
void judge(const study::Tally& tally, const fs::path& file) {
  if (tally.interrupted)
    throw Failure(
        fmt::format("interrupted: {} of {} cells done; run the same command again to go on",
                    tally.done, tally.cells));
  if (tally.failed > 0)
    throw Failure(fmt::format(
        "{} of {} cells failed; sharpen study --list --out {} says why, --retry tries them again",
        tally.failed, tally.cells, shown(file.parent_path())));
}

}  // namespace

void run_study_command(const Values& values) {
  const Log log = stderr_log(values.text("log-level"));
  if (values.flag("list") && values.has("out")) return list(values, store_in(values.text("out")));
  const study::Grid grid = study::grid_of(values);
  if (values.flag("print-config")) return print(grid.toml);
  const fs::path file = store_in(folder_of(values, grid.name));
  if (values.flag("list")) return list(values, file);
  const study::Plan plan = study::plan_study(grid, log);
  if (values.flag("dry-run")) return estimate(values, plan, file);
  make_folder(file.parent_path());
  if (values.flag("force")) set_aside(file, log);
  const study::Tally tally = compute(values, plan, file, log);
  if (values.flag("json"))
    print(study_json(tally, file, study::read_store(file, study::Detail::states)));
  else if (!tally.interrupted)
    print(study_text(tally, file));
  judge(tally, file);
}

}  // namespace sharpen::app
