// The work of a study as jobs that wait for each other: a training or perfect foresight first, then
// the cells that need it.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sharpen/base/log.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/study/plan.hpp"
#include "sharpen/study/task.hpp"

namespace sharpen::study {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Job {
  TaskKind kind = TaskKind::cell;
  Index cell = 0;                    // of the plan; of a shared job the first cell that needs it
  std::string key = {};              // of a shared job
  Index training = -1, oracle = -1;  // jobs that a cell waits for; -1: none
  std::vector<Index> cells = {};     // jobs that wait for a shared job
  double seconds = 0.0;              // estimated
  double gigabytes = 0.0;            // likewise
  bool kept = false;                 // a shared job's answer is in the file: it costs nothing
};

// For every cell that is wanted and missing. Costs are not filled in. Throws Interrupted.
std::vector<Job> make_jobs(const Plan& plan, const std::vector<CellState>& states,
                           const std::vector<bool>& wanted, const Stop& stop = {});

// Estimated seconds without measuring anything: good enough to say which jobs are long.
double rough_decision_seconds(const Plan& plan, Index cell);
Index decisions(const Plan& plan, Index cell);
double rough_training_seconds(const Plan& plan, Index cell);

// Costs of every job that is not kept. Trainings are timed by a few steps, some of each kind;
// decisions as well if `measure`, else they are guessed. Throws Interrupted.
void estimate_jobs(const Plan& plan, std::vector<Job>& jobs, bool measure,
                   const std::function<bool()>& stop = {});

// The settings of a backtest as a task carries them: those that are not at their default, without
// what is of the process and without the names of input files, whose contents travel as a market.
std::vector<std::pair<std::string, std::string>> task_settings(const settings::Values& values);

// Which job is next: the longest that is ready and fits into memory.
class Schedule {
 public:
  struct Limits {
    int workers = 1;
    double gigabytes = 0.0;
  };
  Schedule(const std::vector<Job>& jobs, Limits limits, const Log& log);

  Index take();               // which is out then; -1: none can start now
  void give_back(Index job);  // one that was out, to be taken again
  void finish(Index job);     // wherever it is; what waits for nothing else is ready then
  bool ended(Index job) const { return places_[at(job)] == Place::ended; }
  bool out(Index job) const { return places_[at(job)] == Place::out; }
  Index left() const { return left_; }
  // That the next job may use, so that all workers are busy.
  int threads_for_next() const;

 private:
  enum class Place : char { waits, ready, out, ended };
  void make_ready(Index job);

  const std::vector<Job>& jobs_;
  Limits limits_;
  const Log& log_;
  std::vector<Place> places_;
  std::vector<int> waits_for_;  // jobs before it that have not ended
  std::vector<double> urgency_;
  std::set<std::pair<double, Index>> ready_;  // by urgency, and among equals the first of the plan
  Index left_ = 0, out_ = 0;
  double in_use_ = 0.0;
};

}  // namespace sharpen::study
