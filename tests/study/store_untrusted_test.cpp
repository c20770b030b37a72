// A study's file from anyone: whatever its bytes are, an error that says so, or a study that fits
// itself.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <limits>

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
    ASSERT_NO_THROW(check_run(found.markets[static_cast<std::size_t>(cell.market)], cell));
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

  void change_plan(const std::function<void(Stored&)>& change) {
    Connection connection(file_, SQLITE_OPEN_READWRITE);
    Stored plan = read_plan(connection, "study.db");
    change(plan);
    connection.run("BEGIN");
    write_plan(connection, plan);
    connection.run("COMMIT");
  }
  void set_found(const std::string& bytes) {
    Connection connection(file_, SQLITE_OPEN_READWRITE);
    Statement(connection, "UPDATE runs SET found = ? WHERE cell = 1").run(Blob{bytes});
  }
  // The first.
  void change_cell(const std::function<void(Cell&)>& change) {
    Cell cell = read_store(file_).cells[0];
    change(cell);
    Bytes bytes(kCellBytes);
    found_fields(bytes, cell);
    set_found(bytes.written());
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
  sql("PRAGMA user_version = 4");
  expect_refused("it is of version 4 of the file, and this Sharpen has version 3");
}

TEST_F(Doctored, AViewNamedLikeATable) {
  sql("DROP TABLE runs; CREATE VIEW runs AS SELECT * FROM metrics");
  expect_refused("its view \"runs\" is not one of a study's");
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
  sql("DROP TABLE runs");
  expect_refused("it has no table \"runs\"");
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
  sql("ALTER TABLE runs RENAME COLUMN returns TO x; ALTER TABLE runs RENAME COLUMN found TO "
      "returns;"
      "ALTER TABLE runs RENAME COLUMN x TO found");
  expect_refused("its table \"runs\"");
}

TEST_F(Doctored, ColumnsOutOfRange) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"UPDATE cells SET state = 'maybe' WHERE cell = 1", "the state of a cell is unknown"},
      {"UPDATE cells SET seconds = 9e999 WHERE cell = 1", "less than no time"},
      {"UPDATE cells SET seconds = -1 WHERE cell = 1", "less than no time"},
      {"UPDATE cells SET reason = CAST(x'ff' AS TEXT) WHERE cell = 1", "is not UTF-8"},
      {"UPDATE cells SET cell = 99 WHERE cell = 1", "its cells are not those of its plan"},
      {"DELETE FROM cells WHERE cell = 1", "its cells are not those of its plan"},
      {"DELETE FROM study", "its plan is missing"},
      {"UPDATE study SET plan = x''", "is empty and no plan of a study"},
      {"UPDATE study SET plan = zeroblob(99)", "it starts with other bytes"},
      {"UPDATE study SET plan = CAST(substr(plan, 1, 90) AS BLOB)",
       "is a plan of a study cut short"},
      {"UPDATE study SET plan = CAST(substr(plan, 1, 90) || x'00' || substr(plan, 92) AS BLOB)",
       "its checksum is not that of its bytes"},
  };
  const std::string good = bytes_of(file_);
  for (const auto& [change, what] : changes) {
    SCOPED_TRACE(change);
    write_bytes(file_, good);
    sql(change);
    expect_refused(what);
  }
}

// With a checksum that is right.
TEST_F(Doctored, PlansThatNoGridHas) {
  const std::vector<std::pair<std::function<void(Stored&)>, std::string>> changes = {
      {[](Stored& plan) { plan.results.cells[0].market = 99; }, "a cell's market does not exist"},
      {[](Stored& plan) { plan.results.cells[0].method = -1; }, "a cell's method does not exist"},
      {[](Stored& plan) { plan.results.cells[0].k = 99; }, "more names than its market has"},
      {[](Stored& plan) { plan.results.cells[0].k = -1; }, "more names than its market has"},
      {[](Stored& plan) { plan.results.methods[0].role = static_cast<Role>(7); }, "a role or a"},
      {[](Stored& plan) { plan.results.methods[0].alpha = 1.0 / 0.0; }, "a role or a number"},
      {[](Stored& plan) { plan.results.methods[0].name = "pfl-oscar"; },
       "two methods are called \"pfl-oscar\""},
      {[](Stored& plan) { plan.results.markets[0].name = "ftse"; },
       "two markets are called \"ftse\""},
      {[](Stored& plan) { plan.results.markets[0].periods_per_year = 0.0; },
       "no periods in a year"},
      {[](Stored& plan) { plan.results.markets[0].dates[3] = "2020-100"; }, "do not ascend"},
      {[](Stored& plan) { plan.results.cells[2].seed = 1; },
       "the same cell twice (market \"nikkei\", method \"pfl-oscar\", k = 50%, seed 1)"},
      {[](Stored& plan) {
         for (Cell& cell : plan.results.cells) cell.seed.reset();
       },
       "the same cell twice (market \"nikkei\", method \"pfl-oscar\", k = 50%)"},
      {[](Stored& plan) { plan.results.cells[1].k = 2; },
       "k = 50% of market \"nikkei\" is 3 names in one cell and 2 in another"},
      {[](Stored& plan) {
         for (std::size_t i = 0; i < plan.ids.size(); ++i) {
           plan.results.cells[i].k_given += std::to_string(i);
           plan.results.cells[i].method = 0;
         }
       },
       "method \"pfl-oscar\" has no cell"},
  };
  const std::string good = bytes_of(file_);
  for (const auto& [change, what] : changes) {
    SCOPED_TRACE(what);
    write_bytes(file_, good);
    change_plan(change);
    expect_refused(what);
  }
}

TEST_F(Doctored, RunsOutOfRange) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<std::function<void(Cell&)>, std::string>> changes = {
      {[](Cell& cell) { cell.run.returns.pop_back(); }, "have different lengths"},
      {[](Cell& cell) { cell.run.status.pop_back(); }, "have different lengths"},
      {[](Cell& cell) { cell.equal_returns.pop_back(); }, "have different lengths"},
      {[](Cell& cell) { cell.run.dates.pop_back(); }, "ends before its market, unruined"},
      {[](Cell& cell) { cell.run.dates.emplace_back("2021"); }, "not those of its market"},
      {[](Cell& cell) { cell.run.dates.back() = "2020-999"; }, "not those of its market"},
      {[](Cell& cell) { cell.run.stats_from = 8; }, "begin outside it"},
      {[](Cell& cell) { cell.run.status[0] = static_cast<backtest::PeriodStatus>(200); },
       "the status of a day is unknown"},
      {[](Cell& cell) { cell.run.returns[2] = kInfinity; }, "the return of 2020-102 is not finite"},
      {[](Cell& cell) { cell.metrics.max_drawdown.trough = 7; }, "periods that it does not have"},
      {[](Cell& cell) { cell.metrics.max_drawdown.peak = -3; }, "periods that it does not have"},
      {[](Cell& cell) { cell.metrics.ruin_period = 1000; }, "periods that it does not have"},
      {[](Cell& cell) { cell.run.weights[0].asset = 999; }, "not in the order of the assets"},
      {[](Cell& cell) { cell.run.weights[0].asset = -1; }, "not in the order of the assets"},
      {[](Cell& cell) { cell.run.weights[0].weight = -kInfinity; }, "is not finite"},
      {[](Cell& cell) { cell.run.weights_begin[1] = 1000000; }, "do not fit its periods"},
      {[](Cell& cell) { cell.run.weights_begin.back() += 1; }, "do not fit its periods"},
  };
  const std::string good = bytes_of(file_);
  for (const auto& [change, what] : changes) {
    SCOPED_TRACE(what);
    write_bytes(file_, good);
    change_cell(change);
    expect_unread(what);
  }
  write_bytes(file_, good);
  sql("DELETE FROM runs WHERE cell = 1");
  expect_unread("a cell that is done has no run");
  sql("INSERT INTO runs VALUES (1, x'', x'0102')");
  expect_unread("it starts with other bytes");
}

// A report lays out every method of every market and k: a small file of many of both would be
// gigabytes of it.
TEST_F(Doctored, MoreGroupsTimesMethodsThanAStudyMayHaveCells) {
  const auto add = [&](int methods) {
    change_plan([&](Stored& plan) {
      for (int i = 0; i < methods; ++i) {
        Method method;
        method.name = "m" + std::to_string(i);
        Cell cell;
        cell.method = static_cast<Index>(plan.results.methods.size());
        cell.k_given = "k" + std::to_string(i);
        cell.k = 1;
        plan.results.methods.push_back(method);
        plan.results.cells.push_back(cell);
        plan.ids.push_back(100 + i);
      }
    });
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

// Lists that say they are longer than the bytes there are.
TEST_F(Doctored, CountsBeyondTheBytesTakeNoMemory) {
  for (const std::string& body : {std::string(400, '\xff'), std::string(400, '\x7f')}) {
    ByteWriter forged(kCellBytes);
    for (const char byte : body) forged.u8(static_cast<std::uint8_t>(byte));
    set_found(forged.finish());
    EXPECT_THROW(read_store(file_), InputError);
  }
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

// Rows of at least so many bytes, in tables with row ids: where in the file is the number of the
// page that they go on at.
std::vector<std::size_t> overflowing(const std::string& bytes, std::size_t least) {
  const auto number = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at]) << 8 |
                                    static_cast<unsigned char>(bytes[at + 1]));
  };
  const auto varint = [&](std::size_t& at) {
    std::size_t value = 0;
    for (bool more = true; more; ++at) {
      more = (bytes[at] & 0x80) != 0;
      value = value << 7 | static_cast<std::size_t>(bytes[at] & 0x7f);
    }
    return value;
  };
  std::vector<std::size_t> found;
  for (std::size_t page = 4096; page < bytes.size(); page += 4096) {
    if (bytes[page] != 13) continue;
    for (std::size_t i = 0; i < number(page + 3); ++i) {
      std::size_t at = page + number(page + 8 + 2 * i);
      const std::size_t size = varint(at);
      if (size < least) continue;
      varint(at);  // the row id
      // Of the payload so much is on the page that the rest fills its pages (SQLite, 1.6).
      const std::size_t few = (4096 - 12) * 32 / 255 - 23, most = 4096 - 35;
      const std::size_t here = few + (size - few) % (4096 - 4);
      found.push_back(at + (here <= most ? here : few));
    }
  }
  return found;
}

TEST_F(Doctored, RowsThatShareOneTextAreNotReadForEach) {
  constexpr int kRows = 40;
  constexpr std::size_t kLength = 197'200;  // of which some 900 bytes are beside the row
  std::filesystem::remove(file_);
  write_small_study(file_, small_plan(kRows));
  // First the rows, then what they hold, which so is at the end of the file, row by row.
  for (const std::size_t length : {std::size_t{1200}, kLength})
    for (int row = 1; row <= kRows; ++row)
      sql(fmt::format("UPDATE cells SET reason = printf('%.{}c', 'x') WHERE cell = {}", length,
                      row));
  EXPECT_EQ(read_store(file_).cells[0].reason.size(), kLength);
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
