#include "sharpen/command/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <system_error>

#include "command/json_keys.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/command/output_folder.hpp"

namespace sharpen::command {

namespace {

namespace fs = std::filesystem;
using settings::Values;
using Action = StudyAnswer::Action;

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

bool holds_study(const fs::path& file, const Log& log, const Stop& stop) {
  try {
    static_cast<void>(study::read_store(file, study::Detail::states, log, stop));
    return true;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::runtime_error&) {
    return false;
  }
}

// --force: what is there gets another name, and everybody is told which.
void set_aside(const fs::path& file, const Log& log, const Stop& stop) {
  const std::string_view what = holds_study(file, log, stop) ? "study" : "file";
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

// Every cell is planned, whatever the part: the file says which part it is.
study::Plan planned(const Values& values, const study::Grid& grid, const Log& log) {
  const study::Shard shard = study::shard_of(values.has("shard") ? values.text("shard") : "");
  study::Plan plan = study::plan_study(grid, log);
  if (shard.whole()) return plan;
  plan.results.shard = shard;
  const std::vector<bool> mine = study::cells_in(plan, shard);
  plan.results.shard_cells = std::ranges::count(mine, true);
  if (plan.results.shard_cells == 0)
    plan.warnings.push_back(
        fmt::format("part {} of {} has no cell: the study has fewer groups of cells than parts",
                    shard.part, shard.of));
  return plan;
}

study::RunSettings run_settings(const Values& values) {
  return {.threads = static_cast<int>(values.integer("threads")),
          .gigabytes = values.has("max-memory") ? values.real("max-memory") : 0.0,
          .retry = values.flag("retry"),
          .shard = study::shard_of(values.has("shard") ? values.text("shard") : "")};
}

// Of workers elsewhere: their memory is not this machine's, and is bounded only if that was said.
study::RunSettings settings_for(const Values& values, int workers) {
  study::RunSettings out = run_settings(values);
  out.threads = workers;
  if (!values.has("max-memory")) out.gigabytes = std::numeric_limits<double>::infinity();
  return out;
}

StudyAnswer listed(const fs::path& file, const Log& log, const Stop& stop) {
  std::error_code ignored;
  if (!fs::exists(file, ignored))
    throw InputError(
        fmt::format("{}: there is no study; give ‹--out DIR›, the folder of one", shown(file)));
  return {.action = Action::list,
          .file = file,
          .results = study::read_store(file, study::Detail::states, log, stop)};
}

StudyAnswer estimated(const Values& values, const study::Plan& plan, const fs::path& file,
                      const Log& log, const Stop& stop) {
  const study::RunSettings settings = run_settings(values);
  StudyAnswer answer{.action = Action::dry_run, .file = file};
  answer.threads = Threads(settings.threads).count();
  study::Kept kept{.states = std::vector(plan.results.cells.size(), study::CellState::missing)};
  if (!values.flag("force")) kept = study::kept_in(file, plan.results, log, stop);  // else anew
  answer.warnings = warnings_of(plan, log);
  answer.estimate = study::estimate_study(plan, kept.states, settings, kept.shared, stop);
  return answer;
}

// What is in --out, ready to be written to.
void prepare_file(const Values& values, const fs::path& file, const Log& log, const Stop& stop) {
  make_folder(file.parent_path());
  if (values.flag("force")) set_aside(file, log, stop);
}

// What stopped the study does not stop its answer, for which others are waited for a while.
study::Results states_after(const study::Tally& tally, const fs::path& file, const Log& log,
                            const Stop& stop) {
  using Clock = std::chrono::steady_clock;
  const Stop patience = [until = Clock::now() + std::chrono::milliseconds(300)] {
    return Clock::now() > until;
  };
  return study::read_store(file, study::Detail::states, log, tally.interrupted ? patience : stop);
}

StudyAnswer computed(const Values& values, const study::Plan& plan, const fs::path& file,
                     const Log& log, const Control& control, const study::Watch& watch) {
  prepare_file(values, file, log, control.stop);
  StudyAnswer answer{.action = Action::run, .file = file};
  {
    study::Store store(file, plan.results, log, control.stop);
    answer.warnings = warnings_of(plan, log);
    control.begin(fmt::format("study {}", plan.results.name));
    answer.tally = study::run_study(plan, store, run_settings(values), log, control, watch);
  }
  answer.results = states_after(answer.tally, file, log, control.stop);
  return answer;
}

std::string_view name(Action action) {
  switch (action) {
    case Action::dry_run: return "dry-run";
    case Action::list: return "list";
    case Action::config:
    case Action::run: break;
  }
  return "run";
}

// A value that only some actions have.
template <class Value>
auto only_of(std::initializer_list<Action> actions, Value value) {
  return [actions = std::vector<Action>(actions), value](const StudyAnswer& answer) {
    for (const Action action : actions)
      if (answer.action == action) return Json(std::invoke(value, answer));
    return absent();
  };
}

struct ListedCell {
  const study::Results* results;
  const study::Cell* cell;

  const study::Method& method() const { return results->methods[at(cell->method)]; }
};

Keys<ListedCell> cell_keys() {
  using study::CellState;
  return {
      {"market", "names", [](auto& c) { return c.results->markets[at(c.cell->market)].name; }},
      {"method", "", [](auto& c) { return c.method().name; }},
      {"framework", "of the method", [](auto& c) { return c.method().framework; }},
      {"optimizer", "", [](auto& c) { return c.method().optimizer; }},
      {"k_given", "as it was given (`10%`), and in names", [](auto& c) { return c.cell->k_given; }},
      {"k", "", [](auto& c) { return c.cell->k; }},
      {"seed", "`null` where nothing is random",
       [](auto& c) { return value_or_null(c.cell->seed); }},
      {"state", "`done`, `failed` or `missing`",
       [](auto& c) { return study::name(c.cell->state); }},
      {"reason", "of failed cells",
       [](auto& c) {
         return c.cell->state == CellState::failed ? Json(c.cell->reason) : absent();
       }},
      {"seconds", "of done and failed cells: of its own work, without the training",
       [](auto& c) {
         return c.cell->state != CellState::missing ? Json(c.cell->seconds) : absent();
       }},
  };
}

Json cells_json(const StudyAnswer& answer, bool failed_only) {
  static const Keys<ListedCell> keys = cell_keys();
  Json out = Json::array();
  for (const study::Cell& cell : answer.results.cells)
    if (!failed_only || cell.state == study::CellState::failed)
      out.push_back(json_of(keys, ListedCell{&answer.results, &cell}));
  return out;
}

Keys<StudyAnswer> study_keys() {
  return answer_keys<StudyAnswer>(
      "study", "`study`",
      {{{"action", "`run`, `dry-run` or `list`", [](auto& a) { return name(a.action); }},
        {"db", "the study's file", [](auto& a) { return a.file.string(); }},
        {"name", "of `run` and `list`: the preset, or the file that describes the study",
         only_of({Action::run, Action::list}, [](auto& a) { return a.results.name; })},
        {"shard", "of `run` and `list`: the part that the file is, such as `2/3`; `null` for all",
         only_of({Action::run, Action::list},
                 [](auto& a) { return text_or_null(a.results.shard.text()); })},
        {"cells", "cells of the study; of `run` and `dry-run` with `--shard`: of the part",
         [](auto& a) { return a.counts().cells; }},
        {"done", "how many of them are", [](auto& a) { return a.counts().done; }},
        {"failed", "", [](auto& a) { return a.counts().failed; }},
        {"missing", "", [](auto& a) { return a.counts().missing; }},
        {"computed", "of `run`: cells that this run has done or seen fail",
         only_of({Action::run}, [](auto& a) { return a.tally.computed; })},
        {"trainings", "of `run`: trainings of this run; of `dry-run`: trainings to do",
         only_of({Action::run, Action::dry_run},
                 [](auto& a) {
                   return a.action == Action::run ? a.tally.trained : a.estimate.trainings;
                 })},
        {"interrupted", "of `run`: whether it was stopped before its end",
         only_of({Action::run}, [](auto& a) { return a.tally.interrupted; })},
        {"seconds", "of `run`: what it took",
         only_of({Action::run}, [](auto& a) { return a.tally.seconds; })},
        {"worker_seconds", "of `run`: what its results took, of all workers together",
         only_of({Action::run}, [](auto& a) { return a.tally.worker_seconds; })},
        {"failures", "of `run`: the failed cells, as in `list`",
         only_of({Action::run}, [](auto& a) { return cells_json(a, true); })},
        {"minutes", "of `dry-run`: what is left would take about so much",
         only_of({Action::dry_run}, [](auto& a) { return a.estimate.minutes; })},
        {"gigabytes", "", only_of({Action::dry_run}, [](auto& a) { return a.estimate.gigabytes; })},
        {"threads", "of `dry-run`: on so many threads",
         only_of({Action::dry_run}, &StudyAnswer::threads)},
        {"warnings",
         "of `run` and `dry-run`: texts on settings and markets; empty if there is nothing to say",
         only_of({Action::run, Action::dry_run}, &StudyAnswer::warnings)},
        {"list", "of `list`: the cells",
         only_of({Action::list}, [](auto& a) { return cells_json(a, false); }), 0,
         listed(cell_keys(), "list[].")}}});
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
    return listed(file_of(values, "study"), log, control.stop);
  const study::Grid grid = study::grid_of(values);
  if (values.flag("print-config")) return {.action = Action::config, .config = grid.toml};
  const fs::path file = file_of(values, grid.name);
  if (values.flag("list")) return listed(file, log, control.stop);
  const study::Plan plan = planned(values, grid, log);
  if (values.flag("dry-run")) return estimated(values, plan, file, log, control.stop);
  return computed(values, plan, file, log, control, watch);
}

struct OpenStudy::State {
  const Log& log;
  const Control& control;
  study::Plan plan;
  StudyAnswer answer;
  std::optional<study::Store> store;
  std::optional<study::Coordinator> coordinator;

  State(const Values& values, int workers, const Log& said, const Control& asked,
        const study::Watch& watch)
      : log(said), control(asked) {
    const study::Grid grid = study::grid_of(values);
    answer.file = file_of(values, grid.name);
    plan = planned(values, grid, log);
    prepare_file(values, answer.file, log, control.stop);
    store.emplace(answer.file, plan.results, log, control.stop);
    answer.warnings = warnings_of(plan, log);
    control.begin(fmt::format("study {}", plan.results.name));
    coordinator.emplace(plan, *store, settings_for(values, workers), log, control, watch);
  }
};

OpenStudy::OpenStudy(const Values& values, int workers, const Log& log, const Control& control,
                     const study::Watch& watch)
    : state_(std::make_unique<State>(values, workers, log, control, watch)) {}
OpenStudy::~OpenStudy() = default;

study::Coordinator& OpenStudy::coordinator() {
  if (!state_->coordinator)
    throw InputError("the study is closed; open it again, and it goes on where it was");
  return *state_->coordinator;
}

StudyAnswer OpenStudy::close() {
  state_->answer.tally = coordinator().tally();
  state_->coordinator.reset();
  state_->store.reset();
  state_->answer.results =
      states_after(state_->answer.tally, state_->answer.file, state_->log, state_->control.stop);
  return state_->answer;
}

std::string study_json(const StudyAnswer& answer) { return json_text<study_keys>(answer); }

Section study_section() { return {"study", {""}, listed(study_keys())}; }

}  // namespace sharpen::command
