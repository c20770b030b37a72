// The one table of settings. Each row names a setting, its kind, bounds, default and the
// commands that take it; command-line flags, configuration files, --print-config, the checks of
// settings structs and docs/options.md all come from it, so they cannot disagree.
//
// A value comes from the first of: a flag, the configuration file, the default.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::settings {

enum class Kind {
  flag,            // bool: on or off
  integer,         // std::int64_t
  real,            // double
  choice,          // std::string, one of Setting::choices
  text,            // std::string
  list,            // std::vector<std::string>: A,B,C
  count_or_share,  // CountOrShare: 20 or 10%
  count_or_all,    // CountOrAll: 100 or all
};

// Commands as bits, so that a row can name several.
enum Command : unsigned {
  solve = 1u << 0,
  simulate = 1u << 1,
  doctor = 1u << 2,
  backtest = 1u << 3,
  compare = 1u << 4,
  train = 1u << 5,
  predict = 1u << 6,
  inspect = 1u << 7,
  study = 1u << 8,
  report = 1u << 9,
  every_command = ~0u,
};

// Where --help shows a setting, in this order.
enum class Group { input, window, portfolio, learning, market, trading, statistics, running };

struct CommandInfo {
  Command command;
  std::string_view name;
  std::string_view text;
  // Settings that may also be given by position, without their flag; "" for none.
  std::array<std::string_view, 2> positional = {};
  std::string_view example = "";  // a whole command line, for --help
  // Arrays of tables that its configuration file may hold, read by the command itself.
  std::array<std::string_view, 2> tables = {};
};

// [low, high]; an infinite end is open, and `above` makes the lower end open too.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above = false;

  bool hold(double value) const;  // false for NaN and for infinities
  std::string words() const;      // "[0, 1]", "(0, inf)"
};

struct Setting {
  std::string_view name;  // "target-volatility": flag --target-volatility, key target-volatility
  Kind kind;
  std::string_view text;               // one line, no full stop
  std::string_view placeholder = "";   // "FILE", "N": what --help shows for the value
  std::string_view preset = "";        // the default, as it is written on the command line
  std::string_view preset_words = "";  // the default in words, where it depends on other settings
  Bounds bounds = {};                  // for numbers and counts
  std::vector<std::string_view> choices = {};
  unsigned commands = every_command;
  char short_flag = '\0';
  bool in_file = true;  // false for what a configuration file cannot hold
  // Commands whose default is another one.
  unsigned other_commands = 0;
  std::string_view other_preset = "";
  std::string_view other_words = "";  // of their default
  Group group = Group::portfolio;
  std::string_view paper = "";  // the default under --preset paper, where it is another one
  bool numbers = false;         // of a list: a file may hold numbers for its texts

  std::string_view preset_for(Command command) const {
    return (other_commands & command) != 0 ? other_preset : preset;
  }
  std::string_view words_for(Command command) const {
    return (other_commands & command) != 0 ? other_words : preset_words;
  }
};

struct CountOrShare {
  std::int64_t count = 0;  // if percent is 0
  double percent = 0.0;

  // The count among n: a share is rounded half away from zero, and is at least 1. Throws
  // InputError if a count is above n.
  Index of(Index n, std::string_view name) const;
  bool operator==(const CountOrShare&) const = default;
};

struct CountOrAll {
  std::int64_t count = 0;  // if not all
  bool all = false;

  bool operator==(const CountOrAll&) const = default;
};

using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>,
                           CountOrShare, CountOrAll>;

std::span<const Setting> table();
std::string_view name(Group group);  // "Input": a heading of --help
std::span<const CommandInfo> commands();
// The row of that name, the first if commands have rows of their own (study takes lists where
// others take one value); throws std::logic_error if there is none.
const Setting& find(std::string_view name);

// Checks for settings structs: throw InputError("shrinkage = 1.5 is outside [0, 1]"). The second
// narrows the upper bound to what the data allow.
void check(std::string_view name, double value);
void check_count(std::string_view name, std::int64_t value, std::int64_t most);

// Command-line text to a value, and back. Parsing throws InputError naming setting and bound.
Value parse(const Setting& setting, std::string_view text);
std::string write(const Setting& setting, const Value& value);

enum class Origin { none, preset, file, flag };

// The settings of one command. A getter for a name, kind or command that does not exist, or for
// a setting without value, is a mistake of the program: std::logic_error.
class Values {
 public:
  explicit Values(Command command);  // the defaults

  // A key of the file must be a setting of this command, of the right type and in its bounds;
  // else InputError with file, line and remedy. Nothing is changed unless every key is right.
  void read_toml_file(const std::filesystem::path& file);
  void read_toml(std::string_view text, std::string_view file_name);
  void set_flag(std::string_view name, std::string_view text);
  // As a line of a file would have set it; place: "study.toml:7".
  void set_file(std::string_view name, std::string_view text, std::string_view place);
  // Another default, for what neither flag nor file has given.
  void set_default(std::string_view name, std::string_view text);
  // The defaults of --preset paper for what neither flag nor file has given.
  void use_paper_preset();

  Command command() const { return command_; }
  bool takes(std::string_view name) const;
  bool has(std::string_view name) const { return origin(name) != Origin::none; }
  Origin origin(std::string_view name) const;
  // Where the value was given, for messages: "--returns", "returns (solve.toml:3)".
  std::string given_as(std::string_view name) const;
  const std::string& place(std::string_view name) const;  // file:line; "" without
  // The value as set_flag reads it.
  std::string written(std::string_view name) const;

  bool flag(std::string_view name) const { return get<bool>(name); }
  std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  double real(std::string_view name) const { return get<double>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  const std::vector<std::string>& list(std::string_view name) const {
    return get<std::vector<std::string>>(name);
  }
  CountOrShare count_or_share(std::string_view name) const { return get<CountOrShare>(name); }
  CountOrAll count_or_all(std::string_view name) const { return get<CountOrAll>(name); }

  // TOML that read_toml reads back to the same values.
  std::string to_toml() const;

 private:
  struct Entry {
    Value value;
    Origin origin = Origin::none;
    std::string place;  // file:line
  };

  const Entry& entry(std::string_view name) const;
  template <class T>
  const T& get(std::string_view name) const;

  Command command_;
  std::vector<Entry> entries_;  // one per row of table()
};

// docs/options.md.
std::string options_markdown();

}  // namespace sharpen::settings
