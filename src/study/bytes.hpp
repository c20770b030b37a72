// What a study finds, as bytes: to the bit, with a checksum, every length checked. They are what
// the file of a study keeps and what travels between machines.
//
// The fields of a struct are named once, in fields(): Bytes writes them or reads them back. What is
// read is well formed and no more: whoever reads it checks that it fits itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/binary_file.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/study/results.hpp"

namespace sharpen::study {

// The text as it can be stored and shown: what is not UTF-8 with its odd bytes written as \xNN.
inline std::string storable(std::string_view text) {
  return is_utf8(text) ? std::string(text) : printable(text, 4 * text.size());
}

// The same of why something failed, cut where it is long: every cell of a training may have it.
inline std::string storable_reason(std::string_view text) {
  constexpr std::size_t kLongest = 4000;
  return text.size() <= kLongest && is_utf8(text) ? std::string(text) : printable(text, kLongest);
}

// shown: texts are UTF-8, as storable() makes them. exact: they are any bytes.
enum class Texts { shown, exact };

class Bytes {
 public:
  explicit Bytes(const FileKind& kind, Texts texts = Texts::shown)  // to write
      : texts_(texts), out_(std::in_place, kind) {}
  // `name` stands for them in messages; it and the bytes must outlive this.
  Bytes(std::string_view bytes, std::string_view name, const FileKind& kind,
        Texts texts = Texts::shown)
      : texts_(texts), in_(std::in_place, bytes, name, kind) {}

  template <class... T>
  void operator()(T&... each) {
    (one(each), ...);
  }
  bool reads() const { return in_.has_value(); }  // else what is written may be shared: hands off
  std::string written() { return out_->finish(); }
  void end() const { in_->finish(); }  // nothing may be left
  [[noreturn]] void fail(std::string_view what) const { in_->fail(what); }

 private:
  template <class T>
  void one(T& value) {
    if constexpr (std::is_enum_v<T>)
      out_ ? out_->u8(static_cast<std::uint8_t>(value)) : void(value = static_cast<T>(in_->u8()));
    else if constexpr (std::is_integral_v<T>)
      out_ ? put(static_cast<std::uint64_t>(value)) : void(value = static_cast<T>(number()));
    else
      fields(*this, value);
  }
  void one(double& value) { out_ ? out_->f64(value) : void(value = in_->f64()); }
  void one(std::string& value) {
    const bool exact = texts_ == Texts::exact;
    if (out_) return out_->text(exact ? value : storable(value));
    value = in_->text("a text");
    if (!exact && !is_utf8(value)) fail("a text is not UTF-8");
  }
  void one(std::vector<double>& values) {
    if (!out_) return void(values = in_->doubles("numbers", in_->count("numbers", sizeof(double))));
    out_->u64(values.size());
    out_->doubles(values);
  }
  template <class T>
  void one(std::vector<T>& values) {
    if (out_) {
      put(values.size());
      for (T& value : values) one(value);
    } else {
      // One by one: what is not there takes no memory.
      for (std::uint64_t left = number(); left > 0; --left) one(values.emplace_back());
    }
  }
  template <class T>
  void one(std::optional<T>& value) {
    bool there = value.has_value();
    one(there);
    if (there) one(value ? *value : value.emplace());
  }
  template <class T>
  void one(std::shared_ptr<const T>& value) {
    bool there = value != nullptr;
    one(there);
    if (!there) return;
    if (out_) return one(const_cast<T&>(*value));
    auto read = std::make_shared<T>();
    one(*read);
    value = std::move(read);
  }
  template <class A, class B>
  void one(std::pair<A, B>& value) {
    operator()(value.first, value.second);
  }

  // Whole numbers have seven bits to a byte, the lowest first: nearly all are small.
  void put(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_->u8(static_cast<std::uint8_t>(value | 0x80));
    out_->u8(static_cast<std::uint8_t>(value));
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint64_t byte = in_->u8();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail("a number has too many bytes");
  }

  Texts texts_;
  std::optional<ByteWriter> out_;
  std::optional<ByteReader> in_;
};

// The columns of metrics that are numbers of backtest::Metrics.
struct MetricColumn {
  std::string_view name;
  double backtest::Metrics::*field;
};
extern const std::array<MetricColumn, 45> kMetricColumns;

// The daily columns of a run that every study keeps, without the benchmark.
struct DailyColumn {
  std::string_view name;
  std::vector<double> backtest::Run::*column;
  bool finite;  // in every period
};
extern const std::array<DailyColumn, 12> kDailyColumns;

// Daily columns and weights; no trades.
void fields(Bytes& bytes, backtest::Run& run);
void fields(Bytes& bytes, backtest::Expectations& found);
// What was found for a cell: metrics, run, the two companions and warnings.
void found_fields(Bytes& bytes, Cell& cell);

// Which does not change it.
template <class T>
std::string to_bytes(const FileKind& kind, const T& value) {
  Bytes bytes(kind);
  bytes(const_cast<T&>(value));
  return bytes.written();
}

template <class T>
T from_bytes(const FileKind& kind, std::string_view written, std::string_view name) {
  Bytes bytes(written, name, kind);
  T value;
  bytes(value);
  bytes.end();
  return value;
}

}  // namespace sharpen::study
