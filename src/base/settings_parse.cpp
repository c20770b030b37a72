// Command-line text to values and back, and the bounds.
#include <charconv>
#include <cmath>
#include <optional>

#include "base/csv.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::settings {

namespace {

std::string quoted_or_bare(std::string_view text) { return text.empty() ? "''" : printable(text); }

// "shrinkage = 1.5"
std::string assignment(std::string_view name, std::string_view value) {
  return reference(name) + " = " + quoted_or_bare(value);
}

[[noreturn]] void fail_bounds(std::string_view name, std::string_view value,
                              const std::string& bounds) {
  throw InputError(assignment(name, value) + " is outside " + bounds);
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

struct Whole {
  bool is_whole = false;  // an optional minus and digits
  bool fits = false;
  std::int64_t value = 0;
};

Whole whole_number(std::string_view text) {
  Whole result;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, result.value);
  result.is_whole = stop == end && error != std::errc::invalid_argument;
  result.fits = error == std::errc();
  return result;
}

double parse_real(const Setting& setting, std::string_view text) {
  const auto value = number_from<double>(text);
  if (!value)
    throw InputError(assignment(setting.name, text) + " is not a number; give one in " +
                     setting.bounds.words());
  if (!setting.bounds.hold(*value)) fail_bounds(setting.name, text, setting.bounds.words());
  return *value;
}

std::int64_t parse_integer(const Setting& setting, std::string_view text,
                           const std::string& expected, const std::string& bounds) {
  const Whole number = whole_number(text);
  if (!number.is_whole) throw InputError(assignment(setting.name, text) + " is " + expected);
  if (!number.fits || !setting.bounds.hold(static_cast<double>(number.value)))
    fail_bounds(setting.name, text, bounds);
  return number.value;
}

bool parse_flag(const Setting& setting, std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  throw InputError(assignment(setting.name, text) + " is neither true nor false");
}

std::string parse_choice(const Setting& setting, std::string_view text) {
  std::string known;
  const std::vector<std::string_view> choices = setting.all_choices();
  for (const std::string_view choice : choices) {
    if (choice == text) return std::string(text);
    known.append(known.empty() ? "" : ", ").append(choice);
  }
  throw InputError(assignment(setting.name, text) + " is not one of " + known +
                   did_you_mean(text, choices));
}

std::string parse_text(const Setting& setting, std::string_view text) {
  if (text.empty())
    throw InputError(assignment(setting.name, text) + " is empty; give a " +
                     std::string(setting.placeholder) + ", or leave it out");
  if (text.find('\0') != std::string_view::npos)
    throw InputError(assignment(setting.name, text) + " contains a NUL character");
  return std::string(text);
}

struct ListItem {
  std::string name;
  std::string_view rest;  // what stands before the next comma, behind the name
  bool closed = true;     // false for a quote without its end
};

// One name of a list, taken from the front of `text` up to the comma. As in CSV files, a name in
// double quotes may hold commas, and quotes if they are doubled.
ListItem take_item(std::string_view& text) {
  ListItem item;
  const auto start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos || text[start] != '"') {
    const auto comma = std::min(text.find(','), text.size());
    item.name = trimmed(text.substr(0, comma));
    text.remove_prefix(comma);
    return item;
  }
  text.remove_prefix(start + 1);
  for (;;) {
    const auto quote = std::min(text.find('"'), text.size());
    item.name += text.substr(0, quote);
    item.closed = quote < text.size();
    text.remove_prefix(item.closed ? quote + 1 : quote);
    if (!text.starts_with('"')) break;
    item.name += '"';
    text.remove_prefix(1);
  }
  const auto comma = std::min(text.find(','), text.size());
  item.rest = trimmed(text.substr(0, comma));
  text.remove_prefix(comma);
  return item;
}

std::vector<std::string> parse_list(const Setting& setting, std::string_view text) {
  std::vector<std::string> items;
  for (bool more = true; more;) {
    const ListItem item = take_item(text);
    const auto fail = [&](std::string_view what) {
      throw InputError(reference(setting.name) + ": name " + std::to_string(items.size() + 1) +
                       " of the list " + std::string(what));
    };
    if (!item.closed) fail("starts with a quote that does not end; write \"A, B\",C");
    if (!item.rest.empty())
      fail("goes on after its closing quote; write \"A, B\",C, and a quote in a name twice");
    if (item.name.empty()) fail("is empty; write " + std::string(setting.placeholder));
    items.push_back(parse_text(setting, item.name));
    more = !text.empty();
    if (more) text.remove_prefix(1);
  }
  return items;
}

// A name as parse_list reads it back.
std::string list_item(const std::string& name) {
  const bool plain =
      name.find(',') == std::string::npos && !name.starts_with('"') && trimmed(name) == name;
  if (plain) return name;
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

CountOrShare parse_count_or_share(const Setting& setting, std::string_view text) {
  const std::string expected = "neither a whole number such as 20 nor a share such as 10%";
  // How many assets there are is not known yet: CountOrShare::of checks against it.
  if (!text.ends_with('%')) return {.count = parse_integer(setting, text, expected, "[1, n]")};
  const auto percent = number_from<double>(trimmed(text.substr(0, text.size() - 1)));
  if (!percent) throw InputError(assignment(setting.name, text) + " is " + expected);
  if (!(*percent > 0.0 && *percent <= 100.0)) fail_bounds(setting.name, text, "(0%, 100%]");
  return {.percent = *percent};
}

// What is not a number names a file.
NumberOrFile parse_number_or_file(const Setting& setting, std::string_view text) {
  if (text.empty() || number_from<double>(text))
    return {.number = parse_real(setting, text), .file = {}};
  return {.number = 0.0, .file = parse_text(setting, text)};
}

CountOrAll parse_count_or_all(const Setting& setting, std::string_view text) {
  if (text == "all") return {.all = true};
  const std::string expected = "neither a whole number such as 100 nor the word all";
  return {.count = parse_integer(setting, text, expected, setting.bounds.words())};
}

}  // namespace

bool Bounds::hold(double value) const {
  return std::isfinite(value) && value <= high && (above ? value > low : value >= low);
}

std::string Bounds::words() const {
  // Whole numbers in full: 1e+06 is shorter than 1000000, and not how people write a bound.
  const auto plain = [](double end) {
    return end == std::floor(end) && std::abs(end) < 1e15
               ? std::to_string(static_cast<std::int64_t>(end))
               : shortest(end);
  };
  std::string words = above || std::isinf(low) ? "(" : "[";
  words += plain(low) + ", " + plain(high);
  words += std::isinf(high) ? ")" : "]";
  return words;
}

void check(std::string_view name, double value) {
  const Bounds& bounds = find(name).bounds;
  if (!bounds.hold(value)) fail_bounds(name, shortest(value), bounds.words());
}

void check_count(std::string_view name, std::int64_t value, std::int64_t most) {
  Bounds bounds = find(name).bounds;
  bounds.high = std::min(bounds.high, static_cast<double>(most));
  if (!bounds.hold(static_cast<double>(value)))
    fail_bounds(name, std::to_string(value), bounds.words());
}

Index CountOrShare::of(Index n, std::string_view name) const {
  if (percent > 0.0) {
    // Multiplying first keeps 10% of 25 at exactly 2.5, which rounds away from zero.
    const double share = std::round(percent * static_cast<double>(n) / 100.0);
    return std::max<Index>(1, static_cast<Index>(share));
  }
  if (count > n)
    throw InputError(assignment(name, std::to_string(count)) + " is outside [1, " +
                     std::to_string(n) + "]; there " + (n == 1 ? "is " : "are ") +
                     std::to_string(n) + (n == 1 ? " asset" : " assets"));
  return count;
}

Value parse(const Setting& setting, std::string_view text) {
  switch (setting.kind) {
    case Kind::flag: return parse_flag(setting, text);
    case Kind::integer:
      return parse_integer(setting, text, "not a whole number", setting.bounds.words());
    case Kind::real: return parse_real(setting, text);
    case Kind::choice: return parse_choice(setting, text);
    case Kind::text: return parse_text(setting, text);
    case Kind::list: return parse_list(setting, text);
    case Kind::count_or_share: return parse_count_or_share(setting, text);
    case Kind::count_or_all: return parse_count_or_all(setting, text);
    case Kind::number_or_file: return parse_number_or_file(setting, text);
    case Kind::of_field: break;
  }
  throw std::logic_error("a setting of unknown kind");
}

std::string write(const Setting& setting, const Value& value) {
  switch (setting.kind) {
    case Kind::flag: return std::get<bool>(value) ? "true" : "false";
    case Kind::integer: return std::to_string(std::get<std::int64_t>(value));
    case Kind::real: return shortest(std::get<double>(value));
    case Kind::choice:
    case Kind::text: return std::get<std::string>(value);
    case Kind::list: {
      std::string joined;
      for (const std::string& item : std::get<std::vector<std::string>>(value))
        joined.append(joined.empty() ? "" : ",").append(list_item(item));
      return joined;
    }
    case Kind::count_or_share: {
      const auto amount = std::get<CountOrShare>(value);
      return amount.percent > 0.0 ? shortest(amount.percent) + "%" : std::to_string(amount.count);
    }
    case Kind::count_or_all: {
      const auto amount = std::get<CountOrAll>(value);
      return amount.all ? "all" : std::to_string(amount.count);
    }
    case Kind::number_or_file: {
      const auto& held = std::get<NumberOrFile>(value);
      return held.file.empty() ? shortest(held.number) : held.file;
    }
    case Kind::of_field: break;
  }
  throw std::logic_error("a setting of unknown kind");
}

}  // namespace sharpen::settings
