// Tasks, markets and results as bytes. Every struct names its fields once: a PutRow writes them, a
// TakeRow reads them back and checks what a reader of a study's file would check.
#include <fmt/format.h>

#include <cmath>

#include "base/binary_file.hpp"
#include "sharpen/base/build_info.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/study/task.hpp"
#include "study/store_rows.hpp"

namespace sharpen::study {

namespace {

constexpr std::string_view kSendAgain = "have it sent again";
constexpr FileKind kMarketBytes = {"SHRPMRKT", 1, "market of a study", kSendAgain};
constexpr FileKind kTaskBytes = {"SHRPTASK", 1, "task of a study", kSendAgain};
constexpr FileKind kResultBytes = {"SHRPRSLT", 1, "result of a task", kSendAgain};
constexpr std::uint32_t kTaskFormat = 1;  // of the fields

class PutRow {
 public:
  PutRow(const FileKind& kind, std::size_t expected) : out_(kind, expected) {
    out_.text(program());
    out_.u32(kTaskFormat);
  }
  std::string finish() { return out_.finish(); }

  void number(std::int64_t value, std::int64_t, std::int64_t) {
    out_.u64(static_cast<std::uint64_t>(value));
  }
  void number_or(std::int64_t value, std::int64_t, std::int64_t, std::int64_t) {
    out_.u64(static_cast<std::uint64_t>(value));
  }
  void flag(bool value) { out_.u8(value ? 1 : 0); }
  void real(double value) { out_.f64(value); }
  void finite(double value) { out_.f64(value); }
  void text(std::string_view value, std::size_t = 0) { out_.text(value); }
  template <class Enum>
  void choice(Enum value, Enum) {
    out_.u8(static_cast<std::uint8_t>(value));
  }
  // The number of elements; what each of them is.
  template <class Items, class Each>
  void list(const Items& items, std::size_t, const Each& each) {
    out_.u64(items.size());
    for (const auto& item : items) each(item);
  }
  void reals(const std::vector<double>& values) {
    out_.u64(values.size());
    out_.doubles(values);
  }

 private:
  ByteWriter out_;
};

class TakeRow {
 public:
  TakeRow(std::string_view bytes, const FileKind& kind) : in_(bytes, "the bytes", kind) {
    const std::string theirs = in_.text("program");
    if (theirs != program())
      throw InputError(
          fmt::format("a {} comes from {}, and this is {}: results of the two are not mixed; use "
                      "the same on all machines",
                      kind.noun, printable(theirs, 200), program()));
    if (const std::uint32_t format = in_.u32(); format != kTaskFormat)
      in_.fail(fmt::format("its fields are of format {}, and this program knows {}", format,
                           kTaskFormat));
  }
  void finish() const { in_.finish(); }
  [[noreturn]] void fail(std::string_view what) const { in_.fail(what); }

  template <class Integer>
  void number(Integer& value, std::int64_t low, std::int64_t high) {
    const auto found = static_cast<std::int64_t>(in_.u64());
    if (found < low || found > high)
      fail(fmt::format("a number is {}, outside [{}, {}]", found, low, high));
    value = static_cast<Integer>(found);
  }
  template <class Integer>
  void number_or(Integer& value, Integer none, std::int64_t low, std::int64_t high) {
    value = static_cast<Integer>(in_.u64());
    if (value != none && (value < low || value > high))
      fail(fmt::format("a number is {}, outside [{}, {}]", value, low, high));
  }
  void flag(bool& value) {
    const std::uint8_t found = in_.u8();
    if (found > 1) fail("a flag is neither 0 nor 1");
    value = found == 1;
  }
  void real(double& value) { value = in_.f64(); }
  void finite(double& value) {
    value = in_.f64();
    if (!std::isfinite(value)) fail("a number is not finite");
  }
  void text(std::string& value, std::size_t longest = kLongestBlob) {
    value = in_.text("a text");
    if (value.size() > longest) fail(fmt::format("a text has more than {} bytes", longest));
  }
  template <class Enum>
  void choice(Enum& value, Enum last) {
    const std::uint8_t found = in_.u8();
    if (found > static_cast<std::uint8_t>(last)) fail(fmt::format("{} is none of a choice", found));
    value = static_cast<Enum>(found);
  }
  // least: bytes of an element.
  template <class Items, class Each>
  void list(Items& items, std::size_t least, const Each& each) {
    items.clear();
    items.resize(in_.count("a list", least));
    for (auto& item : items) each(item);
  }
  void reals(std::vector<double>& values) {
    const std::uint64_t count = in_.u64();
    values = in_.doubles("numbers", static_cast<std::size_t>(count));
  }

 private:
  ByteReader in_;
};

template <class Row, class Texts>
void texts(Row& row, Texts& all, std::size_t longest) {
  row.list(all, 4, [&](auto& each) { row.text(each, longest); });
}

template <class Row, class M>
void market_fields(Row& row, M& market) {
  texts(row, market.returns.dates, kLongestName);
  texts(row, market.returns.tickers, kLongestText);
  texts(row, market.returns.left_out, kLongestText);
  row.reals(market.returns.values);
  row.list(market.standstills, 12, [&](auto& each) {
    row.text(each.ticker, kLongestText);
    row.text(each.first, kLongestName);
    row.text(each.last, kLongestName);
  });
}

template <class Row, class R>
void run_fields(Row& row, R& run) {
  texts(row, run.dates, kLongestName);
  const Id periods = run.periods();
  RunSize size = {.periods = periods,
                  .positions = static_cast<Id>(run.weights.size()),
                  .benchmark = !run.benchmark.empty()};
  run_columns(row, run, size, periods);
  row.list(run.status, 1, [&](auto& each) {
    row.choice(each, static_cast<backtest::PeriodStatus>(backtest::kPeriodStatuses - 1));
  });
  for (const DailyColumn& column : kDailyColumns) row.reals(run.*column.column);
  row.reals(run.benchmark);
  row.list(run.weights, 16, [&](auto& held) {
    row.number(held.asset, 0, kMostAssets);
    row.finite(held.weight);
  });
  row.list(run.weights_begin, 8, [&](auto& begin) { row.number(begin, 0, kHighest); });
}

template <class Row, class C>
void cell_fields(Row& row, C& cell) {
  run_fields(row, cell.run);
  metric_columns(row, cell, cell.run.periods());
  row.reals(cell.delayed_returns);
  row.reals(cell.equal_returns);
  texts(row, cell.warnings, kLongestText);
}

// What makes it the task it is.
template <class Row, class T>
void identity_fields(Row& row, T& task) {
  row.choice(task.kind, TaskKind::cell);
  row.text(task.market, kLongestName);
  row.list(task.settings, 8, [&](auto& each) {
    row.text(each.first, kLongestName);
    row.text(each.second);
  });
}

void put_expectations(PutRow& row, const backtest::Expectations& found) {
  row.text(expectations_bytes(found));
}

backtest::Expectations take_expectations(TakeRow& row) {
  std::string bytes;
  row.text(bytes);
  return parse_expectations(bytes, "the expectations");
}

// Room for the numbers, which are nearly all of it.
std::size_t expected_bytes(const backtest::Run& run) {
  constexpr std::size_t kPerPeriod = 160, kPerWeight = 16;
  return run.dates.size() * kPerPeriod + run.weights.size() * kPerWeight;
}

enum class Found { nothing, training, oracle, cell };

Found found_in(const Result& result) {
  return result.expectations ? Found::training
         : result.oracle     ? Found::oracle
         : result.cell       ? Found::cell
                             : Found::nothing;
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
  PutRow row(kTaskBytes, 1024);
  identity_fields(row, task);
  return content_hash(row.finish());
}

std::string to_bytes(const TaskMarket& market) {
  PutRow row(kMarketBytes, 8 * market.returns.values.size() + 20 * market.returns.dates.size());
  market_fields(row, market);
  return row.finish();
}

TaskMarket market_from_bytes(std::string_view bytes) {
  TakeRow row(bytes, kMarketBytes);
  TaskMarket market;
  market_fields(row, market);
  row.finish();
  const market::Panel& returns = market.returns;
  if (returns.values.size() != returns.dates.size() * returns.tickers.size())
    row.fail("its returns do not fit its dates and tickers");
  return market;
}

std::string to_bytes(const Task& task) {
  const std::size_t numbers = task.expectations ? task.expectations->values.size() : 0;
  PutRow row(kTaskBytes, 4096 + 8 * numbers + (task.oracle ? expected_bytes(*task.oracle) : 0));
  identity_fields(row, task);
  row.flag(task.expectations != nullptr);
  if (task.expectations) put_expectations(row, *task.expectations);
  row.flag(task.oracle != nullptr);
  if (task.oracle) run_fields(row, *task.oracle);
  return row.finish();
}

Task task_from_bytes(std::string_view bytes) {
  TakeRow row(bytes, kTaskBytes);
  Task task;
  identity_fields(row, task);
  for (const auto& [name, text] : task.settings)
    if (settings::find_for(name, settings::backtest) == nullptr)
      row.fail(fmt::format("{} is no setting of a backtest", printable(name)));
  bool given = false;
  row.flag(given);
  if (given)
    task.expectations = std::make_shared<const backtest::Expectations>(take_expectations(row));
  row.flag(given);
  if (given) {
    backtest::Run oracle;
    run_fields(row, oracle);
    task.oracle = std::make_shared<const backtest::Run>(std::move(oracle));
  }
  row.finish();
  return task;
}

std::string to_bytes(const Result& result) {
  const backtest::Run none;
  PutRow row(kResultBytes, 4096 +
                               (result.expectations ? 8 * result.expectations->values.size() : 0) +
                               expected_bytes(result.cell ? result.cell->run : none));
  row.text(result.task);
  row.text(result.failure);
  row.finite(result.seconds);
  const Found found = found_in(result);
  row.choice(found, Found::cell);
  if (found == Found::training) put_expectations(row, *result.expectations);
  if (found == Found::oracle) run_fields(row, *result.oracle);
  if (found == Found::cell) cell_fields(row, *result.cell);
  return row.finish();
}

Result result_from_bytes(std::string_view bytes) {
  TakeRow row(bytes, kResultBytes);
  Result result;
  row.text(result.task, kLongestName);
  row.text(result.failure, kLongestText);
  row.finite(result.seconds);
  if (result.seconds < 0.0) row.fail("it took less than no time");
  Found found = Found::nothing;
  row.choice(found, Found::cell);
  if ((found == Found::nothing) == result.failure.empty())
    row.fail("it has neither failed nor found anything, or both");
  if (found == Found::training) result.expectations = take_expectations(row);
  if (found == Found::oracle) run_fields(row, result.oracle.emplace());
  if (found == Found::cell) cell_fields(row, result.cell.emplace());
  row.finish();
  return result;
}

}  // namespace sharpen::study
