// What comes with a study's file from elsewhere touches no other file of the user's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "sharpen/base/error.hpp"
#include "sharpen/study/store.hpp"
#include "study/small_study.hpp"

namespace sharpen::study {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::string kMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";

std::string big_endian(std::size_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<char>(value >> shift & 0xff));
  return bytes;
}

// A journal that undoes nothing, of a transaction over several databases that `super` has the list
// of: SQLite removes that list when it has played back the journal.
std::string forged_journal(const std::filesystem::path& file, const std::string& super) {
  std::string bytes = kMagic + big_endian(0) + big_endian(1) +
                      big_endian(std::filesystem::file_size(file) / 4096) + big_endian(512) +
                      big_endian(4096);
  bytes.resize(512);
  std::size_t sum = 0;
  for (const char byte : super) sum += static_cast<std::size_t>(byte);
  return bytes + big_endian(0x40000000 / 4096 + 1) + super + big_endian(super.size()) +
         big_endian(sum) + kMagic;
}

class StoreJournal : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_ / "elsewhere");
    plan_ = write_small_study(file_);
    write_bytes(victim_, "a thesis\n");
    good_ = bytes_of(file_);
  }
  // No way into the file touches anything.
  void expect_refused(const std::string& what) {
    const auto says = ThrowsMessage<InputError>(HasSubstr(what));
    EXPECT_THAT([&] { read_store(file_); }, says);
    EXPECT_THAT([&] { read_store(file_, Detail::states); }, says);
    EXPECT_THAT([&] { Store(file_, plan_); }, says);
    EXPECT_EQ(bytes_of(victim_), "a thesis\n");
    EXPECT_EQ(bytes_of(file_), good_);
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::symlink_status(journal_)));
  }

  Folder folder_;
  std::filesystem::path file_ = folder_ / "elsewhere/study.db";
  std::filesystem::path journal_ = folder_ / "elsewhere/study.db-journal";
  std::filesystem::path victim_ = folder_ / "thesis.txt";
  Results plan_;
  std::string good_;
};

TEST_F(StoreJournal, TheForgeryWouldRemoveAFile) {
  write_bytes(journal_, forged_journal(file_, victim_));
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file_.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, "SELECT * FROM cells", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  EXPECT_FALSE(std::filesystem::exists(victim_));
}

TEST_F(StoreJournal, AJournalThatNamesAFileIsRefused) {
  write_bytes(journal_, forged_journal(file_, victim_));
  expect_refused(journal_.string() + ": is no journal of a study: it names another file");
}

TEST_F(StoreJournal, ThroughALinkToTheFileToo) {
  write_bytes(journal_, forged_journal(file_, victim_));
  const std::filesystem::path link = folder_ / "study.db";
  std::filesystem::create_symlink(file_, link);
  EXPECT_THAT([&] { read_store(link); },
              ThrowsMessage<InputError>(HasSubstr("it names another file")));
  EXPECT_THAT([&] { Store(link, plan_); },
              ThrowsMessage<InputError>(HasSubstr("it names another file")));
  EXPECT_EQ(bytes_of(victim_), "a thesis\n");
}

TEST_F(StoreJournal, SetAsideItGoesWithItsFile) {
  const std::string forged = forged_journal(file_, victim_);
  write_bytes(journal_, forged);
  const std::filesystem::path other = set_aside(file_);
  EXPECT_EQ(bytes_of(victim_), "a thesis\n");
  EXPECT_EQ(bytes_of(other.string() + "-journal"), forged);
  EXPECT_THROW(read_store(other), InputError);
  EXPECT_NO_THROW(Store(file_, plan_));
}

TEST_F(StoreJournal, ALinkOrAPipeIsRefused) {
  std::filesystem::create_symlink(victim_, journal_);
  expect_refused(journal_.string() + ": is not a file, and so no journal of a study");
  std::filesystem::remove(journal_);
  ASSERT_EQ(::mkfifo(journal_.c_str(), 0600), 0);
  expect_refused(journal_.string() + ": is not a file, and so no journal of a study");
}

TEST_F(StoreJournal, AWriteAheadLogIsRefused) {
  const std::string log = file_.string() + "-wal";
  write_bytes(journal_, "");
  std::filesystem::create_symlink(victim_, log);
  expect_refused("is kept with a write-ahead log");
  std::filesystem::remove(log);
  EXPECT_NO_THROW(read_store(file_));
  good_[18] = good_[19] = 2;
  write_bytes(file_, good_);
  expect_refused("is kept with a write-ahead log");
  EXPECT_FALSE(std::filesystem::exists(log));
}

TEST_F(StoreJournal, GarbageInPlaceOfAJournalUndoesNothing) {
  write_bytes(journal_, std::string(2000, 'g'));
  EXPECT_EQ(read_store(file_).cells.size(), plan_.cells.size());
  EXPECT_EQ(bytes_of(file_), good_);
}

TEST_F(StoreJournal, AJournalThatMakesAFileOfHolesIsRefused) {
  std::string journal = forged_journal(file_, "");
  journal.resize(512);
  const auto with_pages = [&](std::size_t pages) {
    return journal.replace(16, 4, big_endian(pages));  // before the write
  };
  for (const std::size_t pages : {std::size_t{0x7ffffff0}, good_.size()}) {
    write_bytes(journal_, with_pages(pages));
    expect_refused("it would make the file longer than it can have been");
  }
  write_bytes(journal_, with_pages(good_.size() / 4096));
  EXPECT_EQ(read_store(file_).cells.size(), plan_.cells.size());
  EXPECT_EQ(bytes_of(file_), good_);
}

}  // namespace
}  // namespace sharpen::study
