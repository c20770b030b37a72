#include "sharpen/study/shard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "sharpen/base/error.hpp"
#include "sharpen/study/merge.hpp"
#include "sharpen/study/run.hpp"
#include "study/jobs.hpp"
#include "study/task_study.hpp"

namespace sharpen::study {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Plan part_of(const Plan& whole, const Shard& shard) {
  Plan out = whole;
  const std::vector<bool> mine = cells_in(whole, shard);
  out.results.shard = shard;
  out.results.shard_cells = std::ranges::count(mine, true);
  return out;
}

Tally compute(const Plan& whole, const Shard& shard, const fs::path& file) {
  const Plan part = part_of(whole, shard);
  Store store(file, part.results);
  return run_study(part, store, {.threads = 2, .shard = shard}, Log());
}

// The parts of the small study, cut into so many, and the study in one piece.
struct Parts {
  Folder folder;
  std::vector<fs::path> files;

  explicit Parts(Index count) {
    for (Index part = 1; part <= count; ++part) {
      files.push_back(folder / ("part" + std::to_string(part) + ".db"));
      compute(plan(), {part, count}, files.back());
    }
  }
  fs::path whole() const { return folder / "whole/study.db"; }
  Merged merged(const MergeSettings& settings = {}) const {
    return merge(files, whole(), settings, Log());
  }
  std::string refusal(const MergeSettings& settings = {}) const {
    try {
      merged(settings);
    } catch (const InputError& error) {
      EXPECT_FALSE(fs::exists(whole().parent_path()));
      return error.what();
    }
    return "";
  }
};

const Results& in_one_piece() {
  static const Results found = [] {
    const Folder folder;
    compute(plan(), {}, folder / "study.db");
    return read_store(folder / "study.db");
  }();
  return found;
}

TEST(Shard, IsReadFromItsText) {
  EXPECT_EQ(shard_of("3/100"), (Shard{3, 100}));
  EXPECT_EQ(shard_of("3/100").text(), "3/100");
  EXPECT_TRUE(shard_of("").whole());
  for (const char* wrong : {"0/3", "4/3", "a/b", "1/0", "1", "1/", "/3", "1/3x", " 1/3", "-1/3",
                            "1/2/3", "1/99999999", "1/99999999999999999999"}) {
    try {
      shard_of(wrong);
      ADD_FAILURE() << wrong;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("write I/N, such as 3/100")) << wrong;
    }
  }
}

TEST(Shard, EveryCellIsInOnePart) {
  for (const Index parts : {1, 2, 3, 7, 1000}) {
    const std::vector<Index> found = cut(plan(), parts);
    ASSERT_EQ(found.size(), plan().results.cells.size());
    EXPECT_THAT(found, ::testing::Each(AllOf(::testing::Ge(1), ::testing::Le(parts))));
    EXPECT_EQ(cut(plan(), parts), found);
    const std::vector<bool> first = cells_in(plan(), {1, parts});
    EXPECT_EQ(std::ranges::count(first, true), std::ranges::count(found, 1));
  }
}

// In how many parts something that cells share is made; by its key.
std::map<std::string, std::set<Index>> parts_by(std::string (*key_of)(const Plan&, Index),
                                                const Plan& planned, Index count) {
  const std::vector<Index> parts = cut(planned, count);
  std::map<std::string, std::set<Index>> out;
  for (std::size_t cell = 0; cell < parts.size(); ++cell)
    if (const std::string key = key_of(planned, static_cast<Index>(cell)); !key.empty())
      out[key].insert(parts[cell]);
  return out;
}

TEST(Shard, NothingIsDoneTwiceWhereThatCanBeAvoided) {
  // Two markets that share nothing.
  for (const auto& [key, where] : parts_by(training_key, plan(), 2)) EXPECT_EQ(where.size(), 1u);
  for (const auto& [key, where] : parts_by(oracle_key, plan(), 2)) EXPECT_EQ(where.size(), 1u);
  const std::vector<Index> parts = cut(plan(), 2);
  EXPECT_THAT(std::set(parts.begin(), parts.end()), ElementsAre(1, 2));
}

TEST(Shard, NoTrainingIsRepeatedForCellsThatTakeLess) {
  const Plan planned = plan_of(
      "k = [1, 2, 3]\nseeds = 2\nlookback = 15\nhidden = [\"32\"]\nrule = \"none\"\n"
      "[[market]]\nsimulate = { assets = 5, days = 140, seed = 1 }\n"
      "[[method]]\nframework = \"pfl\"\noptimizer = \"oscar\"\ntraining = \"paper\"\n"
      "[[method]]\nframework = \"pfl\"\noptimizer = \"mssrm\"\ntraining = \"paper\"\n");
  // A training takes longer than its cells, and these longer than one part of many.
  double walks = 0.0;
  for (Index cell = 0; cell < static_cast<Index>(planned.results.cells.size()); ++cell)
    walks +=
        0.5 * rough_decision_seconds(planned, cell) * static_cast<double>(decisions(planned, cell));
  const double training = rough_training_seconds(planned, 0);
  ASSERT_LT(2.0 * walks, training);
  ASSERT_GT(walks, 20.0 * training / 1000.0);
  for (const Index count : {2, 3, 5, 12, 1000}) {
    const auto trainings = parts_by(training_key, planned, count);
    ASSERT_EQ(trainings.size(), 2u);
    for (const auto& [key, where] : trainings) EXPECT_EQ(where.size(), 1u) << count;
  }
}

TEST(Shard, CellsOfOneTrainingAreCutWhereTheyTakeLonger) {
  const Plan planned = plan_of(
      "k = [1, 2, 3, 4]\nseeds = 1\nlookback = 15\nhidden = [\"1\"]\nepochs = 1\n"
      "rule = \"none\"\n[[market]]\nsimulate = { assets = 5, days = 600, seed = 1 }\n"
      "[[method]]\nframework = \"pfl\"\noptimizer = \"sdr\"\n");
  const auto trainings = parts_by(training_key, planned, 4);
  ASSERT_EQ(trainings.size(), 1u);
  EXPECT_GT(trainings.begin()->second.size(), 2u);
}

TEST(Merge, GivesTheStudyInOnePiece) {
  for (const Index count : {2, 3}) {
    Parts parts(count);
    std::ranges::reverse(parts.files);
    parts.files.push_back(parts.files.front());  // twice is fine
    const Merged merged = parts.merged();
    EXPECT_EQ(merged.parts, count);
    EXPECT_EQ(merged.done, merged.cells);
    const Results whole = read_store(parts.whole());
    EXPECT_TRUE(whole.shard.whole());
    expect_same_study(whole, in_one_piece());
  }
}

TEST(Merge, SlowGivesTheStudyInOnePieceForAnyCutAndOrder) {
  for (const Index count : {1, 2, 3, 4, 5}) {
    Parts parts(count);
    std::ranges::sort(parts.files);
    do {
      fs::remove_all(parts.whole().parent_path());
      parts.merged();
      expect_same_study(read_store(parts.whole()), in_one_piece());
    } while (count < 5 && std::ranges::next_permutation(parts.files).found);
  }
}

TEST(Merge, IsGoneOnWithAsAWhole) {
  Parts parts(3);
  parts.files.erase(parts.files.begin() + 1);
  const Merged merged = parts.merged({.partial = true});
  EXPECT_THAT(merged.missing_parts, ElementsAre("2/3"));
  EXPECT_GT(merged.missing, 0);
  const Tally tally = compute(plan(), {}, parts.whole());
  EXPECT_EQ(tally.computed, merged.missing);
  expect_same_study(read_store(parts.whole()), in_one_piece());
}

TEST(Merge, NamesWhatIsMissing) {
  Parts parts(3);
  parts.files.erase(parts.files.begin() + 1);
  EXPECT_THAT(parts.refusal(), AllOf(HasSubstr("part 2/3 of the study is missing"),
                                     HasSubstr("study --shard 2/3"), HasSubstr("--partial")));
  // A part that was interrupted.
  parts.files.push_back(parts.folder / "begun.db");
  { Store begun(parts.files.back(), part_of(plan(), {2, 3}).results); }
  EXPECT_THAT(parts.refusal(), AllOf(HasSubstr("begun.db"), HasSubstr("are missing")));
}

// Every part has the cells that fell to it, and yet they are not all: it was cut anew as it grew.
TEST(Merge, RefusesWhatWouldNotBeWhole) {
  Parts parts(2);
  Plan second = part_of(plan(), {2, 2});
  second.results.shard_cells = 0;
  fs::remove(parts.files[1]);
  { Store empty(parts.files[1], second.results); }
  const Results first = read_store(parts.files[0], Detail::states);
  const auto missing = std::ranges::count(first.cells, CellState::missing, &Cell::state);
  EXPECT_THAT(parts.refusal(),
              AllOf(HasSubstr(std::to_string(missing) + " of "),
                    HasSubstr("in no part, the first that of market \""), HasSubstr("--partial")));
  EXPECT_EQ(parts.merged({.partial = true}).missing, missing);
}

TEST(Merge, RefusesAWholeThatWasInterrupted) {
  Parts parts(0);
  parts.files = {parts.folder / "begun.db"};
  { Store begun(parts.files[0], plan().results); }
  EXPECT_THAT(parts.refusal(), HasSubstr("in no part"));
  EXPECT_GT(parts.merged({.partial = true}).missing, 0);
}

// SQLite would play it back into the whole.
TEST(Merge, RefusesTheJournalOfAStudyThatIsGone) {
  const Parts parts(1);
  for (const char* ending : {"-journal", "-wal"}) {
    fs::create_directories(parts.whole().parent_path());
    const fs::path left = parts.whole().string() + ending;
    write_bytes(left, "left");
    for (const bool force : {false, true}) {
      try {
        parts.merged({.force = force});
        ADD_FAILURE();
      } catch (const InputError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr(ending), HasSubstr("remove it")));
      }
      EXPECT_FALSE(fs::exists(parts.whole()));
      EXPECT_EQ(bytes_of(left), "left");
    }
    fs::remove(left);
  }
  EXPECT_EQ(parts.merged().missing, 0);
}

TEST(Merge, RemovesWhatAKilledOneHasLeft) {
  const Parts parts(1);
  fs::create_directories(parts.whole().parent_path());
  for (const char* left : {".merging", ".merging-journal", ".merging.lock", ".lock"})
    write_bytes(parts.whole().string() + left, "left");
  parts.merged();
  std::set<fs::path> there;
  for (const auto& entry : fs::directory_iterator(parts.whole().parent_path()))
    there.insert(entry.path().filename());
  EXPECT_THAT(there, ElementsAre("study.db"));
  expect_same_study(read_store(parts.whole()), in_one_piece());
}

TEST(Merge, LeavesAStudyAloneThatIsBegunMeanwhile) {
  const Parts parts(1);
  const auto refused_when = [&](const auto& meanwhile) {
    bool once = false;
    const Stop stop = [&] {
      if (!once && fs::exists(parts.whole().string() + ".merging")) {
        once = true;
        meanwhile();
      }
      return false;
    };
    EXPECT_THROW(merge(parts.files, parts.whole(), {}, Log(), stop), InputError);
    EXPECT_TRUE(once);
  };
  refused_when([&] {
    EXPECT_THROW(Store(parts.whole(), plan().results), InputError);  // it is being written
    write_bytes(parts.whole(), "copied to here");
  });
  EXPECT_EQ(bytes_of(parts.whole()), "copied to here");
}

TEST(Merge, RefusesPartsOfOtherStudies) {
  Parts parts(2);
  const auto refusal_with = [&](const Plan& other, const Shard& shard) {
    const fs::path file = parts.folder / "other.db";
    fs::remove(file);
    { Store store(file, part_of(other, shard).results); }
    Parts with(0);
    with.files = parts.files;
    with.files.push_back(file);
    return with.refusal();
  };
  Plan other = plan();
  other.results.methods[0].settings += "shrinkage = 0.5\n";
  EXPECT_THAT(refusal_with(other, {2, 2}), HasSubstr("other settings"));
  other = plan();
  other.results.markets[0].checksum = "crc32:00000000:1";
  EXPECT_THAT(refusal_with(other, {2, 2}), HasSubstr("is not the data it was"));
  other = plan();
  other.results.versions[0].second = "9.9.9";
  EXPECT_THAT(refusal_with(other, {2, 2}), AllOf(HasSubstr("other programs"), HasSubstr("9.9.9")));
  EXPECT_THAT(refusal_with(plan(), {2, 4}), HasSubstr("cut into"));
  other = plan();
  other.results.cells.pop_back();
  EXPECT_THAT(refusal_with(other, {2, 2}), HasSubstr("only one of them has"));
}

TEST(Merge, TheSameCellMustBeTheSameBits) {
  Parts parts(2);
  const Results found = read_store(parts.files[0]);
  const auto done = std::ranges::find(found.cells, CellState::done, &Cell::state);
  const Index cell = done - found.cells.begin();
  Cell changed = *done;
  changed.run.returns[3] = std::nextafter(changed.run.returns[3], 1.0);
  parts.files.push_back(parts.folder / "third.db");
  {
    Store store(parts.files.back(), part_of(plan(), {2, 2}).results);
    store.write_done(cell, changed);
  }
  EXPECT_THAT(parts.refusal({.partial = true}),
              AllOf(HasSubstr("other numbers for the cell of market"), HasSubstr("third.db")));
}

TEST(Merge, ACellThatFailedInOnePartIsDoneIfAnotherHasIt) {
  Parts parts(2);
  const Results found = read_store(parts.files[0]);
  const Index cell =
      std::ranges::find(found.cells, CellState::done, &Cell::state) - found.cells.begin();
  parts.files.push_back(parts.folder / "failed.db");
  {
    Store store(parts.files.back(), part_of(plan(), {1, 2}).results);
    store.write_failed(cell, "no memory", 1.0);
  }
  EXPECT_EQ(parts.merged({.partial = true}).failed, 0);
  expect_same_study(read_store(parts.whole()), in_one_piece());
}

TEST(Merge, LeavesWhatIsThere) {
  const Parts parts(1);
  parts.merged();
  EXPECT_THROW(parts.merged(), InputError);
  const Merged again = parts.merged({.force = true});
  EXPECT_THAT(again.warnings, ElementsAre(HasSubstr("study-1.db")));
  EXPECT_TRUE(fs::exists(parts.whole().parent_path() / "study-1.db"));
}

TEST(Shard, AnotherPartIsRefusedInTheSameFolder) {
  const Folder folder;
  const fs::path file = folder / "study.db";
  { Store store(file, part_of(plan(), {1, 3}).results); }
  { Store store(file, part_of(plan(), {1, 3}).results); }
  for (const Shard other : {Shard{2, 3}, Shard{1, 2}, Shard{}}) {
    try {
      Store store(file, part_of(plan(), other).results);
      ADD_FAILURE();
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("holds part 1 of 3"), HasSubstr("--out")));
    }
  }
}

}  // namespace
}  // namespace sharpen::study
