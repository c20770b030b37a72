// A piece of a study's work that can be done anywhere: what a training, perfect foresight or a cell
// needs, and what came of it. Both are values that become bytes and come back from them, so that
// whoever computes needs no store, no file and no clock that others could see.
//
//   magic (8 bytes) | 2 (u32) | length u64 | program | fields | crc32 u32
//
// The program is the version of the library and how it was built: bytes of another one are refused,
// for its numbers could have other last digits. Panels travel apart from tasks, by the hash of
// their bytes, once for each worker.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sharpen/backtest/learned.hpp"
#include "sharpen/backtest/walk_forward.hpp"
#include "sharpen/base/control.hpp"
#include "sharpen/base/named.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/market/standstills.hpp"
#include "sharpen/study/results.hpp"

namespace sharpen::study {

// What the tasks of one market share.
struct TaskMarket {
  market::Panel returns;
  std::vector<market::Standstill> standstills;  // what cannot be traded when
};

enum class TaskKind { training, oracle, cell };
constexpr std::array<std::string_view, 3> names(TaskKind) { return {"training", "oracle", "cell"}; }
constexpr std::string_view name(TaskKind kind) { return name_of(kind); }

struct Task {
  TaskKind kind = TaskKind::cell;
  std::string market;  // content_hash of the bytes of its TaskMarket
  // Of a backtest, by the names and in the texts of flags, k and seed among them, with what files
  // say in place of their names. A setting that is not here has its default. They mean what they
  // would in a file, so that a task, a method's settings in a study and a file that was printed
  // find the same.
  std::vector<std::pair<std::string, std::string>> settings;
  // Of a cell that learns: what the training and the foresight that it shares have found.
  std::shared_ptr<const backtest::Expectations> expectations = {};
  std::shared_ptr<const backtest::Run> oracle = {};
};

// What came of a task: a failure, or one of the three.
struct Result {
  std::string task;      // task_hash of what was done
  std::string failure;   // why it could not be done; "": it could
  std::string blas;      // of the worker: names the kernels that it has for its CPU
  double seconds = 0.0;  // that it took
  std::optional<backtest::Expectations> expectations = {};  // of a training
  std::optional<backtest::Run> oracle = {};                 // what a regret asks of it
  std::optional<Cell> cell = {};  // metrics, regret, run, the two companions, warnings
};

// Does the work of a task, to the same bits wherever that is. `market`: the one whose hash the task
// has. Whatever goes wrong is the failure of its result, but for Interrupted, which is thrown.
Result run(const Task& task, const TaskMarket& market, const Threads& threads,
           const Control& control = {});

std::string to_bytes(const TaskMarket& market);
std::string to_bytes(const Task& task);
std::string to_bytes(const Result& result);

// Throw InputError for bytes that are damaged, cut short, of something else or of another program,
// with both named. They take no more memory than a few times the bytes, whatever those say.
TaskMarket market_from_bytes(std::string_view bytes);
Task task_from_bytes(std::string_view bytes);
Result result_from_bytes(std::string_view bytes);

// The program whose bytes are understood: "sharpen 0.1.0 (GNU 12.2.0, Release)".
std::string program();

// By which equal bytes are known: no defence against those who look for other bytes of a hash.
std::string content_hash(std::string_view bytes);
// Of what a task is: its kind, market and settings. What a cell is given besides follows from them.
std::string task_hash(const Task& task);

}  // namespace sharpen::study
