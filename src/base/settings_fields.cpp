// From values to the fields of structs, and the bounds of these.
#include <fmt/format.h>

#include <charconv>

#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::settings {

namespace {

// The number that bounds are about; nothing for other values, and for shares and all.
std::optional<double> number_in(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* amount = std::get_if<CountOrAll>(&value))
    if (!amount->all) return static_cast<double>(amount->count);
  return std::nullopt;
}

}  // namespace

std::optional<Value> Held<std::vector<Index>>::show(const std::vector<Index>& held) {
  std::vector<std::string> texts;
  for (const Index each : held) texts.push_back(std::to_string(each));
  return Held<std::vector<std::string>>::show(texts);
}

void Held<std::vector<Index>>::read(const Value& value, std::vector<Index>& out) {
  out.clear();
  for (const std::string& text : std::get<std::vector<std::string>>(value)) {
    Index number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 1) throw Misfit{text};
    out.push_back(number);
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
                                     printable(misfit.part), setting.misfit));
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
