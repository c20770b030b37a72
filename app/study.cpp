#include "sharpen/command/study.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "commands.hpp"
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
std::vector<std::string> study_warnings(const study::Plan& plan, const Log& log) {
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

void list(const Values& values, const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored))
    throw InputError(
        fmt::format("{}: there is no study; give ‹--out DIR›, the folder of one", shown(file)));
  const study::Results results = study::read_store(file, study::Detail::states);
  print(values.flag("json") ? command::list_json(results, file) : list_text(results, file));
}

void estimate(const Values& values, const study::Plan& plan, const fs::path& file, const Log& log) {
  const study::RunSettings settings = run_settings(values);
  const int threads = Threads(settings.threads).count();
  // --force begins anew.
  const std::vector<study::CellState> states =
      values.flag("force")
          ? std::vector<study::CellState>(plan.results.cells.size(), study::CellState::missing)
          : study::states_in(file, plan.results);
  const std::set<std::string> kept =
      values.flag("force") ? std::set<std::string>() : study::kept_in(file);
  const std::vector<std::string> warnings = study_warnings(plan, log);
  const study::Estimate found = study::estimate_study(plan, states, settings, kept);
  print(values.flag("json") ? command::estimate_json(found, threads, file, warnings)
                            : estimate_text(found, threads));
}

study::Tally compute(const Values& values, const study::Plan& plan, const fs::path& file,
                     const Log& log, std::vector<std::string>& warnings) {
  study::Store store(file, plan.results);
  warnings = study_warnings(plan, log);
  const Interrupts interrupts;
  StudyBar bar(plan.results.name);
  const auto show = [&](const study::StudyProgress& now) { bar.show(now); };
  return study::run_study(plan, store, run_settings(values), log,
                          {.stop = [&] { return interrupts.seen(); }}, show);
}

// What keeps the answer from being a success.
void judge(const study::Tally& tally, const fs::path& file) {
  if (tally.interrupted)
    throw Failure(
        fmt::format("interrupted: {} of {} cell{} done; run the same command again to go on",
                    tally.done, tally.cells, tally.cells == 1 ? "" : "s"));
  if (tally.failed > 0)
    throw Failure(fmt::format(
        "{} of {} cell{} failed; sharpen study --list --out {} says why, --retry tries them "
        "again",
        tally.failed, tally.cells, tally.cells == 1 ? "" : "s", shown(file.parent_path())));
}

}  // namespace

void run_study(const Values& values) {
  const Log log = stderr_log(values.text("log-level"));
  const bool described = values.has("config") || values.has("preset");
  if (values.flag("list") && (values.has("out") || !described))
    return list(values, store_in(folder_of(values, "study")));
  const study::Grid grid = study::grid_of(values);
  if (values.flag("print-config")) return print(grid.toml);
  const fs::path file = store_in(folder_of(values, grid.name));
  if (values.flag("list")) return list(values, file);
  const study::Plan plan = study::plan_study(grid, log);
  if (values.flag("dry-run")) return estimate(values, plan, file, log);
  make_folder(file.parent_path());
  if (values.flag("force")) set_aside(file, log);
  std::vector<std::string> warnings;
  const study::Tally tally = compute(values, plan, file, log, warnings);
  if (values.flag("json"))
    print(
        command::study_json(tally, file, study::read_store(file, study::Detail::states), warnings));
  else if (!tally.interrupted)
    print(study_text(tally, file));
  judge(tally, file);
}

}  // namespace sharpen::app
