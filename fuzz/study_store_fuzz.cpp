// The reader of a study's file. The input is a list of changes to a good one: three bytes say
// where, a fourth what to put there; what is left over at the end says where the file is cut. Any
// of them gives a study that fits itself, or an error. An input that begins with a zero byte
// changes the bytes of a cell instead, below their checksum, which is then made right.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "check.hpp"
#include "scratch.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/study/store.hpp"
#include "study/store_schema.hpp"

namespace sharpen::study {
namespace {

Results plan() {
  Results plan;
  plan.name = "fuzz";
  Market market;
  market.name = "m";
  market.tickers = {"A", "B"};
  market.dates = {"2020-01-01", "2020-01-02"};
  market.warnings = {"w"};
  plan.markets = {market};
  plan.versions = {{"sharpen", "1"}};
  Method method;
  method.name = "x";
  plan.methods = {method};
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    Cell cell;
    cell.k_given = "1";
    cell.k = 1;
    cell.seed = seed;
    plan.cells.push_back(cell);
  }
  return plan;
}

Cell done(const Results& plan) {
  Cell cell = plan.cells[0];
  backtest::Run& run = cell.run;
  run.dates = plan.markets[0].dates;
  for (const DailyColumn& column : kDailyColumns) run.*column.column = {0.25, -0.125};
  run.status = {backtest::PeriodStatus::ok, backtest::PeriodStatus::held};
  run.weights = {{0, 0.5}, {1, -0.25}, {0, 0.75}};
  run.weights_begin = {0, 2, 3};
  run.n_decisions = 1;
  cell.metrics.n_periods = 2;
  cell.regret = backtest::Regret{0.5, 0.25};
  cell.warnings = {"v"};
  return cell;
}

std::string good_bytes(const std::filesystem::path& file) {
  {
    const Results planned = plan();
    Store store(file, planned);
    store.write_done(0, done(planned));
    store.write_failed(1, "failed", 1.0);
  }
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void read(const Scratch& scratch, const std::string& bytes) {
  scratch.write(bytes);
  Results found;
  try {
    found = read_store(scratch.file);
  } catch (const InputError& error) {
    SHARPEN_FUZZ_CHECK(std::strlen(error.what()) > 0);
    return;
  }
  for (const Cell& cell : found.cells) {
    SHARPEN_FUZZ_CHECK(static_cast<std::size_t>(cell.market) < found.markets.size());
    SHARPEN_FUZZ_CHECK(static_cast<std::size_t>(cell.method) < found.methods.size());
    const Market& market = found.markets[static_cast<std::size_t>(cell.market)];
    SHARPEN_FUZZ_CHECK(cell.k >= 0 && static_cast<std::size_t>(cell.k) <= market.tickers.size());
    if (cell.state == CellState::done) check_run(market, cell);
  }
}

// The body of the cell's bytes is changed, and they are sealed again.
std::string changed_cell(const Results& planned, const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kHeader = 20, kChecksum = 4;
  Cell cell = done(planned);
  Bytes bytes(kCellBytes);
  found_fields(bytes, cell);
  std::string body = bytes.written();
  body = body.substr(kHeader, body.size() - kHeader - kChecksum);
  for (; size >= 3; data += 3, size -= 3)
    body[static_cast<std::size_t>(data[0] | (data[1] << 8)) % body.size()] =
        static_cast<char>(data[2]);
  if (size == 1) body.resize(data[0] % body.size());
  ByteWriter out(kCellBytes);
  for (const char byte : body) out.u8(static_cast<std::uint8_t>(byte));
  return out.finish();
}

void read_cell(const std::uint8_t* data, std::size_t size) {
  static const Results kPlan = plan();
  const std::string written = changed_cell(kPlan, data, size);
  Cell cell = kPlan.cells[0];
  try {
    Bytes bytes(written, "cell", kCellBytes);
    found_fields(bytes, cell);
    bytes.end();
    check_run(kPlan.markets[0], cell);
  } catch (const InputError&) {
    return;
  } catch (const Misfit&) {
    return;
  }
  SHARPEN_FUZZ_CHECK(cell.run.weights.size() <= written.size());
}

}  // namespace
}  // namespace sharpen::study

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0 && data[0] == 0) {
    sharpen::study::read_cell(data + 1, size - 1);
    return 0;
  }
  static const sharpen::Scratch kScratch;
  static const std::string kGood = sharpen::study::good_bytes(kScratch.file);
  std::string bytes = kGood;
  while (size >= 4) {
    const std::size_t place = data[0] | (data[1] << 8) | (data[2] << 16);
    bytes[place % bytes.size()] = static_cast<char>(data[3]);
    data += 4;
    size -= 4;
  }
  if (size == 3) {
    const std::size_t cut = data[0] | (data[1] << 8) | (data[2] << 16);
    bytes.resize(cut % bytes.size());
  }
  sharpen::study::read(kScratch, bytes);
  return 0;
}
