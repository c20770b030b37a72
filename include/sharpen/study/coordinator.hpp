// Hands out the tasks of a study, takes their results in any order, and keeps them in the store:
// the only one who knows of it. Who computes is an executor: the threads of run_study are one.
//
//   while (!coordinator.finished()) {
//     hand out what next() gives, as much as there are workers for;
//     put() each result that arrives, or say that it was lost();
//     commit() now and then: what was put is in the store then, and what waited for it is ready;
//   }
//
// A result is the same bits whoever computed it, so that it does not matter which of two that are
// put for the same task comes first. Every call may be made by any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sharpen/base/control.hpp"
#include "sharpen/base/log.hpp"
#include "sharpen/study/plan.hpp"
#include "sharpen/study/run.hpp"
#include "sharpen/study/store.hpp"
#include "sharpen/study/task.hpp"

namespace sharpen::study {

// A task that is lost so often fails: it may be what kills its workers.
constexpr int kMostLosses = 3;

class Coordinator {
 public:
  // Times a few steps of training to say which tasks are long. All that is given must outlive it;
  // `settings.gigabytes` bounds what tasks that are out together are believed to take.
  Coordinator(const Plan& plan, Store& store, const RunSettings& settings, const Log& log,
              const Control& control = {}, const Watch& watch = {});
  ~Coordinator();

  // The task to be done next, for a worker in this process; none: all that are ready are out, or
  // would not fit into memory, or the study is to stop.
  struct Handed {
    Index number = 0;
    Task task;
    const TaskMarket* market = nullptr;  // as long as the coordinator
    int threads = 1;                     // that it may use
  };
  std::optional<Handed> take();
  // The same as bytes.
  struct Parcel {
    Index number = 0;
    std::string market;  // its hash
    std::string task;
  };
  std::optional<Parcel> next();
  // The bytes of a market that a task has named. InputError for another hash.
  const std::string& market(std::string_view hash);

  // Takes a result, to be kept by the next commit. InputError for bytes that are no result, one of
  // another task, or one that does not fit its task: say then that it was lost. So is a result
  // that has come before. The first from another kind of CPU, or another BLAS, is worth a warning.
  void put(Index number, std::string_view bytes);
  void put(Index number, Result result);
  // The task is handed out again; the third time it has failed, for this reason. Not heard if its
  // result has come.
  void lost(Index number, std::string_view reason);
  // How far a task that is out is, from 0 to 1. InputError for a number that no task has.
  void progress(Index number, double share);

  Index waiting() const;  // results that are not committed
  // Keeps them, all or none, and tells `watch`. Throws StoreFailure, and Interrupted if it was told
  // to stop while another program had the file.
  void commit();

  // Asks the study to stop, as Control::stop does: nothing is handed out from now on.
  void stop();
  bool stopped() const;
  bool finished() const;  // nothing is left to do, or it is to stop
  Tally tally() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sharpen::study
