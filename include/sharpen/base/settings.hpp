// The one table of settings. Each row names a setting, the fields of structs that it fills, its
// bounds, the commands that take it and what it matters to. Command-line flags, configuration
// files, --print-config, Python's keywords, docs/options.md, the filling of settings structs and
// their checks all come from it; kind, choices and default come from the field itself. So they
// cannot disagree.
//
// A value comes from the first of: a flag, the configuration file, the default. The rows are in
// the folder whose structs they fill: src/*/rows.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "sharpen/base/field.hpp"

namespace sharpen::settings {

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
  merge = 1u << 10,
  every_command = ~0u,
};

// Where --help shows a setting, in this order.
enum class Group { input, window, portfolio, learning, market, trading, statistics, running };
constexpr std::array<std::string_view, 8> names(Group) {
  return {"Input",   "Window",     "Portfolio",         "Learning", "Simulated market",
          "Trading", "Statistics", "Output and running"};
}
constexpr std::string_view name(Group group) { return name_of(group); }

struct CommandInfo {
  Command command;
  std::string_view name;
  std::string_view text;
  std::string_view example;  // a whole command line, for --help
  // Settings that may also be given by position, without their flag; "" for none.
  std::array<std::string_view, 2> positional = {};
  // Arrays of tables that its configuration file may hold, read by the command itself.
  std::array<std::string_view, 2> tables = {};
  // Commands whose configuration files it reads, too: settings of theirs that it does not take are
  // kept for Values::as().
  unsigned also_reads = 0;
};

// [low, high]; an infinite end is open, and `above` makes the lower end open too.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above = false;

  bool hold(double value) const;  // false for NaN and for infinities
  std::string words() const;      // "[0, 1]", "(0, inf)"
};

// What a setting is about, as bits, for those who treat settings by what they mean instead of by
// name. A setting without any matters to everything: a study takes cells that differ in it for
// different ones, until somebody has thought about it.
enum Role : unsigned {
  // How the program runs and answers, and not what it finds.
  of_run = 1u << 0,
  // What is said of a result that is there: its name, and statistics that a study does not keep.
  of_answer = 1u << 1,
  // Stands for other settings.
  shorthand = 1u << 2,
  // A file that is read, and must not be written over.
  input_file = 1u << 3,
  // Which panel, and how it is read; the second for those that change how its numbers look.
  of_panel = 1u << 4,
  of_reading = 1u << 5,
  // Like those of the panel, what every market of a study may have of its own.
  of_market = 1u << 6,
  // What differs from cell to cell of one method.
  of_cell = 1u << 7,
  // What a study has no place for.
  of_one_run = 1u << 8,
  // A list from which a study makes its methods.
  of_methods = 1u << 9,
  // What is done with a signal once it is there.
  after_training = 1u << 10,
  // What a training that only predicts, and stops when told, never looks at.
  of_decisions = 1u << 11,
  // What only the signal depends on, and perfect foresight does not.
  of_signal = 1u << 12,
  // What a soft decision listens to, like the layer that is trained.
  of_layer = 1u << 13,
  // What is refused where no network is trained.
  needs_training = 1u << 14,
  // What means nothing where moments are given instead of a panel.
  needs_panel = 1u << 15,
  // What an optimizer may have no ear for: where expectations come from, how many names are held,
  // how weights are scaled, how risk is measured.
  of_expectations = 1u << 16,
  of_names = 1u << 17,
  of_scale = 1u << 18,
  of_risk = 1u << 19,
  // Read by a command itself: it fills no field.
  steers = 1u << 20,
  // What only optimizers listen to that relax the problem; and what a certificate listens to.
  of_relaxation = 1u << 21,
  of_certificate = 1u << 22,
  // What weights are held to. Those that are texts name a file, which must not be written over, or
  // are what it would say, in lines.
  of_limits = 1u << 23,
  // A text that names a file, which must not be written over, or is what it would say, in lines.
  names_file = 1u << 24,
  // What only optimizers listen to that prove what they found.
  of_proof = 1u << 25,
};

struct Setting {
  std::string_view name = "";      // "cost-bps": flag --cost-bps, key cost-bps, keyword cost_bps
  std::vector<Field> fields = {};  // one of every struct that holds it
  Kind kind = Kind::of_field;
  std::string_view text = "";         // one line, no full stop
  std::string_view placeholder = "";  // "FILE", "N": what --help shows for the value
  // The default as it is written on the command line; "" is that of the first field, unless words
  // say that there is none.
  std::string preset = "";
  std::string_view preset_words = "";  // the default in words, where it depends on other settings
  Bounds bounds = {};                  // for numbers and counts
  std::vector<std::string_view> choices = {};             // none: the names of the first field
  std::vector<std::string_view> (*registry)() = nullptr;  // gives choices that may grow
  unsigned commands = every_command;
  char short_flag = '\0';
  bool in_file = true;  // false for what a configuration file cannot hold
  // Commands whose default is another one.
  unsigned other_commands = 0;
  std::string_view other_preset = "";
  std::string_view other_words = "";  // of their default
  Group group = Group::portfolio;
  std::string_view paper = "";   // the default under --preset paper, where it is another one
  bool numbers = false;          // of a list: a file may hold numbers for its texts
  std::string_view misfit = "";  // of a value that a field cannot hold: what to give instead
  unsigned roles = 0;            // bits of Role
  // Commands of which Python has no such keyword: an argument of its own, or none.
  unsigned shell_only = 0;
  // The value of another setting without which it has no effect: {"sdr-recovery", "match"}.
  std::array<std::string_view, 2> only_with = {};

  bool taken_by(Command command) const { return (commands & command) != 0; }
  bool is(unsigned any_of_roles) const { return (roles & any_of_roles) != 0; }
  template <class Settings>
  bool fills() const {
    return std::ranges::any_of(fields,
                               [](const Field& field) { return *field.owner == typeid(Settings); });
  }
  std::vector<std::string_view> all_choices() const {
    return registry != nullptr ? registry() : choices;
  }
  void leave_out(std::string_view choice) {
    choices = all_choices();
    std::erase(choices, choice);
    registry = nullptr;
  }
  std::string_view preset_for(Command command) const {
    return (other_commands & command) != 0 ? other_preset : std::string_view(preset);
  }
  std::string_view words_for(Command command) const {
    return (other_commands & command) != 0 ? other_words : preset_words;
  }
};

std::span<const Setting> table();
std::span<const CommandInfo> commands();
// The row of that name, the first if commands have rows of their own (study takes lists where
// others take one value); throws std::logic_error if there is none.
const Setting& find(std::string_view name);

// The row of that name that the command takes; nullptr: none.
const Setting* find_for(std::string_view name, Command command);

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
  // As a line of a file would have set it; file_line: "study.toml:7".
  void set_file(std::string_view name, std::string_view text, std::string_view file_line);
  // Another default, for what neither flag nor file has given.
  void set_default(std::string_view name, std::string_view text);
  // As if nobody had given it.
  void forget(std::string_view name);
  // The defaults of --preset paper for what neither flag nor file has given.
  void use_paper_preset();

  Command command() const { return command_; }
  // What flags and files have given, for another command: what that does not take is left out.
  Values as(Command command) const;
  bool takes(std::string_view name) const;
  bool has(std::string_view name) const { return origin(name) != Origin::none; }
  Origin origin(std::string_view name) const;
  // Where the value was given, for messages (error.hpp): "‹--returns›", or
  // "‹returns› (solve.toml:3)".
  std::string given_as(std::string_view name) const;
  const std::string& file_line(std::string_view name) const;  // "study.toml:7"; "" without
  // The value as set_flag reads it.
  std::string written(std::string_view name) const;

  bool flag(std::string_view name) const { return get<bool>(name); }
  std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  double real(std::string_view name) const { return get<double>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  std::optional<std::string> optional_text(std::string_view name) const {
    return has(name) ? std::optional(text(name)) : std::nullopt;
  }
  const std::vector<std::string>& list(std::string_view name) const {
    return get<std::vector<std::string>>(name);
  }
  CountOrShare count_or_share(std::string_view name) const { return get<CountOrShare>(name); }
  CountOrAll count_or_all(std::string_view name) const { return get<CountOrAll>(name); }
  const NumberOrFile& number_or_file(std::string_view name) const {
    return get<NumberOrFile>(name);
  }

  const Value& value(std::string_view name) const { return entry(name).value; }

  // TOML that read_toml reads back to the same values.
  std::string to_toml() const;

 private:
  struct Entry {
    Value value;
    Origin origin = Origin::none;
    std::string file_line;
  };

  const Entry& entry(std::string_view name) const;
  template <class T>
  const T& get(std::string_view name) const;

  Command command_;
  std::vector<Entry> entries_;  // one per row of table()
};

// The fields of a struct from the values of a command; what has no value is left as it is. Throws
// InputError for a value that a field cannot hold.
void fill(const Values& values, const std::type_info& type, void* out);
template <class Settings>
void fill(const Values& values, Settings& out) {
  fill(values, typeid(Settings), &out);
}

// The fields of a struct against the bounds of their rows, as check() does. Where a row has no
// default, the initial value of its field stands for none.
void check(const std::type_info& type, const void* settings);
template <class Settings>
void check(const Settings& settings) {
  check(typeid(Settings), &settings);
}

// docs/options.md.
std::string options_markdown();

}  // namespace sharpen::settings
