// Expectations as the bytes of a blob: to the bit, checksummed, every length checked.
#include "base/binary_file.hpp"
#include "study/store_schema.hpp"

namespace sharpen::study {

namespace {

constexpr FileKind kKind = {.magic = "SHRPEXPC",
                            .version = 2,
                            .noun = "set of expectations",
                            .remedy = "remove the study's file and run it again"};

}  // namespace

std::string expectations_bytes(const backtest::Expectations& found) {
  ByteWriter out(kKind, 8 * (found.rows.size() + found.values.size()) + 1024);
  out.u64(found.rows.size());
  for (const Index row : found.rows) out.u64(static_cast<std::uint64_t>(row));
  out.u64(found.values.size());
  std::vector<double> stored;
  for (const backtest::Expectation& value : found.values) stored.push_back(value.stored());
  out.doubles(stored);
  out.u64(found.trainings.size());
  for (const backtest::TrainingRecord& training : found.trainings) {
    out.text(training.first_date);
    out.text(training.last_date);
    out.u64(training.members.size());
    for (const learn::Member& member : training.members) {
      out.u64(static_cast<std::uint64_t>(member.epochs));
      out.u64(static_cast<std::uint64_t>(member.best_epoch));
      out.maybe(member.validation_loss);
      out.maybe(member.validation_sharpe);
    }
  }
  out.u64(static_cast<std::uint64_t>(found.memory.value_or(0)));
  return out.finish();
}

backtest::Expectations parse_expectations(std::string_view bytes, std::string_view name) {
  ByteReader in(bytes, name, kKind);
  backtest::Expectations found;
  found.rows.resize(in.count("rows", 8));
  for (Index& row : found.rows) row = static_cast<Index>(in.u64());
  const std::uint64_t values = in.u64();
  for (const double stored : in.doubles("values", static_cast<std::size_t>(values)))
    found.values.push_back(backtest::Expectation::from_stored(stored));
  found.trainings.resize(in.count("trainings", 16));
  for (backtest::TrainingRecord& training : found.trainings) {
    training.first_date = in.text("first date");
    training.last_date = in.text("last date");
    training.members.resize(in.count("members", 32));
    for (learn::Member& member : training.members) {
      member.epochs = static_cast<Index>(in.u64());
      member.best_epoch = static_cast<Index>(in.u64());
      member.validation_loss = in.maybe();
      member.validation_sharpe = in.maybe();
    }
  }
  if (const auto memory = static_cast<Index>(in.u64()); memory > 0) found.memory = memory;
  in.finish();
  return found;
}

}  // namespace sharpen::study
