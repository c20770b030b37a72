// How far a study is: what its jobs are believed to take, and what has come of its cells. May be
// told by any thread.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "sharpen/study/run.hpp"
#include "study/jobs.hpp"

namespace sharpen::study {

class StudyCount {
 public:
  // All but `states` must outlive it.
  StudyCount(const Plan& plan, const std::vector<Job>& jobs, const std::vector<CellState>& states,
             const Watch& watch);

  void begin(Index job);               // it is what is done now
  void tell(Index job, double share);  // of its estimated seconds
  void forget(Index job);              // it turned out to be no work
  void work(double seconds);           // that a result took
  void end_cell(bool failed);
  void end_training();

  Tally tally() const;
  void restore(const Tally& before);  // what followed was not kept

 private:
  std::string name(Index job) const;
  void set(Index job, double share);
  void show() const;

  const Plan& plan_;
  const std::vector<Job>& jobs_;
  const Watch watch_;
  mutable std::mutex mutex_;
  std::vector<double> share_, work_;  // of each job: the part done, the seconds it takes
  double done_ = 0.0, total_ = 0.0;
  std::string doing_;
  Tally tally_;
};

}  // namespace sharpen::study
