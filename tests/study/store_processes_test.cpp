// Two writers, writers that are killed, disks that are full and folders that are read-only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <optional>
#include <utility>

#include "sharpen/base/control.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/study/store.hpp"
#include "study/child.hpp"
#include "study/small_study.hpp"

namespace sharpen::study {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(StoreProcesses, ASecondWriterIsToldOfTheFirst) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Results plan = small_plan();
  Child first([&](auto say) {
    Store store(file, plan);
    store.write_failed(0, "first", 1.0);
    say("x");
    ::pause();
  });
  ASSERT_EQ(first.hear(), 'x');
  EXPECT_THAT([&] { Store(file, plan); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("another process ("),
                                              HasSubstr(") is writing this study; wait for it, or "
                                                        "give another --out"))));
  EXPECT_EQ(read_store(file).cells[0].reason, "first");  // readers are welcome
  first.kill();
  first.end();
  Store second(file, plan);
  EXPECT_EQ(second.states()[0], CellState::failed);
  EXPECT_THROW(Store(file, plan), InputError);  // of the same process, too
}

// A SELECT of another program that is not over.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) {
    sqlite3_open_v2(file.c_str(), &database_, SQLITE_OPEN_READONLY, nullptr);
    sqlite3_prepare_v2(database_, "SELECT * FROM cells", -1, &rows_, nullptr);
    if (sqlite3_step(rows_) != SQLITE_ROW) throw std::runtime_error("nothing to read");
  }
  ~Reader() {
    let_go();
    sqlite3_close(database_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  void let_go() { sqlite3_finalize(std::exchange(rows_, nullptr)); }

 private:
  sqlite3* database_ = nullptr;
  sqlite3_stmt* rows_ = nullptr;
};

TEST(StoreProcesses, AReaderThatTakesItsTimeIsWaitedFor) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Results plan = small_plan();
  { const Store store(file, plan); }
  std::optional<Reader> reader(file);
  std::vector<std::string> said;
  const Log log([&](LogLevel, std::string_view text) {
    said.emplace_back(text);
    reader->let_go();  // only once somebody was told of it
  });
  Store store(file, plan, log);
  EXPECT_EQ(said.size(), 1U);
  reader.emplace(file);
  store.write_failed(0, "waited", 1.0);
  EXPECT_EQ(said, std::vector<std::string>(2, file.string() + ": another program has it open; "
                                                              "waiting until it lets go"));
  EXPECT_EQ(read_store(file).cells[0].reason, "waited");
}

TEST(StoreProcesses, AWaitForAReaderCanBeEndedAndLosesNothing) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Results plan = small_plan();
  bool stop = false;
  Store store(file, plan, {}, [&] { return stop; });
  store.write_failed(0, "before", 1.0);
  const Reader reader(file);
  stop = true;
  EXPECT_THROW(store.write_failed(1, "never", 1.0), Interrupted);
  EXPECT_THROW(store.forget_failures(), Interrupted);
  EXPECT_EQ(store.states()[0], CellState::failed);
  EXPECT_EQ(read_store(file).cells[0].reason, "before");
  EXPECT_EQ(read_store(file).cells[1].state, CellState::missing);
}

// A program that is in the middle of a write, or waits with it until another has read.
TEST(StoreProcesses, AReaderWaitsForAWriter) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Results plan = write_small_study(file);
  sqlite3* writer = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &writer), SQLITE_OK);
  // Some of it has reached the file: its journal is not for others to play back.
  ASSERT_EQ(sqlite3_exec(writer,
                         "PRAGMA cache_size = 1; BEGIN EXCLUSIVE;"
                         "UPDATE runs SET found = zeroblob(90000); UPDATE cells SET seconds = 9.0",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  ASSERT_GT(std::filesystem::file_size(file.string() + "-journal"), 0U);
  std::vector<std::string> said;
  const Log log([&](LogLevel, std::string_view text) {
    said.emplace_back(text);
    EXPECT_EQ(sqlite3_exec(writer, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(std::exchange(writer, nullptr));
  });
  EXPECT_EQ(read_store(file, Detail::states, log).cells.back().seconds, 9.0);
  EXPECT_THAT(said, ::testing::ElementsAre(HasSubstr(
                        "study.db: another program is writing it; waiting until it lets go")));
  ASSERT_EQ(sqlite3_open(file.c_str(), &writer), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(writer, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  int asked = 0;
  EXPECT_THROW(read_store(file, Detail::states, {}, [&] { return ++asked > 3; }), Interrupted);
  sqlite3_close(writer);
}

// Whichever name a file goes by, one process writes it; even if it is not there yet.
TEST(StoreProcesses, AWriterByAnotherNameIsASecondWriter) {
  namespace fs = std::filesystem;
  const Folder folder;
  fs::create_directories(folder / "a");
  fs::create_directories(folder / "links");
  fs::create_directory_symlink("a", folder / "b");
  fs::create_symlink("../a/study.db", folder / "links/study.db");
  fs::create_symlink("study.db", folder / "links/again.db");
  const std::vector<std::string> names = {"a/study.db", "b/study.db", "links/study.db",
                                          "links/again.db"};
  const Results plan = small_plan();
  for (const bool there : {false, true})
    for (const std::string& first : names) {
      if (!there) fs::remove(folder / "a/study.db");
      const Store store(folder / first, plan);
      for (const std::string& second : names) {
        SCOPED_TRACE(first + ", then " + second);
        EXPECT_THAT([&] { Store(folder / second, plan); },
                    ThrowsMessage<InputError>(HasSubstr("is writing this study")));
        EXPECT_THROW(set_aside(folder / second), InputError);
      }
    }
  EXPECT_TRUE(fs::is_regular_file(folder / "a/study.db"));
  EXPECT_FALSE(fs::exists(folder / "a/study.db.lock"));
}

// Writes whatever is missing, and says so after each cell.
template <class Say>
void write_missing(const std::filesystem::path& file, const Results& plan, const Say& say) {
  Store store(file, plan);
  for (std::size_t at = 0; at < plan.cells.size(); ++at) {
    if (store.states()[at] == CellState::done) continue;
    store.write_done(static_cast<Index>(at), found_cell(plan, static_cast<Index>(at), at));
    say(std::string(1, static_cast<char>('A' + at)));
  }
}

TEST(StoreProcesses, SlowKilledAnywhereItHoldsWholeCells) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Results plan = small_plan(4, 20, 60);
  Random random(5);
  int rounds = 0;
  std::vector<bool> promised(plan.cells.size());
  for (bool complete = false; !complete; ++rounds) {
    ASSERT_LT(rounds, 200);
    Child child([&, calls = static_cast<int>(random.uniform() * (40.0 + rounds))](auto say) {
      die_in_a_call_of_sqlite(calls);
      write_missing(file, plan, say);
    });
    const std::string heard = child.hear_all();
    ASSERT_NE(child.end(), 1) << heard;
    for (const char byte : heard) promised.at(static_cast<std::size_t>(byte - 'A')) = true;
    if (!std::filesystem::exists(file) || std::filesystem::file_size(file) == 0) continue;
    Results found;
    try {
      found = read_store(file);
    } catch (const InputError& error) {
      // Killed while it made the file: nothing was promised, and the next writer begins.
      ASSERT_EQ(heard, "") << error.what();
      ASSERT_EQ(std::count(promised.begin(), promised.end(), true), 0) << error.what();
      continue;
    }
    complete = true;
    for (std::size_t at = 0; at < plan.cells.size(); ++at) {
      const Cell& cell = found.cells[at];
      const bool done = cell.state == CellState::done;
      ASSERT_TRUE(done || !promised[at]);
      complete = complete && done;
      if (!done) continue;
      ASSERT_EQ(fingerprint(cell), fingerprint(found_cell(plan, static_cast<Index>(at), at)));
    }
  }
  EXPECT_GT(rounds, 10);
}

// Leaves a writer dead in the middle of a transaction that has reached the file.
void kill_in_a_write(const std::filesystem::path& file) {
  Child child([&](auto say) {
    sqlite3* database = nullptr;
    sqlite3_open(file.c_str(), &database);
    const int code = sqlite3_exec(database,
                                  "PRAGMA cache_size = 1; BEGIN IMMEDIATE;"
                                  "UPDATE runs SET returns = zeroblob(9), found = zeroblob(90000);"
                                  "UPDATE cells SET seconds = 9.0",
                                  nullptr, nullptr, nullptr);
    say(code == SQLITE_OK ? "x" : sqlite3_errmsg(database));
    ::pause();
  });
  ASSERT_EQ(child.hear(), 'x');
  child.kill();
  child.end();
  ASSERT_GT(std::filesystem::file_size(file.string() + "-journal"), 0U);
}

TEST(StoreProcesses, AReaderPutsAKilledWriteInOrder) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Results plan = write_small_study(file, small_plan(2, 50, 200));
  const std::string before = bytes_of(file);
  kill_in_a_write(file);
  ASSERT_NE(bytes_of(file), before);
  EXPECT_EQ(fingerprint(read_store(file).cells[1]), fingerprint(found_cell(plan, 1, 101)));
  EXPECT_EQ(bytes_of(file), before);
  EXPECT_FALSE(std::filesystem::exists(file.string() + "-journal"));
}

// Another program that makes the file shorter: there is a moment when only the journal has the
// rest.
TEST(StoreProcesses, AFileMadeShorterAndKilledAnywhereIsPutInOrder) {
  const Folder folder;
  const auto file = folder / "study.db", copy = folder / "copy.db";
  const Results plan = write_small_study(file);
  sqlite3* database = nullptr;
  sqlite3_open(file.c_str(), &database);
  ASSERT_EQ(sqlite3_exec(database,
                         "INSERT INTO shared VALUES ('x', 'oracle', zeroblob(900000));"
                         "DELETE FROM shared",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  const std::string long_file = bytes_of(file);
  int undone = 0;
  for (int calls = 0;; ++calls) {
    ASSERT_LT(calls, 500);
    write_bytes(copy, long_file);
    Child child([&](auto) {
      sqlite3* own = nullptr;
      sqlite3_open(copy.c_str(), &own);
      die_in_a_call_of_sqlite(calls);
      sqlite3_exec(own, "VACUUM", nullptr, nullptr, nullptr);
    });
    const bool ended = child.end() == 0;
    EXPECT_EQ(fingerprint(read_store(copy).cells[1]), fingerprint(found_cell(plan, 1, 101)));
    undone += !ended && bytes_of(copy) == long_file ? 1 : 0;
    if (ended) break;
  }
  EXPECT_GT(undone, 3);
}

TEST(StoreProcesses, AWriterPutsAKilledWriteInOrder) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Results plan = write_small_study(file, small_plan(2, 50, 200));
  kill_in_a_write(file);
  { const Store store(file, plan); }
  EXPECT_EQ(fingerprint(read_store(file).cells[1]), fingerprint(found_cell(plan, 1, 101)));
}

TEST(StoreProcesses, SetAsideItIsWholeAndTheNextBegins) {
  const Folder folder;
  const auto file = folder / "study.db";
  EXPECT_EQ(set_aside(file), "");
  const Results plan = write_small_study(file, small_plan(2, 50, 200));
  kill_in_a_write(file);
  EXPECT_EQ(set_aside(file), folder / "study-1.db");
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(fingerprint(read_store(folder / "study-1.db").cells[1]),
            fingerprint(found_cell(plan, 1, 101)));
  {
    const Store store(file, plan);
    EXPECT_EQ(store.states()[1], CellState::missing);
    EXPECT_THROW(set_aside(file), InputError);
  }
  EXPECT_EQ(set_aside(file), folder / "study-2.db");
}

// As somebody whom the permissions of files bind; "skip" if there is nobody.
template <class Work>
std::string as_nobody(const Work& work) {
  Child child([&](auto say) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) {
      say("skip");
      return;
    }
    work();
    say("done");
  });
  return child.hear_all();
}

class ReadOnlyFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = folder_ / "study.db";
    plan_ = write_small_study(file_, small_plan(2, 50, 200));
  }
  void close() {
    using std::filesystem::perms;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      std::filesystem::permissions(entry.path(), perms(0444));
    std::filesystem::permissions(folder_.path(), perms(0555));
  }
  void TearDown() override {
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  }

  Folder folder_;
  std::filesystem::path file_;
  Results plan_;
};

TEST_F(ReadOnlyFolder, CanBeReadFrom) {
  close();
  const std::string said = as_nobody([&] { read_store(file_); });
  if (said == "skip") GTEST_SKIP() << "cannot become a user whom permissions bind";
  EXPECT_EQ(said, "done");
}

TEST_F(ReadOnlyFolder, CannotBeWrittenToAndSaysSo) {
  close();
  const std::string before = bytes_of(file_);
  const std::string said = as_nobody([&] { const Store store(file_, plan_); });
  if (said == "skip") GTEST_SKIP() << "cannot become a user whom permissions bind";
  EXPECT_THAT(said, AllOf(HasSubstr(file_.string() + ": cannot be written: Permission denied"),
                          HasSubstr("--out")));
  EXPECT_EQ(bytes_of(file_), before);
}

TEST_F(ReadOnlyFolder, SaysWhatToDoWithAKilledWrite) {
  kill_in_a_write(file_);
  close();
  const std::string killed = bytes_of(file_);
  for (const int own : {0444, 0666}) {  // of the file; its folder cannot be written to
    std::filesystem::permissions(file_, std::filesystem::perms(own));
    const std::string said = as_nobody([&] { read_store(file_); });
    if (said == "skip") GTEST_SKIP() << "cannot become a user whom permissions bind";
    EXPECT_THAT(said, AllOf(HasSubstr(file_.string() + ": was left in the middle of a write"),
                            HasSubstr("run the same `sharpen study` again, or copy it")));
  }
  EXPECT_EQ(bytes_of(file_), killed);
}

TEST_F(ReadOnlyFolder, AFileThatMayNotBeReadSaysSo) {
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(file_, std::filesystem::perms(0));
  const std::string said = as_nobody([&] { read_store(file_); });
  if (said == "skip") GTEST_SKIP() << "cannot become a user whom permissions bind";
  EXPECT_THAT(said, HasSubstr("cannot be read"));
}

TEST_F(ReadOnlyFolder, AFolderThatMayNotBeEnteredSaysSo) {
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0));
  const std::string said = as_nobody([&] { read_store(file_); });
  if (said == "skip") GTEST_SKIP() << "cannot become a user whom permissions bind";
  EXPECT_THAT(said, HasSubstr(file_.string() + ": cannot be read: Permission denied; check the "
                                               "folder"));
}

TEST(StoreProcesses, AFullDiskAtTheStartTakesNoLinkAway) {
  const Folder folder;
  const auto link = folder / "study.db", target = folder / "elsewhere.db";
  std::filesystem::create_symlink(target, link);
  const Results plan = small_plan(4, 20, 200);
  Child child([&](auto) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {.rlim_cur = 2000, .rlim_max = 2000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Store store(link, plan);
  });
  EXPECT_THAT(child.hear_all(), HasSubstr("cannot be written"));
  EXPECT_EQ(child.end(), 1);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_FALSE(std::filesystem::exists(target));
  { const Store store(link, plan); }  // with room again it begins where the link leads
  EXPECT_EQ(read_store(target).cells.size(), plan.cells.size());
}

TEST(StoreProcesses, AFullDiskLosesNoFinishedCell) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Results plan = small_plan(4, 20, 200);
  Child child([&](auto say) {
    ::signal(SIGXFSZ, SIG_IGN);
    Store store(file, plan);
    const auto size = std::filesystem::file_size(file) + 300'000;
    const rlimit limit = {.rlim_cur = size, .rlim_max = size};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    for (Index at = 0; at < static_cast<Index>(plan.cells.size()); ++at) {
      store.write_done(at, found_cell(plan, at, static_cast<std::uint64_t>(at)));
      say("+");
    }
  });
  const std::string heard = child.hear_all();
  EXPECT_EQ(child.end(), 1);
  const auto done = static_cast<std::size_t>(std::count(heard.begin(), heard.end(), '+'));
  EXPECT_GT(done, 0U);
  EXPECT_LT(done, plan.cells.size());
  EXPECT_THAT(heard, AllOf(HasSubstr(file.string() + ": cannot be written: "),
                           HasSubstr("run the same command again")));
  const Results found = read_store(file);
  for (std::size_t at = 0; at < plan.cells.size(); ++at) {
    ASSERT_EQ(found.cells[at].state, at < done ? CellState::done : CellState::missing);
    if (at >= done) continue;
    EXPECT_EQ(fingerprint(found.cells[at]),
              fingerprint(found_cell(plan, static_cast<Index>(at), at)));
  }
  Store store(file, plan);  // and with room again it goes on
  store.write_done(static_cast<Index>(done), found_cell(plan, static_cast<Index>(done), 1));
}

TEST(StoreProcesses, AFileThatCannotBeMadeLeavesNothing) {
  const Folder folder;
  const auto file = folder / "study.db";
  Child child([&](auto) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {.rlim_cur = 8192, .rlim_max = 8192};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Store store(file, small_plan());
  });
  EXPECT_THAT(child.hear_all(), HasSubstr("cannot be written"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace sharpen::study
