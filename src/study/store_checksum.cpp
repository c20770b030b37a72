#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/input_file.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/study/store.hpp"

namespace sharpen::study {

namespace {

struct Checksum {
  uLong crc = ::crc32_z(0, nullptr, 0);
  std::uintmax_t bytes = 0;

  void add(const void* data, std::size_t size) {
    crc = ::crc32_z(crc, static_cast<const Bytef*>(data), size);
    bytes += size;
  }
  std::string text() const { return fmt::format("crc32:{:08x}:{}", crc, bytes); }
};

}  // namespace

std::string checksum_of_text(std::string_view text) {
  Checksum checksum;
  checksum.add(text.data(), text.size());
  return checksum.text();
}

std::string checksum_of_panel(const market::Panel& panel, std::string_view words) {
  Checksum checksum;
  const auto add_line = [&](std::string_view text) {
    checksum.add(text.data(), text.size());
    checksum.add("\n", 1);
  };
  add_line(words);
  for (const std::string& ticker : panel.tickers) add_line(ticker);
  for (const std::string& date : panel.dates) add_line(date);
  checksum.add(panel.values.data(), panel.values.size() * sizeof(double));
  return std::string(kPanelChecksum) + checksum.text();
}

std::string checksum_of_file(const std::filesystem::path& file) {
  const auto fail = [&] {
    throw InputError(fmt::format("{}: cannot be read: {}", printable(file.string(), 4096),
                                 std::strerror(errno)));
  };
  const Descriptor descriptor(file.c_str());
  if (descriptor.get() < 0) fail();
  Checksum checksum;
  std::array<char, 1 << 16> buffer;
  while (true) {
    const ssize_t got = ::read(descriptor.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail();
    if (got == 0) return checksum.text();
    checksum.add(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace sharpen::study
