// Tasks, markets and results as bytes.
#include <fmt/format.h>

#include <cmath>

#include "sharpen/base/build_info.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/study/checksum.hpp"
#include "sharpen/study/task.hpp"
#include "study/bytes.hpp"

namespace sharpen::study {

static void fields(Bytes& bytes, market::Standstill& each) {
  bytes(each.ticker, each.first, each.last);
}

static void fields(Bytes& bytes, TaskMarket& market) {
  market::Panel& returns = market.returns;
  bytes(returns.dates, returns.tickers, returns.left_out, returns.values, market.standstills);
}

static void fields(Bytes& bytes, Task& task) {
  bytes(task.kind, task.market, task.settings, task.expectations, task.oracle);
}

static void fields(Bytes& bytes, Result& result) {
  std::string failure = storable_reason(result.failure);
  bool cell = result.cell.has_value();
  bytes(result.task, failure, result.blas, result.seconds, result.expectations, result.oracle,
        cell);
  if (bytes.reads()) result.failure = failure;
  if (cell) found_fields(bytes, result.cell ? *result.cell : result.cell.emplace());
}

namespace {

constexpr std::size_t kLongestReason = std::size_t{1} << 14;
constexpr std::string_view kSendAgain = "have it sent again";
constexpr FileKind kMarketBytes = {"SHRPMRKT", 2, "market of a study", kSendAgain};
constexpr FileKind kTaskBytes = {"SHRPTASK", 2, "task of a study", kSendAgain};
constexpr FileKind kResultBytes = {"SHRPRSLT", 2, "result of a task", kSendAgain};

template <class T>
std::string sealed(const FileKind& kind, Texts texts, const T& value) {
  Bytes bytes(kind, texts);
  std::string ours = program();
  bytes(ours, const_cast<T&>(value));  // which changes neither
  return bytes.written();
}

// `check(value, bytes)`: fails if it does not fit itself.
template <class T, class Check>
T opened(const FileKind& kind, Texts texts, std::string_view written, const Check& check) {
  Bytes bytes(written, "the bytes", kind, texts);
  std::string theirs;
  bytes(theirs);
  if (theirs != program())
    throw InputError(
        fmt::format("a {} comes from {}, and this is {}: results of the two are not mixed; use "
                    "the same on all machines",
                    kind.noun, printable(theirs, 200), program()));
  T value;
  bytes(value);
  bytes.end();
  check(value, bytes);
  return value;
}

}  // namespace

std::string program() {
  const BuildInfo info = build_info();
  return fmt::format("sharpen {} ({}, {})", info.version, info.compiler, info.build_type);
}

std::string content_hash(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  return fmt::format("{:016x}:{}", hash, checksum_of_text(bytes));
}

std::string task_hash(const Task& task) {
  return content_hash(
      to_bytes(Task{.kind = task.kind, .market = task.market, .settings = task.settings}));
}

// Texts of markets and tasks are exact: a worker must see what the coordinator saw.

std::string to_bytes(const TaskMarket& market) {
  return sealed(kMarketBytes, Texts::exact, market);
}
std::string to_bytes(const Task& task) { return sealed(kTaskBytes, Texts::exact, task); }
std::string to_bytes(const Result& result) { return sealed(kResultBytes, Texts::shown, result); }

TaskMarket market_from_bytes(std::string_view bytes) {
  return opened<TaskMarket>(
      kMarketBytes, Texts::exact, bytes, [](const TaskMarket& market, const Bytes& in) {
        const market::Panel& returns = market.returns;
        if (returns.values.size() != returns.dates.size() * returns.tickers.size())
          in.fail("its returns do not fit its dates and tickers");
      });
}

Task task_from_bytes(std::string_view bytes) {
  return opened<Task>(kTaskBytes, Texts::exact, bytes, [](const Task& task, const Bytes& in) {
    if (task.kind > TaskKind::cell) in.fail("it is of no kind that there is");
    for (const auto& [name, text] : task.settings)
      if (settings::find_for(name, settings::backtest) == nullptr)
        in.fail(fmt::format("{} is no setting of a backtest", printable(name)));
  });
}

Result result_from_bytes(std::string_view bytes) {
  return opened<Result>(
      kResultBytes, Texts::shown, bytes, [](const Result& result, const Bytes& in) {
        if (result.failure.size() > kLongestReason)
          in.fail(fmt::format("its reason has more than {} bytes", kLongestReason));
        if (!std::isfinite(result.seconds) || result.seconds < 0.0)
          in.fail("it took less than no time, or has no end");
        const int found = int{result.expectations.has_value()} + int{result.oracle.has_value()} +
                          int{result.cell.has_value()};
        if (found != (result.failure.empty() ? 1 : 0))
          in.fail("it has neither failed nor found anything, or both");
      });
}

}  // namespace sharpen::study
