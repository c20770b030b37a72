// Results that are written as one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "sharpen/base/control.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/study/store.hpp"
#include "study/child.hpp"
#include "study/small_study.hpp"

namespace sharpen::study {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class StoreGroup : public ::testing::Test {
 protected:
  Cell found(Index cell) const { return found_cell(plan_, cell, static_cast<std::uint64_t>(cell)); }
  CellState state_in_file(Index cell) const {
    return read_store(file_, Detail::states).cells[static_cast<std::size_t>(cell)].state;
  }

  Folder folder_;
  std::filesystem::path file_ = folder_ / "study.db";
  Results plan_ = small_plan();
};

TEST_F(StoreGroup, IsThereOnceItIsCommitted) {
  Store store(file_, plan_);
  store.write_expectations("a", {});
  store.together([&] {
    store.write_done(0, found(0));
    store.write_failed(1, "no", 2.0);
    store.write_oracle("b", found(0).run);
    store.drop_shared("a");
    EXPECT_EQ(store.states()[0], CellState::done);
    EXPECT_TRUE(store.oracle("b").has_value());
    EXPECT_EQ(state_in_file(0), CellState::missing);  // others do not see it yet
    EXPECT_EQ(kept_in(file_, plan_).shared, std::set<std::string>{"a"});
  });
  EXPECT_EQ(kept_in(file_, plan_).shared, std::set<std::string>{"b"});
  const Results read = read_store(file_);
  EXPECT_EQ(fingerprint(read.cells[0]), fingerprint(found(0)));
  EXPECT_EQ(read.cells[1].reason, "no");
  store.write_done(2, found(2));  // again each for itself
  EXPECT_EQ(state_in_file(2), CellState::done);
}

TEST_F(StoreGroup, IsUndoneIfItIsNotCommitted) {
  Store store(file_, plan_);
  store.write_failed(1, "before", 1.0);
  const auto broken_off = [&] {
    store.write_done(0, found(0));
    store.write_done(1, found(1));
    store.write_done(1, found(1));
    store.forget_failures();
    store.write_expectations("a", {});
    throw Interrupted();
  };
  EXPECT_THROW(store.together(broken_off), Interrupted);
  EXPECT_EQ(store.states()[0], CellState::missing);
  EXPECT_EQ(store.states()[1], CellState::failed);
  EXPECT_FALSE(store.expectations("a").has_value());
  EXPECT_EQ(state_in_file(0), CellState::missing);
  EXPECT_EQ(read_store(file_).cells[1].reason, "before");
  store.write_done(0, found(0));
  EXPECT_EQ(state_in_file(0), CellState::done);
}

TEST_F(StoreGroup, AResultThatIsRefusedDoesNotHarmTheOthers) {
  Store store(file_, plan_);
  Cell bad = found(1);
  bad.run.returns[3] = std::numeric_limits<double>::quiet_NaN();
  store.together([&] {
    store.write_done(0, found(0));
    EXPECT_THROW(store.write_done(1, bad), Failure);
    EXPECT_THROW(store.write_done(99, found(0)), InputError);
    EXPECT_EQ(store.states()[1], CellState::missing);
    store.write_done(2, found(2));
  });
  EXPECT_EQ(state_in_file(0), CellState::done);
  EXPECT_EQ(state_in_file(1), CellState::missing);
  EXPECT_EQ(state_in_file(2), CellState::done);
}

TEST_F(StoreGroup, OneWithinAnotherIsAPartOfIt) {
  Store store(file_, plan_);
  store.together([&] {
    store.write_done(0, found(0));
    const auto broken_off = [&] {
      store.write_done(0, found(1));
      store.write_done(1, found(1));
      throw Interrupted();
    };
    EXPECT_THROW(store.together(broken_off), Interrupted);
    store.together([&] { store.write_done(2, found(2)); });
    EXPECT_EQ(state_in_file(2), CellState::missing);
  });
  const std::vector<CellState> expected = {CellState::done, CellState::missing, CellState::done};
  for (Index cell = 0; cell < 3; ++cell) {
    EXPECT_EQ(store.states()[static_cast<std::size_t>(cell)],
              expected[static_cast<std::size_t>(cell)]);
    EXPECT_EQ(state_in_file(cell), expected[static_cast<std::size_t>(cell)]);
  }
  EXPECT_EQ(fingerprint(read_store(file_).cells[0]), fingerprint(found(0)));
}

TEST_F(StoreGroup, AWaitForAReaderCanBeEndedAndLosesTheGroupOnly) {
  bool stop = false;
  Store store(file_, plan_, {}, [&] { return stop; });
  store.write_done(0, found(0));
  sqlite3* reader = nullptr;
  sqlite3_stmt* rows = nullptr;
  ASSERT_EQ(sqlite3_open(file_.c_str(), &reader), SQLITE_OK);
  ASSERT_EQ(sqlite3_prepare_v2(reader, "SELECT * FROM cells", -1, &rows, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_step(rows), SQLITE_ROW);
  const auto without_patience = [&] {
    store.write_done(1, found(1));
    stop = true;
  };
  EXPECT_THROW(store.together(without_patience), Interrupted);
  sqlite3_finalize(rows);
  sqlite3_close(reader);
  stop = false;
  EXPECT_EQ(store.states()[1], CellState::missing);
  EXPECT_EQ(state_in_file(0), CellState::done);
  EXPECT_EQ(state_in_file(1), CellState::missing);
}

// In every call of the kernel that such a group takes: both of it, or neither.
TEST_F(StoreGroup, KilledAnywhereItHoldsWholeGroups) {
  int killed = 0;
  for (int calls = 0;; ++calls) {
    ASSERT_LT(calls, 200);
    const Folder folder;
    const auto file = folder / "study.db";
    { Store(file, plan_).write_done(4, found(4)); }
    Child child([&](auto say) {
      Store store(file, plan_);
      die_in_a_call_of_sqlite(calls);
      store.together([&] {
        store.write_done(0, found(0));
        store.write_done(1, found(1));
      });
      say("x");
    });
    const bool committed = child.hear() == 'x';
    const bool ended = child.end() == 0;
    const Results read = read_store(file);
    EXPECT_EQ(fingerprint(read.cells[4]), fingerprint(found(4)));
    EXPECT_EQ(read.cells[0].state, read.cells[1].state) << calls;
    EXPECT_TRUE(!committed || fingerprint(read.cells[1]) == fingerprint(found(1)));
    if (ended) break;
    ++killed;
  }
  EXPECT_GT(killed, 3);
}

}  // namespace
}  // namespace sharpen::study
