// The work of a study as jobs that wait for each other: a training or perfect foresight first, then
// the cells that need it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sharpen/study/plan.hpp"

namespace sharpen::study {

struct Job {
  enum class Kind { training, oracle, cell };
  Kind kind = Kind::cell;
  Index cell = 0;                    // of the plan; of a shared job the first cell that needs it
  std::string key = {};              // of a shared job
  Index training = -1, oracle = -1;  // jobs that a cell waits for; -1: none
  std::vector<Index> cells = {};     // jobs that wait for a shared job
  double seconds = 0.0;              // estimated
  double gigabytes = 0.0;            // likewise
  bool kept = false;                 // a shared job's answer is in the file: it costs nothing
};

// For every cell that is missing. Costs are not filled in.
std::vector<Job> make_jobs(const Plan& plan, const std::vector<CellState>& states);

// Estimated seconds without measuring anything: good enough to say which jobs are long.
double rough_decision_seconds(const Plan& plan, Index cell);
Index decisions(const Plan& plan, Index cell);

// Costs of every job that is not kept. Trainings are timed by a few steps, one of each kind;
// decisions as well if `measure`, else they are guessed. Asks `stop` before each, and leaves the
// rest without costs once it is true.
void estimate_jobs(const Plan& plan, std::vector<Job>& jobs, bool measure,
                   const std::function<bool()>& stop = {});

}  // namespace sharpen::study
