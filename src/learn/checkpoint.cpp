#include "learn/checkpoint.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>

#include "base/binary_file.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::learn {

namespace {

constexpr FileKind kKind = {.magic = "SHRPCKPT",
                            .version = 2,
                            .noun = "checkpoint",
                            .remedy = "remove it, and train without ‹--resume›"};

std::uint32_t crc(const void* data, std::size_t size) {
  return static_cast<std::uint32_t>(::crc32_z(0, static_cast<const Bytef*>(data), size));
}

}  // namespace

std::uint64_t training_identity(const market::Panel& returns, const TrainSettings& settings,
                                double periods_per_year, std::span<const char> members) {
  TrainSettings same = settings;
  // What no validation of all members stops is the same in any ensemble.
  if (settings.validation == 0.0) same.ensemble = 1;
  std::string words = settings_bytes(same);
  words.resize(words.size() - 4);  // a checksum of bytes and their checksum says nothing of them
  words += shortest(periods_per_year);
  for (const auto* names : {&returns.dates, &returns.tickers})
    for (const std::string& name : *names) words.append(name).append(1, '\0');
  words.append(members.begin(), members.end());
  return (static_cast<std::uint64_t>(crc(words.data(), words.size())) << 32) |
         crc(returns.values.data(), returns.values.size() * sizeof(double));
}

std::filesystem::path checkpoint_file(const std::filesystem::path& folder, Index member) {
  return folder / fmt::format("{}{}", kCheckpointPrefix, member + 1);
}

std::string checkpoint_bytes(std::uint64_t identity, const MemberState& state, bool finished,
                             std::string_view cpu) {
  const std::size_t size = state.best.parameters.size();
  ByteWriter out(kKind, (finished ? 1 : 4) * size * sizeof(float) + 256);
  out.u64(identity);
  out.text(cpu);
  out.u64(static_cast<std::uint64_t>(state.epoch));
  out.u64(static_cast<std::uint64_t>(state.best_epoch));
  out.maybe(state.best_loss);
  out.maybe(state.best_sharpe);
  out.floats(state.best.parameters);
  out.u8(finished ? 1 : 0);
  if (!finished) {
    out.u64(static_cast<std::uint64_t>(state.adam.steps));
    out.floats(state.network.parameters);
    out.floats(state.adam.mean);
    out.floats(state.adam.square);
  }
  return out.finish();
}

std::optional<MemberState> read_checkpoint(const std::filesystem::path& file,
                                           std::uint64_t identity, const Shape& shape) {
  if (!std::filesystem::exists(file)) return std::nullopt;
  const std::string bytes = read_file_of(kKind, file), name = file.string();
  ByteReader in(bytes, name, kKind);
  if (in.u64() != identity)
    throw InputError(fmt::format(
        "{}: is the checkpoint of another training: the settings or the data have changed since; "
        "give those it was begun with, or remove the folder and train without ‹--resume›",
        printable(name, 4 * name.size())));
  const auto size = at(shape.parameters());
  const auto read = [&](std::string_view field) { return in.floats(field, size); };
  MemberState state;
  if (in.version() > 1) state.cpu = in.text("kind of CPU");
  state.epoch = static_cast<Index>(in.u64());
  state.best_epoch = static_cast<Index>(in.u64());
  if (state.epoch < 1 || state.best_epoch < 1 || state.best_epoch > state.epoch)
    in.fail("its epochs are out of order");
  state.best_loss = in.maybe();
  state.best_sharpe = in.maybe();
  state.best.shape = state.network.shape = shape;
  state.best.parameters = read("best parameters");
  const std::uint8_t flag = in.u8();
  if (flag > 1) in.fail("it is neither finished nor not");
  const bool finished = flag == 1;
  if (!finished) {
    state.adam.steps = static_cast<std::int64_t>(in.u64());
    state.network.parameters = read("parameters");
    state.adam.mean = read("mean");
    state.adam.square = read("square");
  }
  in.finish();
  for (const auto* floats :
       {&state.best.parameters, &state.network.parameters, &state.adam.mean, &state.adam.square})
    if (!std::all_of(floats->begin(), floats->end(), [](float x) { return std::isfinite(x); }))
      in.fail("its numbers are not finite");
  return state;
}

}  // namespace sharpen::learn
