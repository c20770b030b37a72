// A study's file from anyone: whatever its bytes are, an error that says so, or a study that fits
// itself.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>

#include "sharpen/base/error.hpp"
#include "sharpen/study/store.hpp"
#include "study/small_study.hpp"
#include "study/store_schema.hpp"

namespace sharpen::study {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// The promises of Results that a report relies on.
void expect_fits(const Results& found) {
  for (const Cell& cell : found.cells) {
    ASSERT_LT(static_cast<std::size_t>(cell.market), found.markets.size());
    ASSERT_LT(static_cast<std::size_t>(cell.method), found.methods.size());
    if (cell.state != CellState::done) continue;
    ASSERT_NO_THROW(check_run(found.markets[static_cast<std::size_t>(cell.market)], cell, true));
  }
}

// True if the file is read as a study, which then fits itself.
bool reads(const std::filesystem::path& file, const std::string& bytes) {
  write_bytes(file, bytes);
  try {
    expect_fits(read_store(file));
    return true;
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(file.string() + ": "), HasSubstr("; ")));
  }
  return false;
}

std::string small_bytes() {
  const Folder folder;
  write_small_study(folder / "study.db", small_plan(1, 3, 4));
  return bytes_of(folder / "study.db");
}

TEST(StoreUntrusted, FlippedBytesNeverBreakTheReader) {
  const Folder folder;
  const std::string good = small_bytes();
  ASSERT_TRUE(reads(folder / "study.db", good));
  Random random(1);
  int refused = 0;
  for (int round = 0; round < 1200; ++round) {
    std::string bytes = good;
    const int flips = 1 + round % 4;
    for (int i = 0; i < flips; ++i) {
      // Half of them where pages begin and say what is where on them.
      const auto page =
          static_cast<std::size_t>(random.uniform() * static_cast<double>(good.size() / 4096));
      const auto within =
          static_cast<std::size_t>(random.uniform() * (round % 2 == 0 ? 100.0 : 4096.0));
      bytes[page * 4096 + within] = static_cast<char>(random.uniform() * 256.0);
    }
    if (!reads(folder / "study.db", bytes)) ++refused;
  }
  EXPECT_GT(refused, 100);
}

TEST(StoreUntrusted, SwappedPagesNeverBreakTheReader) {
  const Folder folder;
  const std::string good = small_bytes();
  const std::size_t pages = good.size() / 4096;
  for (std::size_t a = 0; a < pages; ++a)
    for (std::size_t b = 0; b < pages; b += 3) {
      std::string bytes = good;
      bytes.replace(a * 4096, 4096, good, b * 4096, 4096);
      reads(folder / "study.db", bytes);
    }
}

TEST(StoreUntrusted, TruncationsAreRefused) {
  const Folder folder;
  const std::string good = small_bytes();
  for (std::size_t size = 1; size < good.size(); size += size < 200 ? 13 : 997) {
    write_bytes(folder / "study.db", good.substr(0, size));
    EXPECT_THROW(read_store(folder / "study.db"), InputError) << size;
  }
}

TEST(StoreUntrusted, ThingsThatAreNoStudyAreNamed) {
  const Folder folder;
  const auto file = folder / "study.db";
  const auto says = [&](const std::string& what) {
    EXPECT_THAT([&] { read_store(file); },
                ThrowsMessage<InputError>(AllOf(HasSubstr(file.string() + ": "), HasSubstr(what))));
  };
  says("does not exist");
  write_bytes(file, "");
  says("is empty");
  write_bytes(file, "date,A,B\n2020-01-01,1,2\n");
  says("it is no SQLite file");
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  says("is a folder; name the study.db in it");
  std::filesystem::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  says("is not a file");
  std::filesystem::remove(file);
  EXPECT_THROW(read_store(""), InputError);
}

// A small study, changed by SQL as an enemy might.
class Doctored : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = folder_ / "study.db";
    write_small_study(file_);
  }
  void sql(const std::string& text) {
    sqlite3* database = nullptr;
    sqlite3_open(file_.c_str(), &database);
    char* message = nullptr;
    sqlite3_exec(database, text.c_str(), nullptr, nullptr, &message);
    EXPECT_EQ(message, nullptr) << message;
    sqlite3_free(message);
    sqlite3_close(database);
  }
  // By readers and by writers, which leave it as it is.
  void expect_refused(const std::string& what) {
    const std::string before = bytes_of(file_);
    EXPECT_THAT([&] { read_store(file_); }, ThrowsMessage<InputError>(HasSubstr(what)));
    EXPECT_THAT([&] { Store(file_, small_plan()); }, ThrowsMessage<InputError>(HasSubstr(what)));
    EXPECT_EQ(bytes_of(file_), before);
  }
  // By readers only: a writer does not look at runs.
  void expect_unread(const std::string& what) {
    EXPECT_THAT([&] { read_store(file_); }, ThrowsMessage<InputError>(HasSubstr(what)));
    EXPECT_NO_THROW(Store(file_, small_plan()));
  }

  Folder folder_;
  std::filesystem::path file_;
};

TEST_F(Doctored, AnotherApplicationsDatabase) {
  std::filesystem::remove(file_);
  sql("CREATE TABLE cells (a)");
  expect_refused("it is a database of something else");
}

TEST_F(Doctored, ANewerVersion) {
  sql("PRAGMA user_version = 3");
  expect_refused("its tables are of version 3, and this program knows versions 1 to 2");
}

TEST_F(Doctored, AViewNamedLikeATable) {
  sql("DROP TABLE daily; CREATE VIEW daily AS SELECT * FROM metrics");
  expect_refused("its view \"daily\" is not one of a study's");
}

TEST_F(Doctored, ATrigger) {
  sql("CREATE TRIGGER t AFTER UPDATE ON cells BEGIN DELETE FROM cells; END");
  expect_refused("its trigger \"t\" is not one of a study's");
}

TEST_F(Doctored, AnIndex) {
  sql("CREATE INDEX i ON cells (k)");
  expect_refused("its index \"i\"");
}

TEST_F(Doctored, AMissingTable) {
  sql("DROP TABLE weights");
  expect_refused("it has no table \"weights\"");
}

TEST_F(Doctored, AColumnMore) {
  sql("ALTER TABLE cells ADD COLUMN more TEXT");
  expect_refused("its table \"cells\"");
}

// SQLite quotes what it cannot parse, and what it quotes must not clear the screen.
TEST_F(Doctored, SqlWithControlCharacters) {
  sql("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE cells (\"a\" \x1b"
      "[2J\xC2\x9B)' WHERE name = 'cells'");
  expect_refused("malformed database schema (cells) - unrecognized token: \"\\x1b\"");
}

TEST_F(Doctored, SwappedColumns) {
  sql("ALTER TABLE daily RENAME COLUMN cost TO x; ALTER TABLE daily RENAME COLUMN net TO cost;"
      "ALTER TABLE daily RENAME COLUMN x TO net");
  expect_refused("its table \"daily\"");
}

TEST_F(Doctored, ValuesOutOfRange) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"UPDATE cells SET market = 99 WHERE cell = 1", "a cell's market does not exist"},
      {"UPDATE cells SET method = 99 WHERE cell = 1", "a cell's method does not exist"},
      {"UPDATE cells SET k = 99 WHERE cell = 1", "a value of \"k\" is 99, outside [0, 6]"},
      {"UPDATE cells SET k = -1 WHERE cell = 1", "outside [0, 6]"},
      {"UPDATE cells SET state = 'maybe' WHERE cell = 1", "state \"maybe\" is unknown"},
      {"UPDATE cells SET seconds = 9e999 WHERE cell = 1", "\"seconds\" is missing or not finite"},
      {"UPDATE cells SET seconds = -1 WHERE cell = 1", "less than no time"},
      {"UPDATE methods SET role = '<b>' WHERE method = 1", "role \"<b>\" is unknown"},
      {"UPDATE methods SET name = 'pfl-oscar'", "two methods are called \"pfl-oscar\""},
      {"UPDATE markets SET name = 'ftse'", "two markets are called \"ftse\""},
      {"UPDATE markets SET periods_per_year = 0", "no periods in a year"},
      {"UPDATE markets SET name = CAST(x'ff' AS TEXT) WHERE market = 1", "is not UTF-8"},
      {"UPDATE markets SET name = printf('%.5000c', 'x') WHERE market = 1", "has 5000 bytes"},
      {"UPDATE assets SET asset = 77 WHERE asset = 2", "not in order"},
      {"DELETE FROM periods WHERE period = 2", "not in order"},
      {"UPDATE periods SET date = '2020-100'", "do not ascend"},
      {"DELETE FROM study WHERE key = 'name'", "name or settings are missing"},
      {"DELETE FROM study", "name or settings are missing"},
      {"INSERT INTO study VALUES ('x', '')", "a key of something else"},
      {"UPDATE warnings SET number = number + 5", "not in order"},
      {"UPDATE cells SET seed = 1 WHERE seed = 2",
       "the same cell twice (market \"nikkei\", method \"pfl-oscar\", k = 50%, seed 1)"},
      {"UPDATE cells SET seed = NULL WHERE method = 2",
       "the same cell twice (market \"nikkei\", method \"pfl-oscar\", k = 50%)"},
      {"UPDATE cells SET k = 2 WHERE cell = 2",
       "k = 50% of market \"nikkei\" is 3 names in one cell and 2 in another"},
      {"UPDATE cells SET k_given = k_given || cell, method = 1",
       "method \"pfl-oscar\" has no cell"},
  };
  const std::string good = bytes_of(file_);
  for (const auto& [change, what] : changes) {
    SCOPED_TRACE(change);
    write_bytes(file_, good);
    sql(change);
    expect_refused(what);
  }
}

TEST_F(Doctored, RunsOutOfRange) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"DELETE FROM daily WHERE cell = 1 AND period = 3", "its days are not in order"},
      {"DELETE FROM daily WHERE cell = 1 AND period = 6", "days of a cell are missing"},
      {"DELETE FROM runs WHERE cell = 1", "has no run"},
      {"DELETE FROM metrics WHERE cell = 1", "has no metrics"},
      {"UPDATE runs SET periods = 1000000000 WHERE cell = 1", "outside [0, 7]"},
      {"UPDATE runs SET stats_from = 8 WHERE cell = 1", "outside [0, 7]"},
      {"UPDATE runs SET positions = 1000000000 WHERE cell = 1", "weights of a cell are missing"},
      {"UPDATE runs SET jittered = 100 WHERE cell = 1", "\"jittered\""},
      {"UPDATE metrics SET drawdown_trough = 7 WHERE cell = 1", "\"drawdown_trough\""},
      {"UPDATE daily SET return = 9e999 WHERE cell = 1", "\"return\" is missing or not finite"},
      {"UPDATE daily SET date = '2020-999' WHERE cell = 1 AND period = 6",
       "the periods of a run are not those of its market"},
      {"UPDATE daily SET status = 'x' WHERE cell = 1", "status \"x\" is unknown"},
      {"UPDATE weights SET asset = 999 WHERE asset = 5", "\"asset\" is 999"},
      {"UPDATE weights SET weight = -9e999 WHERE cell = 1", "\"weight\" is missing or not finite"},
      {"INSERT INTO weights VALUES (1, 70, 0, 1.0)", "\"period\" is 70"},
  };
  const std::string good = bytes_of(file_);
  for (const auto& [change, what] : changes) {
    SCOPED_TRACE(change);
    write_bytes(file_, good);
    sql(change);
    expect_unread(what);
  }
}

// A report lays out every method of every market and k: a small file of many of both would be
// gigabytes of it.
TEST_F(Doctored, MoreGroupsTimesMethodsThanAStudyMayHaveCells) {
  const auto add = [&](int methods) {
    sql(fmt::format(
        "BEGIN; WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
        "INSERT INTO methods SELECT i, i, 'm' || i, '', 'own', 'rolling', 'swap', '', 0.0, 1, 0.0,"
        " '' FROM n;"
        "INSERT INTO cells SELECT method + 100, method + 100, 1, method, 'k' || method, 1, NULL,"
        " 'missing', '', 0.0 FROM methods WHERE method > 9; COMMIT",
        9 + methods));
  };
  const std::string good = bytes_of(file_);
  add(900);
  EXPECT_EQ(read_store(file_).methods.size(), 903U);
  write_bytes(file_, good);
  add(1100);
  ASSERT_LT(std::filesystem::file_size(file_), 1'000'000U);
  expect_refused("numbers of names and 1103 methods make more than 1000000 entries");
  write_bytes(file_, good);
  add(10000);
  expect_refused("it has 10003 methods, more than 10000");
}

TEST_F(Doctored, AHugeTextIsNotRead) {
  sql("UPDATE cells SET reason = CAST(zeroblob(30000000) AS TEXT) WHERE cell = 1");
  EXPECT_THAT([&] { read_store(file_); },
              ThrowsMessage<InputError>(HasSubstr("\"reason\" has 30000000 bytes")));
}

// SQLite's own PRAGMA quick_check descends such a tree page by page, and overflows its stack.
TEST_F(Doctored, AChainOfPagesInPlaceOfATreeIsRefused) {
  constexpr std::size_t kPage = 512, kDepth = 60'000;
  sql(fmt::format("PRAGMA page_size = {}; VACUUM", kPage));
  std::size_t root = 0;
  sqlite3* database = nullptr;
  sqlite3_open(file_.c_str(), &database);
  sqlite3_exec(
      database, "SELECT rootpage FROM sqlite_schema WHERE name = 'cells'",
      [](void* found, int, char** text, char**) {
        *static_cast<std::size_t*>(found) = std::stoul(text[0]);
        return 0;
      },
      &root, nullptr);
  sqlite3_close(database);
  ASSERT_GT(root, 1U);
  const auto big_endian = [](std::size_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<char>(value >> shift & 0xff));
    return bytes;
  };
  // An inner page without cells, and so with one child.
  const auto inner = [&](std::size_t child) {
    std::string page = std::string("\5\0\0\0\0\2\0\0", 8) + big_endian(child);
    page.resize(kPage);
    return page;
  };
  std::string bytes = bytes_of(file_);
  const std::string leaf = bytes.substr((root - 1) * kPage, kPage);
  bytes.replace((root - 1) * kPage, kPage, inner(bytes.size() / kPage + 1));
  for (std::size_t depth = 0; depth < kDepth; ++depth) bytes += inner(bytes.size() / kPage + 2);
  bytes += leaf;
  bytes.replace(28, 4, big_endian(bytes.size() / kPage));
  write_bytes(file_, bytes);
  expect_refused("is damaged: database disk image is malformed");
}

// Rows of at least so many bytes, in tables without row ids: where in the file is the number of
// the page that they go on at.
std::vector<std::size_t> overflowing(const std::string& bytes, std::size_t least) {
  const auto number = [&](std::size_t at, int count) {
    std::size_t value = 0;
    for (int i = 0; i < count; ++i)
      value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
    return value;
  };
  std::vector<std::size_t> found;
  for (std::size_t page = 4096; page < bytes.size(); page += 4096) {
    const bool inner = bytes[page] == 2;
    if (!inner && bytes[page] != 10) continue;
    for (std::size_t i = 0; i < number(page + 3, 2); ++i) {
      std::size_t at = page + number(page + (inner ? 12 : 8) + 2 * i, 2) + (inner ? 4 : 0);
      std::size_t size = 0;
      for (bool more = true; more; ++at) {
        more = (bytes[at] & 0x80) != 0;
        size = size << 7 | static_cast<std::size_t>(bytes[at] & 0x7f);
      }
      if (size < least) continue;
      // Of the payload so much is on the page that the rest fills its pages (SQLite, 1.6).
      const std::size_t few = (4096 - 12) * 32 / 255 - 23, most = (4096 - 12) * 64 / 255 - 23;
      const std::size_t here = few + (size - few) % (4096 - 4);
      found.push_back(at + (here <= most ? here : few));
    }
  }
  return found;
}

TEST_F(Doctored, RowsThatShareOneTextAreNotReadForEach) {
  constexpr int kRows = 40;
  constexpr std::size_t kLength = 200'000;
  // First the rows, then what they hold, which so is at the end of the file, row by row.
  const std::string of_cell = " WHERE market = 0 AND cell = 1";
  sql("DELETE FROM warnings" + of_cell);
  for (int row = 0; row < kRows; ++row)
    sql(fmt::format("INSERT INTO warnings VALUES (0, 1, {}, printf('%.900c', 'x'))", row));
  for (int row = 0; row < kRows; ++row)
    sql(fmt::format("UPDATE warnings SET text = printf('%.{}c', 'x'){} AND number = {}", kLength,
                    of_cell, row));
  EXPECT_EQ(read_store(file_).cells[0].warnings.size(), static_cast<std::size_t>(kRows));
  std::string bytes = bytes_of(file_);
  const std::vector<std::size_t> places = overflowing(bytes, kLength);
  ASSERT_EQ(places.size(), static_cast<std::size_t>(kRows));
  std::vector<std::string> pages;
  for (const std::size_t at : places) pages.push_back(bytes.substr(at, 4));
  std::sort(pages.begin(), pages.end());  // big-endian: as numbers
  for (const std::size_t at : places) bytes.replace(at, 4, pages[0]);
  std::size_t kept = 0;  // pages before those of the second row
  for (const char byte : pages[1]) kept = kept << 8 | static_cast<unsigned char>(byte);
  --kept;
  bytes.resize(kept * 4096);
  for (std::size_t i = 0; i < 4; ++i)
    bytes[28 + i] = static_cast<char>(kept >> (24 - 8 * i) & 0xff);
  ASSERT_LT(2 * bytes.size() + (1 << 20), kRows * kLength / 2);
  write_bytes(file_, bytes);
  expect_refused("its texts are longer than the file that holds them");
}

}  // namespace
}  // namespace sharpen::study
