#include <fmt/format.h>
#include <zlib.h>

#include "base/input_file.hpp"
#include "sharpen/study/checksum.hpp"

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
  const InputFile input(file);
  Checksum checksum;
  std::string buffer(kBlock, '\0');
  while (const std::size_t got = input.read(buffer.data(), buffer.size()))
    checksum.add(buffer.data(), got);
  return checksum.text();
}

}  // namespace sharpen::study
