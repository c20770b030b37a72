#include "sharpen/study/coordinator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sharpen/base/error.hpp"
#include "sharpen/base/random.hpp"
#include "study/task_study.hpp"

namespace sharpen::study {
namespace {

using ::testing::HasSubstr;

const Results& by_threads() {
  static const Results found = [] {
    const Folder folder;
    {
      Store store(folder / "study.db", plan().results);
      run_study(plan(), store, {.threads = 2}, Log());
    }
    return read_store(folder / "study.db");
  }();
  return found;
}

// A study under way, whose workers know of bytes only.
struct Cluster {
  Folder folder;
  std::optional<Store> store;
  std::optional<Coordinator> coordinator;
  std::map<std::string, TaskMarket> markets;

  const Log log;

  explicit Cluster(const Control& control = {}, const Watch& watch = {}, const Log& own_log = {})
      : log(own_log) {
    store.emplace(folder / "study.db", plan().results);
    begin(control, watch);
  }
  void begin(const Control& control = {}, const Watch& watch = {}) {
    coordinator.emplace(plan(), *store, RunSettings{.threads = 2, .gigabytes = 1.0}, log, control,
                        watch);
  }
  Coordinator* operator->() { return &*coordinator; }

  std::string done(const Coordinator::Parcel& parcel) {
    if (!markets.contains(parcel.market))
      markets.emplace(parcel.market, market_from_bytes(coordinator->market(parcel.market)));
    return to_bytes(run(task_from_bytes(parcel.task), markets.at(parcel.market), Threads(1)));
  }
  void finish() {
    while (!coordinator->finished()) {
      while (const auto parcel = coordinator->next())
        coordinator->put(parcel->number, done(*parcel));
      coordinator->commit();
    }
  }
  Results found() {
    coordinator.reset();
    store.reset();
    return read_store(folder / "study.db");
  }
};

TEST(Coordinator, FindsInBytesWhatThreadsFind) {
  Cluster cluster;
  cluster.finish();
  const Tally tally = cluster->tally();
  EXPECT_EQ(tally.done, static_cast<Index>(plan().results.cells.size()));
  EXPECT_EQ(tally.computed, tally.cells);
  EXPECT_FALSE(tally.interrupted);
  EXPECT_GT(tally.worker_seconds, 0.0);
  expect_same_study(cluster.found(), by_threads());
}

TEST(Coordinator, ResultsMayComeInAnyOrder) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    Cluster cluster;
    Random random(seed);
    while (!cluster->finished()) {
      std::vector<std::pair<Index, std::string>> results;
      while (const auto parcel = cluster->next())
        results.emplace_back(parcel->number, cluster.done(*parcel));
      std::sort(results.begin(), results.end());
      for (std::size_t i = results.size(); i > 1; --i)
        std::swap(results[i - 1],
                  results[static_cast<std::size_t>(random.uniform() * static_cast<double>(i))]);
      for (const auto& [number, bytes] : results) {
        cluster->put(number, bytes);
        if (random.uniform() < 0.3) cluster->commit();
      }
      cluster->commit();
    }
    expect_same_study(cluster.found(), by_threads());
  }
}

TEST(Coordinator, ATaskThatIsLostThreeTimesHasFailed) {
  Cluster cluster;
  const auto first = cluster->next();
  ASSERT_TRUE(first);
  for (int time = 0; time < kMostLosses; ++time) {
    cluster->lost(first->number, "the worker died");
    EXPECT_EQ(cluster->waiting(), time + 1 == kMostLosses ? 1 : 0);
    if (time + 1 < kMostLosses) {  // the most urgent one comes again
      const auto again = cluster->next();
      ASSERT_TRUE(again);
      EXPECT_EQ(again->number, first->number);
      EXPECT_EQ(again->task, first->task);
    }
  }
  cluster.finish();
  const Tally tally = cluster->tally();
  EXPECT_GT(tally.failed, 0);
  EXPECT_FALSE(tally.interrupted);
  const Results found = cluster.found();
  for (std::size_t i = 0; i < found.cells.size(); ++i) {
    if (found.cells[i].state == CellState::failed)
      EXPECT_THAT(found.cells[i].reason,
                  AllOf(HasSubstr("lost 3 times"), HasSubstr("the worker died")));
    else
      EXPECT_EQ(found.cells[i].state, CellState::done);
  }
}

TEST(Coordinator, WhatNobodyNeedsAnyMoreIsWaitedForOnlyWhileItIsOut) {
  Cluster cluster;
  std::vector<Coordinator::Parcel> out;
  while (const auto parcel = cluster->next()) out.push_back(*parcel);  // trainings and oracles
  for (const auto& parcel : out) {
    const TaskKind kind = task_from_bytes(parcel.task).kind;
    if (kind != TaskKind::training) continue;
    Result failed;
    failed.task = task_hash(task_from_bytes(parcel.task));
    failed.failure = "it diverged";
    cluster->put(parcel.number, to_bytes(failed));
  }
  cluster->commit();
  bool lost = false;
  for (const auto& parcel : out) {
    const TaskKind kind = task_from_bytes(parcel.task).kind;
    if (kind == TaskKind::training) continue;
    if (kind == TaskKind::oracle && (lost = !lost))
      cluster->lost(parcel.number, "not tried again");
    else
      cluster->put(parcel.number, cluster.done(parcel));
  }
  cluster->commit();
  EXPECT_FALSE(cluster->next());
  EXPECT_TRUE(cluster->finished());
  for (const Cell& cell : cluster.found().cells) {
    EXPECT_EQ(cell.state, cell.seed ? CellState::failed : CellState::done);
    EXPECT_EQ(cell.reason, cell.seed ? "it diverged" : "");
  }
}

TEST(Coordinator, ADamagedResultCostsItsTaskOnly) {
  Cluster cluster;
  Index damaged = 0;
  while (!cluster->finished()) {
    while (const auto parcel = cluster->next()) {
      std::string bytes = cluster.done(*parcel);
      if (++damaged % 3 == 0) {
        bytes[bytes.size() / 2] ^= 1;
        EXPECT_THROW(cluster->put(parcel->number, bytes), InputError);
        cluster->lost(parcel->number, "damaged");
      } else {
        cluster->put(parcel->number, bytes);
      }
    }
    cluster->commit();
  }
  expect_same_study(cluster.found(), by_threads());
}

TEST(Coordinator, RefusesTheResultOfAnotherTask) {
  Cluster cluster;
  const auto first = cluster->next(), second = cluster->next();
  ASSERT_TRUE(first && second);
  const std::string bytes = cluster.done(*first);
  EXPECT_THROW(cluster->put(second->number, bytes), InputError);
  EXPECT_THROW(cluster->put(-1, bytes), InputError);
  EXPECT_THROW(cluster->put(1'000'000, bytes), InputError);
  EXPECT_EQ(cluster->waiting(), 0);
  cluster->put(first->number, bytes);
  EXPECT_THROW(cluster->put(first->number, bytes), InputError);  // it has come before
  cluster->lost(first->number, "not heard");
  EXPECT_EQ(cluster->waiting(), 1);
  EXPECT_THROW(cluster->market("another"), InputError);
}

TEST(Coordinator, ALateResultOfALostTaskIsWelcome) {
  Cluster cluster;
  const auto first = cluster->next();
  const std::string bytes = cluster.done(*first);
  cluster->lost(first->number, "it took too long");
  cluster->put(first->number, bytes);
  cluster->commit();
  cluster.finish();
  expect_same_study(cluster.found(), by_threads());
}

TEST(Coordinator, ALateFailureOfALostTrainingEndsItOnce) {
  Cluster cluster;
  auto first = cluster->next();
  // Which is the most urgent one depends on how long each is thought to take.
  while (first && task_from_bytes(first->task).kind != TaskKind::training) {
    cluster->put(first->number, cluster.done(*first));
    first = cluster->next();
  }
  ASSERT_TRUE(first);
  const Task task = task_from_bytes(first->task);
  cluster->lost(first->number, "it took too long");
  Result failed;
  failed.task = task_hash(task);
  failed.failure = "it diverged";
  cluster->put(first->number, to_bytes(failed));
  cluster->commit();
  cluster.finish();
  const Tally tally = cluster->tally();
  EXPECT_FALSE(tally.interrupted);
  EXPECT_GT(tally.failed, 0);
  EXPECT_EQ(tally.done + tally.failed, tally.cells);
}

TEST(Coordinator, ProgressIsOfATaskThatThereIs) {
  Cluster cluster;
  const auto first = cluster->next();
  cluster->progress(first->number, 0.5);
  EXPECT_THROW(cluster->progress(-1, 0.5), InputError);
  EXPECT_THROW(cluster->progress(1'000'000'000, 0.5), InputError);
}

// Bytes with a right checksum that say something else than the study needs.
TEST(Coordinator, WhatWasKeptAndDoesNotFitIsMadeAgain) {
  Cluster cluster;
  std::vector<Coordinator::Parcel> out;
  while (const auto parcel = cluster->next()) out.push_back(*parcel);  // trainings and oracles
  for (const auto& parcel : out) cluster->put(parcel.number, cluster.done(parcel));
  cluster->commit();
  for (Index cell = 0; cell < static_cast<Index>(plan().results.cells.size()); ++cell) {
    const std::string training = training_key(plan(), cell), oracle = oracle_key(plan(), cell);
    if (auto kept = cluster.store->expectations(training); kept && cell % 2 == 0) {
      kept->values.pop_back();
      cluster.store->write_expectations(training, *kept);
    }
    if (auto kept = cluster.store->oracle(oracle); kept && cell % 2 == 0) {
      kept->status.clear();
      cluster.store->write_oracle(oracle, *kept);
    }
  }
  cluster.begin();
  cluster.finish();
  EXPECT_EQ(cluster->tally().failed, 0);
  expect_same_study(cluster.found(), by_threads());
}

TEST(Coordinator, WarnsOnceOfWorkersOfAnotherKind) {
  std::vector<std::string> said;
  Cluster cluster({}, {},
                  Log([&](LogLevel, std::string_view message) { said.emplace_back(message); }));
  for (int i = 0; i < 4; ++i) {
    const auto parcel = cluster->next();
    Result result = result_from_bytes(cluster.done(*parcel));
    EXPECT_FALSE(result.blas.empty());
    if (i % 2 == 1) result.blas = "OpenBLAS of a Sandybridge";
    cluster->put(parcel->number, to_bytes(result));
    EXPECT_EQ(said.size(), i == 0 ? 0u : 1u);
  }
  EXPECT_THAT(said, ::testing::ElementsAre(AllOf(HasSubstr("another kind of CPU"),
                                                 HasSubstr("OpenBLAS of a Sandybridge"))));
}

TEST(Coordinator, WhatWasCommittedIsGoneOnWith) {
  Folder folder;
  Index tasks = 0;
  for (bool finished = false; !finished;) {  // a few tasks at a time, then everything is lost
    Store store(folder / "study.db", plan().results);
    Coordinator coordinator(plan(), store, {.threads = 1, .gigabytes = 1.0}, Log());
    for (int i = 0; i < 5 && !coordinator.finished(); ++i, ++tasks)
      if (const auto handed = coordinator.take()) {
        coordinator.put(handed->number, run(handed->task, *handed->market, Threads(1)));
        if (i < 4) coordinator.commit();
      }
    finished = coordinator.finished();
    EXPECT_NE(coordinator.tally().interrupted, finished);
  }
  expect_same_study(read_store(folder / "study.db"), by_threads());
}

TEST(Coordinator, StopsAndKeepsWhatIsCommitted) {
  Cluster cluster;
  const auto first = cluster->next();
  cluster->put(first->number, cluster.done(*first));
  cluster->stop();
  EXPECT_TRUE(cluster->finished());
  EXPECT_FALSE(cluster->next());
  cluster->commit();
  EXPECT_EQ(cluster->waiting(), 0);
  EXPECT_TRUE(cluster->tally().interrupted);
}

TEST(Coordinator, TellsProgressAfterTheCommit) {
  StudyProgress last;
  Cluster cluster({}, [&](const StudyProgress& now) {
    last = now;
    last.doing = {};
  });
  while (!cluster->finished()) {
    while (const auto parcel = cluster->next()) {
      const Index before = last.cells_done;
      cluster->put(parcel->number, cluster.done(*parcel));
      EXPECT_EQ(last.cells_done, before);
    }
    cluster->commit();
  }
  EXPECT_EQ(last.cells_done, last.cells);
  EXPECT_NEAR(last.done, last.total, 1e-9 * last.total);
  EXPECT_GT(last.worker_seconds, 0.0);
}

}  // namespace
}  // namespace sharpen::study
