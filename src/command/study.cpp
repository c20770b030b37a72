#include "sharpen/command/study.hpp"

#include <fmt/format.h>

#include <set>
#include <system_error>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/base/threads.hpp"

namespace sharpen::command {

namespace {

namespace fs = std::filesystem;
using settings::Values;
using Action = StudyAnswer::Action;

std::string shown(const fs::path& path) { return printable(path.string(), 400); }

// The file in --out, or in a folder here that is called after the study.
fs::path file_of(const Values& values, const std::string& name) {
  const fs::path folder = values.has("out") ? fs::path(values.text("out"))
                          : name == "study" ? fs::path("study")
                                            : fs::path("study-" + name);
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
    throw InputError(fmt::format("out = {} cannot be made: {}; choose another folder",
                                 shown(folder), error.message()));
}

bool holds_study(const fs::path& file) {
  try {
    static_cast<void>(study::read_store(file, study::Detail::states));
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

// --force: what is there gets another name, and everybody is told which.
void set_aside(const fs::path& file, const Log& log) {
  const std::string_view what = holds_study(file) ? "study" : "file";
  const fs::path other = study::set_aside(file);
  if (!other.empty())
    log.warning(fmt::format("the {} that was there is now {}", what, shown(other)));
}

// What is odd about settings and markets: said once, whatever the number of cells.
std::vector<std::string> warnings_of(const study::Plan& plan, const Log& log) {
  std::vector<std::string> out = plan.warnings;
  for (const study::Market& market : plan.results.markets)
    for (const std::string& warning : market.warnings)
      out.push_back(fmt::format("market {}: {}", printable(market.name), warning));
  for (const std::string& warning : out) log.warning(warning);
  return out;
}

study::RunSettings run_settings(const Values& values) {
  return {.threads = static_cast<int>(values.integer("threads")),
          .gigabytes = values.has("memory") ? values.real("memory") : 0.0,
          .retry = values.flag("retry")};
}

StudyAnswer listed(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored))
    throw InputError(
        fmt::format("{}: there is no study; give ‹--out DIR›, the folder of one", shown(file)));
  return {.action = Action::list,
          .file = file,
          .results = study::read_store(file, study::Detail::states)};
}

StudyAnswer estimated(const Values& values, const study::Plan& plan, const fs::path& file,
                      const Log& log) {
  const study::RunSettings settings = run_settings(values);
  StudyAnswer answer{.action = Action::dry_run, .file = file};
  answer.threads = Threads(settings.threads).count();
  // --force begins anew.
  std::vector<study::CellState> states(plan.results.cells.size(), study::CellState::missing);
  std::set<std::string> kept;
  if (!values.flag("force")) {
    states = study::states_in(file, plan.results);
    kept = study::kept_in(file);
  }
  answer.warnings = warnings_of(plan, log);
  answer.estimate = study::estimate_study(plan, states, settings, kept);
  return answer;
}

StudyAnswer computed(const Values& values, const study::Plan& plan, const fs::path& file,
                     const Log& log, const Control& control, const study::Watch& watch) {
  make_folder(file.parent_path());
  if (values.flag("force")) set_aside(file, log);
  StudyAnswer answer{.action = Action::run, .file = file};
  {
    study::Store store(file, plan.results, log, control.stop);
    answer.warnings = warnings_of(plan, log);
    control.begin(fmt::format("study {}", plan.results.name));
    answer.tally = study::run_study(plan, store, run_settings(values), log, control, watch);
  }
  answer.results = study::read_store(file, study::Detail::states);
  return answer;
}

}  // namespace

StudyAnswer::Counts StudyAnswer::counts() const {
  if (action == Action::run)
    return {tally.cells, tally.done, tally.failed, tally.cells - tally.done - tally.failed};
  if (action == Action::dry_run)
    return {estimate.cells, estimate.done, estimate.failed, estimate.missing};
  Counts out{.cells = static_cast<Index>(results.cells.size())};
  for (const study::Cell& cell : results.cells) {
    out.done += cell.state == study::CellState::done ? 1 : 0;
    out.failed += cell.state == study::CellState::failed ? 1 : 0;
    out.missing += cell.state == study::CellState::missing ? 1 : 0;
  }
  return out;
}

StudyAnswer study_answer(const Values& values, const Log& log, const Control& control,
                         const study::Watch& watch) {
  const bool described = values.has("config") || values.has("preset");
  if (values.flag("list") && (values.has("out") || !described))
    return listed(file_of(values, "study"));
  const study::Grid grid = study::grid_of(values);
  if (values.flag("print-config")) return {.action = Action::config, .config = grid.toml};
  const fs::path file = file_of(values, grid.name);
  if (values.flag("list")) return listed(file);
  const study::Plan plan = study::plan_study(grid, log);
  if (values.flag("dry-run")) return estimated(values, plan, file, log);
  return computed(values, plan, file, log, control, watch);
}

std::string_view state_name(study::CellState state) {
  switch (state) {
    case study::CellState::done: return "done";
    case study::CellState::failed: return "failed";
    case study::CellState::missing: break;
  }
  return "missing";
}

}  // namespace sharpen::command
