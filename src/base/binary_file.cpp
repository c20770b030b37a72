#include "base/binary_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "base/input_file.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen {

namespace {

constexpr std::size_t kMagic = 8, kVersion = 4, kLength = 8, kChecksum = 4;
constexpr std::size_t kHeader = kMagic + kVersion + kLength;

std::uint64_t decoded(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

template <class Real>
void append(std::string& out, std::span<const Real> values) {
  static_assert(std::numeric_limits<Real>::is_iec559);
  using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  if constexpr (std::endian::native == std::endian::little) {
    out.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  } else {
    for (const Real value : values)
      for (std::size_t i = 0; i < sizeof(Real); ++i)
        out.push_back(static_cast<char>(std::bit_cast<Bits>(value) >> (8 * i)));
  }
}

template <class Real>
std::vector<Real> array_of(std::string_view bytes) {
  using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  std::vector<Real> out(bytes.size() / sizeof(Real));
  if (out.empty()) return out;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(out.data(), bytes.data(), bytes.size());
  } else {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = std::bit_cast<Real>(
          static_cast<Bits>(decoded(bytes.substr(i * sizeof(Real), sizeof(Real)))));
  }
  return out;
}

[[noreturn]] void refuse(std::string_view name, const std::string& what) { fail_at({name}, what); }

[[noreturn]] void refuse_cut_short(std::string_view name, const FileKind& kind, std::size_t has,
                                   std::uint64_t of) {
  refuse(name, fmt::format("is a {} cut short: {} of its {} bytes are there; copy it again, or {}",
                           kind.noun, has, of, kind.remedy));
}

// The length that a file of this kind says it has, from its first bytes: kHeader of them, or all
// there are.
std::uint64_t checked_header(std::string_view start, std::string_view name, const FileKind& kind) {
  if (start.empty())
    refuse(name,
           fmt::format("is empty and no {}; name another file, or {}", kind.noun, kind.remedy));
  const std::size_t common = std::min(start.size(), kMagic);
  if (start.substr(0, common) != kind.magic.substr(0, common))
    refuse(name, fmt::format("is not a {} of Sharpen: it starts with other bytes; name a file that "
                             "is one",
                             kind.noun));
  if (start.size() < kHeader)
    refuse(name, fmt::format("is a {} cut short: only {} there; copy it again, or {}", kind.noun,
                             start.size() == 1 ? std::string("1 byte is")
                                               : fmt::format("{} bytes are", start.size()),
                             kind.remedy));
  const std::uint64_t version = decoded(start.substr(kMagic, kVersion));
  if (version > kind.version)
    refuse(name, fmt::format("is a {} of format version {}, and this program reads versions up to "
                             "{}; use a newer Sharpen, or {}",
                             kind.noun, version, kind.version, kind.remedy));
  const std::uint64_t length = decoded(start.substr(kMagic + kVersion, kLength));
  if (version == 0 || length < kHeader + kChecksum)
    refuse(name, fmt::format("is altered or damaged: no {} has {}; copy it again, or {}", kind.noun,
                             version == 0 ? std::string("format version 0")
                                          : fmt::format("a length of {} bytes", length),
                             kind.remedy));
  return length;
}

void check_length(std::uint64_t length, std::size_t has, std::string_view name,
                  const FileKind& kind) {
  if (has < length) refuse_cut_short(name, kind, has, length);
  if (has > length)
    refuse(name, fmt::format("is a {} of {} bytes with more after them; copy it again, or {}",
                             kind.noun, length, kind.remedy));
}

// Appends up to `most` bytes, fewer only at the end of the file.
void read_into(std::string& out, const InputFile& input, std::size_t most) {
  std::size_t done = out.size();
  out.resize(done + most);
  while (done < out.size()) {
    const std::size_t got = input.read(out.data() + done, out.size() - done);
    if (got == 0) break;
    done += got;
  }
  out.resize(done);
}

}  // namespace

ByteWriter::ByteWriter(const FileKind& kind, std::size_t expected) {
  bytes_.reserve(std::max(expected, kHeader + kChecksum));
  bytes_.append(kind.magic);
  u32(kind.version);
  u64(0);  // length, once it is known
}

void ByteWriter::little_endian(std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
}

void ByteWriter::f64(double value) { u64(std::bit_cast<std::uint64_t>(value)); }

void ByteWriter::maybe(std::optional<double> value) {
  f64(value.value_or(std::numeric_limits<double>::quiet_NaN()));
}

void ByteWriter::text(std::string_view value) {
  if (value.size() > std::numeric_limits<std::uint32_t>::max())
    throw InputError("a text of more than 4 GB cannot be written; shorten it");
  u32(static_cast<std::uint32_t>(value.size()));
  bytes_.append(value);
}

void ByteWriter::floats(std::span<const float> values) {
  u64(values.size());
  append(bytes_, values);
}

void ByteWriter::doubles(std::span<const double> values) {
  u64(values.size());
  append(bytes_, values);
}

std::string ByteWriter::finish() {
  const std::uint64_t length = bytes_.size() + kChecksum;
  for (std::size_t i = 0; i < kLength; ++i)
    bytes_[kMagic + kVersion + i] = static_cast<char>(length >> (8 * i));
  u32(0);
  const std::uint32_t sum = checksum(bytes_);
  bytes_.resize(bytes_.size() - kChecksum);
  u32(sum);
  return std::move(bytes_);
}

std::uint32_t checksum(std::string_view bytes) {
  const std::size_t size = bytes.size() - std::min(bytes.size(), kChecksum);
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), size));
}

ByteReader::ByteReader(std::string_view bytes, std::string_view name, const FileKind& kind)
    : name_(name), kind_(kind) {
  check_length(checked_header(bytes.substr(0, kHeader), name, kind), bytes.size(), name, kind);
  if (decoded(bytes.substr(bytes.size() - kChecksum)) != checksum(bytes))
    refuse(name,
           fmt::format("is altered or damaged: its checksum is not that of its bytes; copy it "
                       "again, or {}",
                       kind.remedy));
  version_ = static_cast<std::uint32_t>(decoded(bytes.substr(kMagic, kVersion)));
  bytes_ = bytes.substr(0, bytes.size() - kChecksum);
  at_ = kHeader;
}

void ByteReader::fail(std::string_view what) const {
  refuse(name_, fmt::format("is not a valid {}: {}; {}", kind_.noun, what, kind_.remedy));
}

std::string_view ByteReader::take(std::size_t size, std::string_view field) {
  if (size > left()) fail(fmt::format("{} needs {} bytes and {} are left", field, size, left()));
  const std::string_view taken = bytes_.substr(at_, size);
  at_ += size;
  return taken;
}

std::uint64_t ByteReader::little_endian(std::size_t size) {
  return decoded(take(size, "a number"));
}

std::uint8_t ByteReader::u8() { return static_cast<std::uint8_t>(little_endian(1)); }
std::uint32_t ByteReader::u32() { return static_cast<std::uint32_t>(little_endian(4)); }
std::uint64_t ByteReader::u64() { return little_endian(8); }
double ByteReader::f64() { return std::bit_cast<double>(u64()); }

std::optional<double> ByteReader::maybe() {
  const double value = f64();
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

std::string ByteReader::text(std::string_view field) {
  const std::size_t size = u32();
  return std::string(take(size, field));
}

std::size_t ByteReader::count(std::string_view field, std::size_t least) {
  const std::uint64_t count = u64();
  if (count > left() / std::max<std::size_t>(least, 1))
    fail(fmt::format("{} {} do not fit into the {} bytes left", count, field, left()));
  return static_cast<std::size_t>(count);
}

std::string_view ByteReader::elements(std::string_view field, std::size_t expected,
                                      std::size_t size) {
  const std::size_t found = count(field, size);
  if (found != expected) fail(fmt::format("it has {} {} and needs {}", found, field, expected));
  return take(found * size, field);
}

std::vector<float> ByteReader::floats(std::string_view field, std::size_t expected) {
  return array_of<float>(elements(field, expected, sizeof(float)));
}

std::vector<double> ByteReader::doubles(std::string_view field, std::size_t expected) {
  return array_of<double>(elements(field, expected, sizeof(double)));
}

void ByteReader::finish() const {
  if (left() > 0) fail(fmt::format("{} bytes follow its last field", left()));
}

std::string read_file_of(const FileKind& kind, const std::filesystem::path& file) {
  const InputFile input(file);
  std::string bytes;
  read_into(bytes, input, kHeader);
  const std::uint64_t length = checked_header(bytes, input.name(), kind);
  if (input.is_regular()) check_length(length, input.size(), input.name(), kind);
  const std::size_t most = most_memory();
  if (length > most)
    refuse(input.name(), fmt::format("is a {} of {} bytes, which do not fit into memory; use a "
                                     "machine with more",
                                     kind.noun, length));
  try {
    // A pipe may say what it likes of its length: memory grows with what really arrives.
    if (input.is_regular()) bytes.reserve(length + 1);
    while (bytes.size() < length) {
      const std::size_t before = bytes.size();
      read_into(bytes, input, std::min<std::size_t>(kBlock, length - before));
      if (bytes.size() == before) refuse_cut_short(input.name(), kind, before, length);
    }
    read_into(bytes, input, 1);  // one byte too many says that there are more
  } catch (const std::bad_alloc&) {
    refuse(input.name(), fmt::format("is a {} of {} bytes, which do not fit into memory; use a "
                                     "machine with more",
                                     kind.noun, length));
  }
  return bytes;
}

}  // namespace sharpen
