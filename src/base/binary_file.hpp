// Binary files of ours: little-endian, versioned, checksummed.
//
//   magic (8 bytes) | version u32 | length u64 | body | crc32 u32
//
// length counts every byte of the file; the CRC-32 is over everything before it. Whole numbers are
// u32 or u64, numbers f64, texts a u32 length and their bytes, arrays a u64 count and their
// elements. A reader checks every length against the bytes that are there before it allocates, and
// what does not fit is an InputError("FILE: what; remedy").
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen {

// What kind of file it is.
struct FileKind {
  std::string_view magic;     // 8 bytes
  std::uint32_t version = 1;  // the newest that is understood
  std::string_view noun;      // "model"
  std::string_view remedy;    // how to get a whole one: "train it again"
};

class ByteWriter {
 public:
  // `expected`: bytes to make room for, where they are known.
  explicit ByteWriter(const FileKind& kind, std::size_t expected = 0);

  void u8(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void u32(std::uint32_t value) { little_endian(value, 4); }
  void u64(std::uint64_t value) { little_endian(value, 8); }
  void f64(double value);
  void maybe(std::optional<double> value);  // none is written as NaN
  void text(std::string_view value);
  void floats(std::span<const float> values);
  void doubles(std::span<const double> values);

  // The whole file: length and checksum filled in. Nothing may be written after it.
  std::string finish();

 private:
  void little_endian(std::uint64_t value, int size);

  std::string bytes_;
};

class ByteReader {
 public:
  // Checks magic, version, length and checksum, and stands at the start of the body. `bytes` and
  // `name`, which stands for the file in messages, must outlive the reader.
  ByteReader(std::string_view bytes, std::string_view name, const FileKind& kind);

  std::uint32_t version() const { return version_; }
  std::size_t left() const { return bytes_.size() - at_; }  // bytes of the body

  std::uint8_t u8();
  std::uint32_t u32();
  std::uint64_t u64();
  double f64();
  std::optional<double> maybe();
  std::string text(std::string_view field);
  // The count of an array whose elements take at least `least` bytes each.
  std::size_t count(std::string_view field, std::size_t least);
  // Arrays that must have this many elements.
  std::vector<float> floats(std::string_view field, std::size_t expected);
  std::vector<double> doubles(std::string_view field, std::size_t expected);
  // To be called after the last field: more bytes are a fault.
  void finish() const;

  // Throws InputError("FILE: is not a valid model: what; train it again").
  [[noreturn]] void fail(std::string_view what) const;

 private:
  std::uint64_t little_endian(std::size_t size);
  std::string_view take(std::size_t size, std::string_view field);
  std::string_view elements(std::string_view field, std::size_t expected, std::size_t size);

  std::string_view bytes_;  // up to the checksum
  std::string_view name_;
  FileKind kind_;
  std::size_t at_ = 0;
  std::uint32_t version_ = 0;
};

// The bytes of a file of this kind, pipes included. What is of another kind or a newer version, or
// shorter than it says, is refused before its body is read.
std::string read_file_of(const FileKind& kind, const std::filesystem::path& file);

// The checksum of `bytes` without their last four, as they should be.
std::uint32_t checksum(std::string_view bytes);

}  // namespace sharpen
