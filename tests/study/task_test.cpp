#include "sharpen/study/task.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <set>

#include "base/binary_file.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/study/coordinator.hpp"
#include "study/small_study.hpp"
#include "study/task_study.hpp"

namespace sharpen::study {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// One task of every kind, with its market and what came of it.
struct Done {
  Task task;
  TaskMarket market;
  Result result;
};

std::vector<Done> tasks_of(const Plan& plan) {
  const Folder folder;
  Store store(folder / "study.db", plan.results);
  Coordinator coordinator(plan, store, {.threads = 1, .gigabytes = 1.0}, Log());
  std::vector<Done> out;
  while (const auto handed = coordinator.take()) {
    out.push_back({handed->task, *handed->market, run(handed->task, *handed->market, Threads(1))});
    coordinator.put(handed->number, out.back().result);
    coordinator.commit();
  }
  return out;
}

const std::vector<Done>& tasks() {
  static const std::vector<Done> all = tasks_of(plan_of(kTaskStudy));
  return all;
}

template <class Read>
std::string refusal(const Read& read) {
  try {
    read();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(StudyTask, ComesBackFromItsBytes) {
  std::set<TaskKind> kinds;
  for (const Done& each : tasks()) {
    kinds.insert(each.task.kind);
    const std::string task = to_bytes(each.task), market = to_bytes(each.market),
                      result = to_bytes(each.result);
    EXPECT_EQ(to_bytes(task_from_bytes(task)), task);
    EXPECT_EQ(to_bytes(market_from_bytes(market)), market);
    EXPECT_EQ(to_bytes(result_from_bytes(result)), result);
    EXPECT_EQ(each.task.market, content_hash(market));
    EXPECT_EQ(each.result.task, task_hash(task_from_bytes(task)));
    EXPECT_EQ(each.result.failure, "");
  }
  EXPECT_EQ(kinds.size(), 3u);
}

TEST(StudyTask, FindsTheSameWhereItIsSentTo) {
  for (const Done& each : tasks()) {
    Result there = run(task_from_bytes(to_bytes(each.task)),
                       market_from_bytes(to_bytes(each.market)), Threads(2));
    there.seconds = each.result.seconds;
    EXPECT_EQ(to_bytes(there), to_bytes(each.result));
  }
}

TEST(StudyTask, NamesNoFile) {
  const Folder folder;
  write_bytes(folder / "p.csv",
              "date,A,B\n2020-01-02,1,2\n2020-01-03,1.1,2\n2020-01-06,1.2,2.1\n"
              "2020-01-07,1.1,2.2\n2020-01-08,1.3,2.1\n");
  const std::string file = (folder / "p.csv").string();
  const Plan plan = plan_of("lookback = 2\nprices = [\"" + file + "\"]\nk = 1\n[[method]]\n");
  for (const Done& each : tasks_of(plan))
    EXPECT_EQ(to_bytes(each.task).find(folder.path().string()), std::string::npos);
}

TEST(StudyTask, AFailureIsAResult) {
  Task task = tasks().back().task;
  task.settings.emplace_back("lookback", "100000");
  const Result result = run(task, tasks().back().market, Threads(1));
  EXPECT_NE(result.failure, "");
  EXPECT_EQ(result_from_bytes(to_bytes(result)).failure, result.failure);
}

TEST(StudyTask, StopsWhenToldTo) {
  const Done& each = tasks().front();
  EXPECT_THROW(run(each.task, each.market, Threads(1), {.stop = [] { return true; }}), Interrupted);
}

TEST(StudyTask, RefusesEveryChangedByte) {
  const std::string bytes = to_bytes(tasks().back().result);
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (const char change : {'\x01', '\x80'}) {
      std::string other = bytes;
      other[at] = static_cast<char>(other[at] ^ change);
      EXPECT_THROW(result_from_bytes(other), InputError) << at;
    }
}

TEST(StudyTask, RefusesBytesThatAreCutShortOrLonger) {
  const std::string bytes = to_bytes(tasks().back().result);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(result_from_bytes(std::string_view(bytes).substr(0, size)), InputError) << size;
  EXPECT_THROW(result_from_bytes(bytes + "x"), InputError);
  EXPECT_THAT(refusal([&] { result_from_bytes(to_bytes(tasks().back().task)); }),
              HasSubstr("is not a result"));
}

// A body that lies about itself, under a checksum that is right.
std::string reframed(std::string bytes) {
  const std::size_t body = bytes.size() - 4;
  const std::uint32_t sum = checksum(bytes);
  for (std::size_t i = 0; i < 4; ++i) bytes[body + i] = static_cast<char>(sum >> (8 * i));
  return bytes;
}

// The same with the checksum of what was found, which travels in a frame of its own.
std::string reframed_within(std::string bytes) {
  const std::size_t begin = bytes.find("SHRP", 8);
  const std::size_t size = bytes.size() - 4 - begin;  // it is the last
  return bytes.replace(begin, size, reframed(bytes.substr(begin, size)));
}

TEST(StudyTask, LiesUnderARightChecksumAreRefusedOrHarmless) {
  for (const TaskKind kind : {TaskKind::training, TaskKind::oracle, TaskKind::cell}) {
    const auto found =
        std::ranges::find(tasks(), kind, [](const Done& each) { return each.task.kind; });
    const std::string bytes = to_bytes(found->result);
    ASSERT_EQ(reframed(reframed_within(bytes)), bytes);
    const std::size_t begin = bytes.find("SHRP", 8) + 20;  // behind the frame of what was found
    std::size_t read = 0, refused = 0;
    for (std::size_t at = begin; at + 8 < bytes.size(); at += at < begin + 500 ? 1 : 7) {
      std::string other = bytes;
      for (std::size_t i = at; i < std::min(at + 8, bytes.size() - 8); ++i) other[i] = '\xff';
      const std::string lie = reframed(reframed_within(other));
      try {
        const std::string written = to_bytes(result_from_bytes(lie));
        EXPECT_EQ(to_bytes(result_from_bytes(written)), written);
        ++read;
      } catch (const InputError& error) {
        EXPECT_THAT(error.what(), Not(HasSubstr("checksum"))) << at;
        ++refused;
      }
    }
    EXPECT_GT(read, 0u);     // a number is another one
    EXPECT_GT(refused, 0u);  // a length is not
  }
}

// Workers share what a training has found; whoever writes it to bytes has no business in it.
TEST(StudyTask, WritingChangesNothing) {
  constexpr std::size_t kPage = 4096, kPages = 64;
  backtest::Expectations found;
  found.rows = {1};
  found.values.resize(kPages * kPage / sizeof(backtest::Expectation), backtest::Expectation(0.5));
  const auto begin = reinterpret_cast<std::uintptr_t>(found.values.data());
  void* const inner = reinterpret_cast<void*>((begin + kPage) / kPage * kPage);
  const std::size_t size = (kPages - 2) * kPage;
  Task task = tasks().back().task;
  task.expectations = std::make_shared<const backtest::Expectations>(std::move(found));
  ASSERT_EQ(::mprotect(inner, size, PROT_READ), 0);
  const std::string bytes = to_bytes(task);
  ASSERT_EQ(::mprotect(inner, size, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(task_from_bytes(bytes).expectations->values, task.expectations->values);
}

TEST(StudyTask, AnOracleThatDoesNotFitIsAFailure) {
  const auto learns =
      std::ranges::find_if(tasks(), [](const Done& each) { return each.task.oracle != nullptr; });
  ASSERT_NE(learns, tasks().end());
  Task task = task_from_bytes(to_bytes(learns->task));
  backtest::Run other = *task.oracle;
  other.status.clear();
  task.oracle = std::make_shared<const backtest::Run>(other);
  EXPECT_THAT(run(task, learns->market, Threads(1)).failure, HasSubstr("perfect foresight"));
}

TEST(StudyTask, ALongReasonIsCut) {
  Result failed;
  failed.task = task_hash(tasks().back().task);
  failed.failure.assign(std::size_t{5} << 20, '\xff');
  const std::string bytes = to_bytes(failed);
  EXPECT_LT(bytes.size(), 20'000u);
  const Result read = result_from_bytes(bytes);
  EXPECT_THAT(read.failure, StartsWith("\\xff\\xff"));
  EXPECT_EQ(to_bytes(read), bytes);
  const Folder folder;
  const Results plan = small_plan();
  for (const std::string& odd : {failed.failure, std::string(std::size_t{5} << 20, 'x')}) {
    {
      Store store(folder / "study.db", plan);
      store.write_failed(0, odd, 1.0);
      store.write_failed(1, "short, \"and\"\nin lines", 1.0);
    }
    const Results found = read_store(folder / "study.db");
    EXPECT_EQ(found.cells[0].state, CellState::failed);
    EXPECT_LT(found.cells[0].reason.size(), 5000u);
    EXPECT_EQ(found.cells[1].reason, "short, \"and\"\nin lines");
  }
}

TEST(StudyTask, NamesBothProgramsOfTwo) {
  const std::string bytes = to_bytes(tasks().back().task);
  const std::string ours = program();
  std::string other = bytes;
  const std::size_t at = other.find(ours);
  ASSERT_NE(at, std::string::npos);
  const std::size_t digit = at + ours.find_first_of("0123456789");
  other[digit] = other[digit] == '9' ? '8' : '9';
  const std::string theirs = other.substr(at, ours.size());
  EXPECT_THAT(refusal([&] { task_from_bytes(reframed(other)); }),
              AllOf(HasSubstr(ours), HasSubstr(theirs), HasSubstr("use the same")));
}

}  // namespace
}  // namespace sharpen::study
