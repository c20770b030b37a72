// Configuration files: one TOML key per setting, at the top level.
#include "base/settings_toml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <optional>
#include <system_error>

#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::settings {

namespace {

constexpr std::size_t kDeepest = 8;  // no setting is more than three deep

// One past the end of the string that opens at `begin`, or of its line where it is not closed.
std::size_t string_end(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const std::string three(3, quote);
  const bool many_lines = text.substr(begin, 3) == three;
  for (std::size_t i = begin + (many_lines ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (!many_lines && (text[i] == quote || text[i] == '\n')) {
      return text[i] == quote ? i + 1 : i;
    } else if (many_lines && text.substr(i, 3) == three) {
      // Up to two quotes before the closing three belong to the string.
      const std::size_t most = std::min(text.size(), i + 5);
      for (i += 3; i < most && text[i] == quote;) ++i;
      return i;
    }
  }
  return text.size();
}

// The parser calls itself for every level, and a key a.a.a… has as many as dots: what is too deep
// must not reach it. Up to the first error that the parser stops at, this sees what it sees.
void refuse_depth(std::string_view text, std::string_view file_name) {
  constexpr std::string_view kBetween = "\n=,[]{}";  // what a key cannot go beyond
  std::size_t line = 1, brackets = 0, dots = 0;
  char before = '\n';  // the last that is no space
  bool spaced = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#') i = std::min(text.find('\n', i), text.size());
    if (i == text.size()) break;
    if (text[i] == '"' || text[i] == '\'') {
      const std::size_t end = string_end(text, i);
      line += static_cast<std::size_t>(std::count(&text[i], text.data() + end, '\n'));
      i = end - 1;
      before = text[i];
      spaced = false;
      continue;
    }
    const char c = text[i];
    const bool space = c == ' ' || c == '\t';
    // Two words without a dot between them are no key: [0.1 0.2].
    if (spaced && !space && c != '.' && before != '.') dots = 0;
    spaced = space;
    if (!space) before = c;
    if (c == '\n') ++line;
    if (c == '[' || c == '{') ++brackets;
    if ((c == ']' || c == '}') && brackets > 0) --brackets;
    if (c == '.') ++dots;
    if (kBetween.find(c) != std::string_view::npos) dots = 0;
    if (dots >= kDeepest)
      throw InputError(fmt::format(
          "{}:{}: a key of more than {} parts; put the keys at the top level, without dots",
          file_name, line, kDeepest));
    if (brackets > kDeepest)
      throw InputError(fmt::format(
          "{}:{}: brackets more than {} deep; write a list as [1, 2] and a table as [[market]]",
          file_name, line, kDeepest));
  }
}

}  // namespace

std::string toml_shown(const toml::node& node) {
  if (const auto real = node.value_exact<double>()) {
    const std::string text = shortest(*real);
    return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
  }
  std::ostringstream out;
  node.visit([&](const auto& value) { out << value; });
  return printable(out.str());
}

namespace {

std::string_view expected(const Setting& setting) {
  if (setting.numbers)
    return setting.name == "k" ? "a list, [1, \"10%\"]" : "a list, [1, 2] or [\"1\", \"2\"]";
  switch (setting.kind) {
    case Kind::flag: return "true or false";
    case Kind::integer: return "a whole number";
    case Kind::real: return "a number";
    case Kind::choice:
    case Kind::text: return "a text in quotes";
    case Kind::list: return "a list of texts in quotes, [\"A\", \"B\"]";
    case Kind::count_or_share: return "a whole number, or a share in quotes such as \"10%\"";
    case Kind::count_or_all: return "a whole number, or \"all\"";
    case Kind::number_or_file: return "a number, or a file in quotes";
    case Kind::of_field: break;
  }
  return "another type";
}

// "must be a whole number": what is wrong with a value of another type, and what to write.
std::string type_fault(const Setting& setting, const toml::node& node) {
  std::string fault = fmt::format("{} = {} must be {}", reference(setting.name), toml_shown(node),
                                  expected(setting));
  const bool counts = setting.kind == Kind::integer || setting.kind == Kind::count_or_share ||
                      setting.kind == Kind::count_or_all;
  const auto real = node.value_exact<double>();
  if (counts && real && *real == std::floor(*real) && std::abs(*real) < 1e15)
    fault += fmt::format("; write {:.0f}", *real);
  if (setting.kind == Kind::text && node.is_number())
    fault += fmt::format("; write \"{}\"", toml_shown(node));
  return fault;
}

// A number as it is written on the command line, where a list may hold some.
std::optional<std::string> item_text(const toml::node& item, bool numbers) {
  if (numbers && item.is_integer()) return std::to_string(item.value_or(std::int64_t{0}));
  if (numbers && item.is_floating_point()) return shortest(item.value_or(0.0));
  return item.value_exact<std::string>();
}

std::optional<std::vector<std::string>> texts_of(const toml::array& array, bool numbers) {
  std::vector<std::string> texts;
  for (const toml::node& item : array) {
    const auto text = item_text(item, numbers);
    if (!text || text->empty() || text->find('\0') != std::string::npos) return std::nullopt;
    texts.push_back(*text);
  }
  if (texts.empty()) return std::nullopt;
  return texts;
}

// A node of the right TOML type as a value; nothing if the type is wrong.
std::optional<Value> value_of(const Setting& setting, const toml::node& node) {
  const auto text = node.value_exact<std::string>();
  const auto whole = node.value_exact<std::int64_t>();
  const auto real = node.value_exact<double>();
  const auto as_text = [&](const auto& number) { return parse(setting, fmt::to_string(number)); };
  switch (setting.kind) {
    case Kind::flag:
      if (const auto on = node.value_exact<bool>()) return *on;
      break;
    case Kind::integer:
      if (whole) return as_text(*whole);
      break;
    case Kind::real:
      if (whole) return as_text(*whole);
      if (real) return parse(setting, shortest(*real));
      break;
    case Kind::choice:
      if (text) return parse(setting, *text);
      break;
    case Kind::text:
      if (text) return parse(setting, *text);
      if (node.is_date()) return toml_shown(node);  // from = 2020-01-31, without quotes
      break;
    case Kind::list:
      if (text) return parse(setting, *text);
      if (setting.numbers && node.is_number()) return parse(setting, *item_text(node, true));
      if (const toml::array* array = node.as_array())
        if (auto texts = texts_of(*array, setting.numbers)) return *std::move(texts);
      break;
    case Kind::count_or_share:
    case Kind::count_or_all:
      if (whole) return as_text(*whole);
      if (text) return parse(setting, *text);
      break;
    case Kind::number_or_file:
      if (whole) return as_text(*whole);
      if (real) return parse(setting, shortest(*real));
      if (text) return parse(setting, *text);
      break;
    case Kind::of_field: break;
  }
  return std::nullopt;
}

// Whether the command reads arrays of tables of that name itself.
bool names_tables(std::string_view key, Command command) {
  for (const CommandInfo& info : commands())
    if (info.command == command)
      for (const std::string_view name : info.tables)
        if (!name.empty() && name == key) return true;
  return false;
}

// The row that a key of the file means.
const Setting& setting_for(std::string_view key, const toml::node& node, const Values& values) {
  if (names_tables(key, values.command()))
    throw InputError(fmt::format("{} is a list of tables; begin each with [[{}]]", key, key));
  if (node.is_table() || node.is_array_of_tables())
    throw InputError(printable(key) +
                     " is a table; put the keys at the top level, without a [header]");
  std::vector<std::string_view> known;
  for (const Setting& setting : table()) {
    if ((setting.commands & values.command()) == 0 || !setting.in_file) continue;
    if (setting.name == key) return setting;
    known.push_back(setting.name);
  }
  for (const CommandInfo& info : commands())
    for (const Setting& setting : table())
      if (info.command == values.command() &&
          setting.taken_by(static_cast<Command>(info.also_reads)) && setting.in_file &&
          setting.name == key)
        return setting;
  std::string reason = "is not a setting of this command";
  for (const Setting& setting : table())
    if (setting.name == key && !setting.in_file) reason = "can only be given as a flag";
  throw InputError(printable(key) + " " + reason + did_you_mean(key, known));
}

// What stands between the quotes; `breaks`: lines are kept as they are.
std::string toml_escaped(std::string_view name, std::string_view text, bool breaks) {
  if (!is_utf8(text))
    throw InputError(fmt::format("{} = {} is not UTF-8 and cannot be written to a TOML file",
                                 reference(name), printable(text)));
  std::string out;
  for (const char c : text) {
    if (breaks && c == '\n') {
      out += c;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return json_escaped(out);  // TOML writes what steers a terminal as JSON does
}

}  // namespace

toml::table parse_toml(std::string_view text, std::string_view file_name, std::size_t largest) {
  if (text.size() > largest)
    throw InputError(
        fmt::format("{}: larger than {} MiB, which no configuration file is; leave "
                    "out what is not a setting",
                    file_name, largest >> 20));
  refuse_depth(text, file_name);
  try {
    return toml::parse(text, file_name);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    throw InputError(fmt::format("{}:{}:{}: not valid TOML: {}", file_name, at.line, at.column,
                                 printable(error.description(), 400)));
  }
}

std::vector<TomlLine> toml_lines(const toml::table& table) {
  std::vector<TomlLine> lines;
  for (const auto& [key, node] : table)
    lines.push_back({key.source().begin.line, key.str(), &node});
  std::sort(lines.begin(), lines.end(), [](const TomlLine& a, const TomlLine& b) {
    return std::pair(a.number, a.key) < std::pair(b.number, b.key);
  });
  return lines;
}

Value toml_value(const Setting& setting, const toml::node& node) {
  auto value = value_of(setting, node);
  if (!value) throw InputError(type_fault(setting, node));
  return *std::move(value);
}

std::string toml_string(std::string_view name, std::string_view text) {
  return '"' + toml_escaped(name, text, false) + '"';
}

std::string toml_text(const Setting& setting, const Value& value) {
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    std::string out;
    for (const std::string& text : *texts)
      out.append(out.empty() ? "" : ", ").append(toml_string(setting.name, text));
    return "[" + out + "]";
  }
  const auto* share = std::get_if<CountOrShare>(&value);
  const auto* count = std::get_if<CountOrAll>(&value);
  const auto* file = std::get_if<NumberOrFile>(&value);
  // The text of a file is easier to read in lines; TOML drops the break behind the quotes.
  if (file != nullptr && file->file.find('\n') != std::string::npos)
    return "\"\"\"\n" + toml_escaped(setting.name, file->file, true) + "\"\"\"";
  const bool quoted = std::holds_alternative<std::string>(value) ||
                      (share != nullptr && share->percent > 0.0) ||
                      (count != nullptr && count->all) || (file != nullptr && !file->file.empty());
  const std::string text = write(setting, value);
  return quoted ? toml_string(setting.name, text) : text;
}

void Values::read_toml(std::string_view text, std::string_view file_name) {
  const toml::table file = parse_toml(text, file_name);
  std::vector<Entry> entries = entries_;
  for (const TomlLine& line : toml_lines(file)) {
    if (line.node->is_array_of_tables() && names_tables(line.key, command_)) continue;
    const std::string file_line = fmt::format("{}:{}", file_name, line.number);
    try {
      const Setting& setting = setting_for(line.key, *line.node, *this);
      entries[static_cast<std::size_t>(&setting - table().data())] = {
          toml_value(setting, *line.node), Origin::file, file_line};
    } catch (const InputError& error) {
      throw InputError(file_line + ": " + error.marked());
    }
  }
  entries_ = std::move(entries);
}

std::string read_configuration(const std::filesystem::path& file) {
  const std::string file_name = printable(file.string(), 400);
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    throw InputError(file_name + ": is a folder, not a configuration file");
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw InputError(file_name + ": cannot open the configuration file: " +
                     std::generic_category().message(errno != 0 ? errno : EIO) +
                     "; check the path and its permissions");
  std::string text(kLargestFile + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) throw InputError(file_name + ": cannot read the configuration file");
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;  // parse_toml() refuses what has been cut
}

void Values::read_toml_file(const std::filesystem::path& file) {
  read_toml(read_configuration(file), printable(file.string(), 400));
}

std::string Values::to_toml() const {
  std::string out;
  for (const CommandInfo& info : commands())
    if (info.command == command_) out += fmt::format("# Settings of `sharpen {}`.\n", info.name);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Setting& setting = table()[i];
    if ((setting.commands & command_) == 0 || !setting.in_file) continue;
    const Entry& given = entries_[i];
    if (given.origin != Origin::none) {
      out += fmt::format("{} = {}\n", setting.name, toml_text(setting, given.value));
    } else {
      const std::string_view words = setting.words_for(command_);
      out +=
          fmt::format("# {} is not set: {}\n", setting.name, words.empty() ? "none" : plain(words));
    }
  }
  return out;
}

}  // namespace sharpen::settings
