#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <new>

#include "base/csv.hpp"
#include "base/input_file.hpp"
#include "sharpen/market/moments.hpp"

namespace sharpen::market {

namespace {

constexpr Index kMostAssets = 1'000'000;
constexpr std::size_t kSmallMarket = 2000;  // whose covariances take little memory

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Lines of at most three fields separated by blanks; blank lines may only end the text.
class Lines {
 public:
  Lines(std::string_view text, std::string_view name) : rest_(text), name_(name) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (rest_.substr(0, 3) == kByteOrderMark) rest_.remove_prefix(3);
    const auto last = rest_.find_last_not_of(" \t\r\n");
    rest_ = last == std::string_view::npos ? std::string_view() : rest_.substr(0, last + 1);
  }

  bool finished() const { return rest_.empty(); }
  Index line() const { return line_; }
  std::size_t bytes_left() const { return rest_.size(); }
  FilePosition position(Index column = 0) const { return {name_, line_, column}; }

  // Splits the next line into exactly `count` fields; `what` says what it should hold.
  void next(Index count, std::string_view what) {
    ++line_;
    if (finished())
      fail_at(
          {name_, line_ - 1},
          fmt::format(
              "the file ends after line {}, where {} should follow; give the whole OR-Library file",
              line_ - 1, what));
    const auto cut = rest_.find('\n');
    std::string_view text = trimmed(rest_.substr(0, cut));
    rest_ = cut == std::string_view::npos ? std::string_view() : rest_.substr(cut + 1);
    Index found = 0;
    while (!text.empty()) {
      std::size_t length = 0;
      while (length < text.size() && !is_blank(text[length])) ++length;
      if (found < count) fields_[at(found)] = text.substr(0, length);
      ++found;
      text = trimmed(text.substr(length));
    }
    if (found != count)
      fail_at(position(),
              fmt::format(
                  "line {} has {} where {} {} expected ({}); is this an OR-Library portfolio file?",
                  line_, counted(found, "field"), count, count == 1 ? "is" : "are", what));
  }

  // describe() says what the number is, and is only asked when it is wrong.
  template <class Describe>
  double number(Index field, const Describe& describe) const {
    const std::string_view text = fields_[at(field)];
    if (const auto value = parse_number(text)) return *value;
    fail_number(position(field + 1), text, describe());
  }

  Index count(Index field, Index most, std::string_view what) const {
    const std::string_view text = fields_[at(field)];
    Index value = 0;
    bool valid = true;
    for (const char c : text) {
      valid = valid && c >= '0' && c <= '9' && value <= most;
      if (valid) value = 10 * value + (c - '0');
    }
    if (!valid || value < 1 || value > most)
      fail_at(position(field + 1),
              fmt::format("{} is not {}, at {}; write a whole number from 1 to {}", shown(text),
                          what, spelled(position(field + 1)), most));
    return value;
  }

  std::string_view text(Index field) const { return fields_[at(field)]; }

 private:
  std::string_view rest_;
  std::string_view name_;
  Index line_ = 0;
  std::array<std::string_view, 3> fields_;
};

class OrlibParser {
 public:
  OrlibParser(std::string_view text, std::string_view name) : lines_(text, name) {
    if (lines_.finished())
      fail_at({name}, "is empty; an OR-Library portfolio file starts with the number of assets");
  }

  Moments parse() {
    parse_count();
    for (Index i = 0; i < n_; ++i) parse_asset(i);
    while (!lines_.finished()) parse_pair();
    check_all_pairs();
    return std::move(moments_);
  }

 private:
  void parse_count();
  void parse_asset(Index i);
  void parse_pair();
  void check_all_pairs() const;
  double& entry(Index i, Index j) { return moments_.covariance[at(i * n_ + j)]; }

  Lines lines_;
  Index n_ = 0;
  std::vector<double> sd_;
  Moments moments_;
};

void OrlibParser::parse_count() {
  lines_.next(1, "the number of assets");
  n_ = lines_.count(0, kMostAssets, "a number of assets");
  // An absurd n is refused before memory is set aside for it: an asset takes four bytes ("0 0" and
  // a line end) and a pair six, the last line end less. A small file may say where it ends.
  const auto n = at(n_);
  const std::size_t pairs = n * (n + 1) / 2, left = lines_.bytes_left();
  if (pairs > left || (n > kSmallMarket && 4 * n + 6 * pairs > left + 1))
    fail_at(lines_.position(1),
            fmt::format("the file is too short for {} and {} of correlations, at line 1; correct "
                        "the number of assets",
                        counted(n_, "asset"), counted(n_ * (n_ + 1) / 2, "line")));
  if (n > most_memory() / sizeof(double) / n) throw std::bad_alloc();
  moments_.covariance.assign(n * n, std::numeric_limits<double>::quiet_NaN());
}

void OrlibParser::parse_asset(Index i) {
  lines_.next(2, fmt::format("mean and standard deviation of asset {}", i + 1));
  moments_.tickers.push_back(fmt::format("asset{}", i + 1));
  moments_.mean.push_back(lines_.number(0, [&] { return fmt::format("mean of asset {}", i + 1); }));
  const double sd =
      lines_.number(1, [&] { return fmt::format("standard deviation of asset {}", i + 1); });
  if (sd < 0.0)
    fail_at(lines_.position(2),
            fmt::format("the standard deviation {} of asset {} is negative, at {}; correct it",
                        shortened(lines_.text(1)), i + 1, spelled(lines_.position(2))));
  if (!std::isfinite(sd * sd))
    fail_at(lines_.position(2),
            fmt::format(
                "the standard deviation {} of asset {} is too large to square, at {}; correct it",
                shortened(lines_.text(1)), i + 1, spelled(lines_.position(2))));
  sd_.push_back(sd);
}

void OrlibParser::parse_pair() {
  lines_.next(3, "i, j and their correlation");
  const Index i = lines_.count(0, n_, "an asset number") - 1;
  const Index j = lines_.count(1, n_, "an asset number") - 1;
  const double correlation = lines_.number(
      2, [&] { return fmt::format("correlation of assets {} and {}", i + 1, j + 1); });
  const FilePosition position = lines_.position(3);
  if (std::abs(correlation) > 1.0)
    fail_at(
        position,
        fmt::format("the correlation {} of assets {} and {} is outside [-1, 1], at {}; correct it",
                    shortened(lines_.text(2)), i + 1, j + 1, spelled(position)));
  if (i == j && correlation != 1.0)
    fail_at(position,
            fmt::format("the correlation {} of asset {} with itself is not 1, at {}; correct it",
                        shortened(lines_.text(2)), i + 1, spelled(position)));
  if (!std::isnan(entry(i, j)))
    fail_at(lines_.position(),
            fmt::format("the pair {} {} is repeated, at line {}; give every pair once", i + 1,
                        j + 1, lines_.line()));
  entry(i, j) = entry(j, i) = correlation * sd_[at(i)] * sd_[at(j)];
}

void OrlibParser::check_all_pairs() const {
  for (Index i = 0; i < n_; ++i)
    for (Index j = i; j < n_; ++j)
      if (std::isnan(moments_.covariance[at(i * n_ + j)]))
        fail_at(lines_.position(),
                fmt::format("the pair {} {} is missing, at the end of the file after line {}; give "
                            "all {} of {}, the diagonal included",
                            i + 1, j + 1, lines_.line(), counted(n_ * (n_ + 1) / 2, "pair"),
                            counted(n_, "asset")));
}

}  // namespace

Moments parse_orlib(std::string_view text, std::string_view name) {
  try {
    return OrlibParser(text, name).parse();
  } catch (const std::bad_alloc&) {
    fail_at({name}, "does not fit into memory; give fewer assets");
  }
}

Moments read_orlib(const std::filesystem::path& file) {
  const TextFile content(file);
  return parse_orlib(content.text(), file.string());
}

}  // namespace sharpen::market
