#include "sharpen/base/threads.hpp"

#include <cblas.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

#include "sharpen/base/error.hpp"

namespace sharpen {
namespace {

class ThreadsOf : public ::testing::TestWithParam<int> {};

TEST_P(ThreadsOf, VisitEveryItemOnce) {
  const Threads threads(GetParam());
  for (Index items : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> visits(static_cast<std::size_t>(items));
    threads.for_each(items, [&](Index i, int) { ++visits[static_cast<std::size_t>(i)]; });
    for (const auto& count : visits) EXPECT_EQ(count, 1);
  }
}

TEST_P(ThreadsOf, GiveConcurrentCallsDifferentSlots) {
  const Threads threads(GetParam());
  std::vector<std::atomic<bool>> busy(static_cast<std::size_t>(threads.count()));
  std::atomic<bool> shared = false, outside = false;
  threads.for_each(400, [&](Index, int slot) {
    if (slot < 0 || slot >= threads.count()) {
      outside = true;
      return;
    }
    auto& mine = busy[static_cast<std::size_t>(slot)];
    if (mine.exchange(true)) shared = true;
    std::this_thread::yield();
    mine = false;
  });
  EXPECT_FALSE(outside);
  EXPECT_FALSE(shared);
}

TEST_P(ThreadsOf, RethrowWhatABodyThrows) {
  const Threads threads(GetParam());
  const auto body = [](Index i, int) {
    if (i == 37) throw std::runtime_error("item 37");
  };
  try {
    threads.for_each(100, body);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "item 37");
  }
  std::atomic<int> visits = 0;  // and they still work afterwards
  threads.for_each(10, [&](Index, int) { ++visits; });
  EXPECT_EQ(visits, 10);
}

TEST_P(ThreadsOf, GiveTheBitsOfOneThread) {
  const auto results = [](const Threads& threads) {
    std::vector<double> out(500);
    threads.for_each(500, [&](Index i, int) {
      double sum = 0;
      for (int j = 1; j < 200; ++j) sum += std::sin(static_cast<double>(i * j)) / j;
      out[static_cast<std::size_t>(i)] = sum;
    });
    return out;
  };
  EXPECT_EQ(results(Threads(GetParam())), results(Threads(1)));
}

INSTANTIATE_TEST_SUITE_P(Counts, ThreadsOf, ::testing::Values(1, 2, 3, 8));

TEST(Threads, ZeroMeansOnePerCore) {
  EXPECT_GE(Threads(0).count(), 1);
  EXPECT_EQ(Threads(5).count(), 5);
}

TEST(Threads, RefuseAnImpossibleCount) {
  for (int count : {-1, 1025}) {
    try {
      Threads threads(count);
      FAIL() << count << " was accepted";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("threads = " + std::to_string(count)));
      EXPECT_THAT(error.what(), ::testing::HasSubstr("[0, 1024]"));
    }
  }
}

// OpenBLAS has as many threads as there are cores at most, and one may be all there are.
TEST(Threads, KeepBlasOnOneThreadWhileTheyLiveAndGiveItsCountBack) {
  openblas_set_num_threads(2);
  const int before = openblas_get_num_threads();
  {
    const Threads first(1);
    EXPECT_EQ(openblas_get_num_threads(), 1);
    {
      Threads second(2);
      const Threads third(std::move(second));
    }
    EXPECT_EQ(openblas_get_num_threads(), 1);
  }
  EXPECT_EQ(openblas_get_num_threads(), before);
  EXPECT_THROW(Threads(-1), InputError);
  EXPECT_EQ(openblas_get_num_threads(), before);
}

TEST(Threads, GiveBlasItsCountBackAfterAllOfManyAtATime) {
  openblas_set_num_threads(2);
  const int before = openblas_get_num_threads();
  std::vector<std::thread> callers;
  std::atomic<bool> wrong = false;
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&] {
      for (int j = 0; j < 200; ++j) {
        const Threads threads(1);
        if (openblas_get_num_threads() != 1) wrong = true;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_FALSE(wrong);
  EXPECT_EQ(openblas_get_num_threads(), before);
}

TEST(Threads, LeaveACountThatWasSetInTheMeantime) {
  openblas_set_num_threads(1);
  {
    const Threads threads(1);
    openblas_set_num_threads(2);
  }
  EXPECT_EQ(openblas_get_num_threads(), 2);
}

TEST(Threads, MayBeMoved) {
  Threads a(2);
  Threads b(std::move(a));
  std::atomic<int> visits = 0;
  b.for_each(50, [&](Index, int) { ++visits; });
  EXPECT_EQ(visits, 50);
}

}  // namespace
}  // namespace sharpen
