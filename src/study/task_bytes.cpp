// Tasks, markets and results as bytes. Every struct names its fields once: a PutRow writes them, a
// TakeRow reads them back. Texts are kept to the byte: a worker must see what the coordinator saw.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/binary_file.hpp"
#include "sharpen/base/build_info.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/study/checksum.hpp"
#include "sharpen/study/task.hpp"
#include "study/store_schema.hpp"

namespace sharpen::study {

namespace {

constexpr std::size_t kLongestWord = 4096, kLongestReason = 4 * kLongestWord;
constexpr std::size_t kLongestTicker = std::size_t{4} << 20;
constexpr std::string_view kSendAgain = "have it sent again";
constexpr FileKind kMarketBytes = {"SHRPMRKT", 1, "market of a study", kSendAgain};
constexpr FileKind kTaskBytes = {"SHRPTASK", 1, "task of a study", kSendAgain};
constexpr FileKind kResultBytes = {"SHRPRSLT", 1, "result of a task", kSendAgain};
constexpr std::uint32_t kTaskFormat = 2;  // of the fields, and what they mean

class PutRow {
 public:
  explicit PutRow(const FileKind& kind, std::size_t expected = 0) : out_(kind, expected) {
    out_.text(program());
    out_.u32(kTaskFormat);
  }
  std::string finish() { return out_.finish(); }

  void flag(bool value) { out_.u8(value ? 1 : 0); }
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

  void flag(bool& value) {
    const std::uint8_t found = in_.u8();
    if (found > 1) fail("a flag is neither 0 nor 1");
    value = found == 1;
  }
  void finite(double& value) {
    value = in_.f64();
    if (!std::isfinite(value)) fail("a number is not finite");
  }
  void text(std::string& value, std::size_t longest = std::numeric_limits<std::size_t>::max()) {
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
  texts(row, market.returns.dates, kLongestWord);
  texts(row, market.returns.tickers, kLongestTicker);
  texts(row, market.returns.left_out, kLongestTicker);
  row.reals(market.returns.values);
  row.list(market.standstills, 12, [&](auto& each) {
    row.text(each.ticker, kLongestTicker);
    row.text(each.first, kLongestWord);
    row.text(each.last, kLongestWord);
  });
}

// What makes it the task it is.
template <class Row, class T>
void identity_fields(Row& row, T& task) {
  row.choice(task.kind, TaskKind::cell);
  row.text(task.market, kLongestWord);
  row.list(task.settings, 8, [&](auto& each) {
    row.text(each.first, kLongestWord);
    row.text(each.second);
  });
}

// What was found travels as the bytes that a study's file keeps it in.
template <class T>
T unpacked(const FileKind& kind, TakeRow& row) {
  std::string bytes;
  row.text(bytes);
  return from_bytes<T>(kind, bytes, "what was found");
}

std::string packed_cell(const Cell& cell) {
  Bytes bytes(kCellBytes);
  found_fields(bytes, const_cast<Cell&>(cell));
  return bytes.written();
}

Cell unpacked_cell(TakeRow& row) {
  std::string written;
  row.text(written);
  Bytes bytes(written, "what was found", kCellBytes);
  Cell cell;
  found_fields(bytes, cell);
  bytes.end();
  return cell;
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
  PutRow row(kTaskBytes);
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
  PutRow row(kTaskBytes);
  identity_fields(row, task);
  row.flag(task.expectations != nullptr);
  if (task.expectations) row.text(to_bytes(kExpectationBytes, *task.expectations));
  row.flag(task.oracle != nullptr);
  if (task.oracle) row.text(to_bytes(kRunBytes, *task.oracle));
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
    task.expectations = std::make_shared<const backtest::Expectations>(
        unpacked<backtest::Expectations>(kExpectationBytes, row));
  row.flag(given);
  if (given)
    task.oracle = std::make_shared<const backtest::Run>(unpacked<backtest::Run>(kRunBytes, row));
  row.finish();
  return task;
}

std::string to_bytes(const Result& result) {
  PutRow row(kResultBytes);
  row.text(result.task);
  row.text(storable_reason(result.failure));
  row.text(result.blas);
  row.finite(result.seconds);
  const Found found = found_in(result);
  row.choice(found, Found::cell);
  if (found == Found::training) row.text(to_bytes(kExpectationBytes, *result.expectations));
  if (found == Found::oracle) row.text(to_bytes(kRunBytes, *result.oracle));
  if (found == Found::cell) row.text(packed_cell(*result.cell));
  return row.finish();
}

Result result_from_bytes(std::string_view bytes) {
  TakeRow row(bytes, kResultBytes);
  Result result;
  row.text(result.task, kLongestWord);
  row.text(result.failure, kLongestReason);
  row.text(result.blas, kLongestWord);
  row.finite(result.seconds);
  if (result.seconds < 0.0) row.fail("it took less than no time");
  Found found = Found::nothing;
  row.choice(found, Found::cell);
  if ((found == Found::nothing) == result.failure.empty())
    row.fail("it has neither failed nor found anything, or both");
  if (found == Found::training)
    result.expectations = unpacked<backtest::Expectations>(kExpectationBytes, row);
  if (found == Found::oracle) result.oracle = unpacked<backtest::Run>(kRunBytes, row);
  if (found == Found::cell) result.cell = unpacked_cell(row);
  row.finish();
  return result;
}

}  // namespace sharpen::study
