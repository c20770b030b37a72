#include <fmt/format.h>

#include <stdexcept>

#include "base/csv.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::settings {

namespace {

// Of the rows of that name the one that the command takes, or else the first.
const Setting& row_for(std::string_view name, Command command) {
  const Setting* row = find_for(name, command);
  return row != nullptr ? *row : find(name);
}

std::size_t row_of(std::string_view name, Command command) {
  return static_cast<std::size_t>(&row_for(name, command) - table().data());
}

// The number that bounds are about; nothing for other values, and for shares and all.
std::optional<double> number_in(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* amount = std::get_if<CountOrAll>(&value))
    if (!amount->all) return static_cast<double>(amount->count);
  return std::nullopt;
}

}  // namespace

Values::Values(Command command) : command_(command), entries_(table().size()) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Setting& setting = table()[i];
    const std::string_view preset = setting.preset_for(command);
    if ((setting.commands & command) == 0 || preset.empty()) continue;
    entries_[i] = {parse(setting, preset), Origin::preset, ""};
  }
}

void Values::set_flag(std::string_view name, std::string_view text) {
  const Setting& setting = row_for(name, command_);
  if (!takes(name)) throw std::logic_error(std::string(name) + " is not taken by this command");
  entries_[row_of(name, command_)] = {parse(setting, text), Origin::flag, ""};
}

void Values::set_file(std::string_view name, std::string_view text, std::string_view file_line) {
  set_flag(name, text);
  Entry& entry = entries_[row_of(name, command_)];
  entry.origin = Origin::file;
  entry.file_line = file_line;
}

void Values::set_default(std::string_view name, std::string_view text) {
  Entry& entry = entries_[row_of(name, command_)];
  if (entry.origin == Origin::none || entry.origin == Origin::preset)
    entry = {parse(row_for(name, command_), text), Origin::preset, ""};
}

void Values::forget(std::string_view name) {
  const std::size_t row = row_of(name, command_);
  entries_[row] = Values(command_).entries_[row];
}

Values Values::as(Command command) const {
  Values out(command);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Setting& setting = table()[i];
    const bool given = entries_[i].origin == Origin::flag || entries_[i].origin == Origin::file;
    if (given && find_for(setting.name, command) != nullptr)
      out.entries_[row_of(setting.name, command)] = entries_[i];
  }
  return out;
}

void Values::use_paper_preset() {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Setting& setting = table()[i];
    if ((setting.commands & command_) == 0 || setting.paper.empty()) continue;
    const Origin origin = entries_[i].origin;  // none: what is otherwise left open
    if (origin == Origin::preset || origin == Origin::none)
      entries_[i] = {parse(setting, setting.paper), Origin::preset, ""};
  }
}

bool Values::takes(std::string_view name) const {
  return row_for(name, command_).taken_by(command_);
}

std::string Values::written(std::string_view name) const {
  return write(row_for(name, command_), entry(name).value);
}

const std::string& Values::file_line(std::string_view name) const {
  return entries_[row_of(name, command_)].file_line;
}

Origin Values::origin(std::string_view name) const {
  return entries_[row_of(name, command_)].origin;
}

std::string Values::given_as(std::string_view name) const {
  const Entry& given = entries_[row_of(name, command_)];
  if (given.origin == Origin::file) return reference(name) + " (" + given.file_line + ")";
  return reference(std::string(name.size() == 1 ? "-" : "--").append(name));
}

const Values::Entry& Values::entry(std::string_view name) const {
  const Entry& found = entries_[row_of(name, command_)];
  if (found.origin == Origin::none)
    throw std::logic_error("the setting " + std::string(name) + " has no value");
  return found;
}

template <class T>
const T& Values::get(std::string_view name) const {
  const T* value = std::get_if<T>(&entry(name).value);
  if (value == nullptr)
    throw std::logic_error("the setting " + std::string(name) + " is of another kind");
  return *value;
}

template const bool& Values::get<bool>(std::string_view) const;
template const std::int64_t& Values::get<std::int64_t>(std::string_view) const;
template const double& Values::get<double>(std::string_view) const;
template const std::string& Values::get<std::string>(std::string_view) const;
template const std::vector<std::string>& Values::get<std::vector<std::string>>(
    std::string_view) const;
template const CountOrShare& Values::get<CountOrShare>(std::string_view) const;
template const CountOrAll& Values::get<CountOrAll>(std::string_view) const;
template const NumberOrFile& Values::get<NumberOrFile>(std::string_view) const;

std::optional<Value> Held<std::vector<Index>>::show(const std::vector<Index>& held) {
  std::vector<std::string> texts;
  for (const Index each : held) texts.push_back(std::to_string(each));
  return Held<std::vector<std::string>>::show(texts);
}

void Held<std::vector<Index>>::read(const Value& value, std::vector<Index>& out) {
  out.clear();
  for (const std::string& text : std::get<std::vector<std::string>>(value)) {
    const std::optional<Index> number = number_from<Index>(text);
    if (!number || *number < 1) throw Misfit{text};
    out.push_back(*number);
  }
}

void fill(const Values& values, const std::type_info& type, void* out) {
  for (const Setting& setting : table()) {
    if (!setting.taken_by(values.command()) || !values.has(setting.name)) continue;
    for (const Field& field : setting.fields) {
      if (*field.owner != type) continue;
      try {
        field.set(out, values.value(setting.name));
      } catch (const Misfit& misfit) {
        throw InputError(fmt::format("{} = {}: {}", values.given_as(setting.name),
                                     printable(misfit.part),
                                     misfit.why.empty() ? setting.misfit : misfit.why));
      }
    }
  }
}

void check(const std::type_info& type, const void* settings) {
  for (const Setting& setting : table())
    for (const Field& field : setting.fields) {
      if (*field.owner != type) continue;
      const std::optional<Value> value = field.get(settings);
      const bool none = !value || (setting.preset.empty() && value == field.initial);
      if (const std::optional<double> number = none ? std::nullopt : number_in(*value))
        check(setting.name, *number);
    }
}

}  // namespace sharpen::settings
