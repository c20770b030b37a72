// sharpen study: a grid of backtests into one file, resumable.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/control.hpp"
#include "sharpen/base/log.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/study/coordinator.hpp"
#include "sharpen/study/run.hpp"

namespace sharpen::command {

// The answer, ready to be shown.
struct StudyAnswer {
  enum class Action { config, run, dry_run, list };
  Action action = Action::run;
  std::string config = {};                 // of config: the study as TOML
  std::filesystem::path file = {};         // of the others
  study::Results results = {};             // of run and list: without the cells' runs
  study::Tally tally = {};                 // of run
  study::Estimate estimate = {};           // of dry_run
  int threads = 0;                         // of dry_run
  std::vector<std::string> warnings = {};  // on settings and markets; logged, too

  struct Counts {
    Index cells = 0, done = 0, failed = 0, missing = 0;
  };
  Counts counts() const;
};

// Lists, estimates or runs, as --list, --dry-run and --print-config say. Throws InputError, and
// StoreFailure if a result could not be written. `control` and `watch`: of study::run_study.
StudyAnswer study_answer(const settings::Values& values, const Log& log, const Control& control,
                         const study::Watch& watch);

// The same study for workers that its caller has: reads, plans and opens the store, as a run does.
class OpenStudy {
 public:
  // `workers`: tasks that will be out at a time. All but `values` must outlive it.
  OpenStudy(const settings::Values& values, int workers, const Log& log, const Control& control,
            const study::Watch& watch);
  ~OpenStudy();

  // Until close(); InputError after it.
  study::Coordinator& coordinator();
  // Lets go of the store, which keeps what was committed, and answers as a run would.
  StudyAnswer close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string study_json(const StudyAnswer& answer);

}  // namespace sharpen::command
