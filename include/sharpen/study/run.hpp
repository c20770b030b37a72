// Runs the cells of a plan that a store does not have yet.
//
// What cells share is done once: a training (by training_key) and perfect foresight (by oracle_key)
// are jobs of their own, before the cells that need them. What they found is kept in the store
// until the last of those cells is done, so that a killed study does not train again. Every job
// computes the same bits whatever runs beside it: results do not depend on the number of threads,
// on the memory, or on how often the study was interrupted.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/control.hpp"
#include "sharpen/base/log.hpp"
#include "sharpen/study/plan.hpp"
#include "sharpen/study/shard.hpp"
#include "sharpen/study/store.hpp"

namespace sharpen::study {

struct RunSettings {
  int threads = 0;         // jobs at a time; 0: one per core
  double gigabytes = 0.0;  // that jobs may take together; 0: 80 % of what is free
  bool retry = false;      // cells that have failed
  Shard shard = {};        // the part that is computed
};

struct StudyProgress {
  double done = 0.0, total = 0.0;   // seconds of work, estimated, of what was left at the start
  Index cells_done = 0, cells = 0;  // of the whole study, or of the part
  Index failed = 0;
  double worker_seconds = 0.0;  // of this run's results, whoever worked
  std::string_view doing;       // the job that was started last
};

using Watch = std::function<void(const StudyProgress&)>;

// What became of the study.
struct Tally {
  Index cells = 0, done = 0, failed = 0;  // of the whole study, or of the part
  Index computed = 0, trained = 0;        // cells and trainings of this run
  bool interrupted = false;
  double seconds = 0.0;         // since the start of this run
  double worker_seconds = 0.0;  // that its results took, whoever worked
};

// Throws StoreFailure if a result could not be written: those before it are kept. `control` is
// asked by any thread whether to give up, which keeps what is finished; `watch` is told how far the
// study is, by one thread at a time.
Tally run_study(const Plan& plan, Store& store, const RunSettings& settings, const Log& log,
                const Control& control = {}, const Watch& watch = {});

// What a study would take, from timed steps.
struct Estimate {
  Index cells = 0, done = 0, failed = 0, missing = 0;  // likewise
  Index trainings = 0, oracles = 0;                    // that are left
  double minutes = 0.0;
  double gigabytes = 0.0;  // at once
};

// `states`: of the plan's cells. `kept`: keys of trainings and oracles that need not be made again
// (kept_in); they are not counted. Throws Interrupted.
Estimate estimate_study(const Plan& plan, const std::vector<CellState>& states,
                        const RunSettings& settings, const std::set<std::string>& kept = {},
                        const Stop& stop = {});

// Memory that is free now, in gigabytes; 8 where the system does not say.
double free_gigabytes();

}  // namespace sharpen::study
