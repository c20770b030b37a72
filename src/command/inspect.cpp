// What a model file holds.
#include "sharpen/command/inspect.hpp"

#include <fmt/format.h>

#include "command/json_keys.hpp"
#include "command/model_settings.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/learn/framework.hpp"

namespace sharpen::command {

using learn::Model;

namespace {

std::string setting_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return shortest(value.get<double>());
  if (!value.is_array()) return value.dump();
  std::string out;
  for (const Json& item : value) out.append(out.empty() ? "" : ",").append(item.dump());
  return out.empty() ? "none" : out;
}

// What is known of a model without its file.
Keys<Model> model_keys() {
  return {
      {"n", "number of assets, and names to hold among them", &Model::n},
      {"k", "", [](auto& m) { return m.settings.k.of(m.n(), "k"); }},
      {"tickers", "the assets, in the model's order", &Model::tickers},
      {"from", "first and last date of the returns it has seen, validation included",
       &Model::first_date},
      {"to", "", &Model::last_date},
      {"samples", "samples it was trained and validated on", &Model::samples},
      {"validation_samples", "", &Model::validation_samples},
      {"validation_from", "first date of the validation; `null` without one",
       [](auto& m) { return text_or_null(m.validation_from); }},
      {"periods_per_year", "the number used to annualise", &Model::periods_per_year},
      {"parameters", "of one member", parameters_of},
      list<Model>("members", "the networks",
                  member_keys("epochs run, and the one whose parameters were kept",
                              "decision loss of that epoch; `null` without validation",
                              "Sharpe ratio of the validation, per period and a year; it chose the "
                              "epoch and flatters"),
                  members_of),
      {"settings", "every setting of the training, under the name of its flag", model_settings},
  };
}

Keys<Inspection> inspect_keys() {
  Keys<Inspection> keys = head<Inspection>("inspect", "`inspect`");
  append<Inspection>(
      keys, {{"model", "the file", &Inspection::path},
             {"format_version", "version of the file's format",
              [](auto& i) { return i.file.format_version; }},
             {"program_version", "version of the Sharpen that wrote it",
              [](auto& i) { return i.file.program_version; }},
             {"bytes", "its size", [](auto& i) { return i.file.bytes; }},
             {"checksum", "its CRC-32, eight hexadecimal digits", &Inspection::checksum},
             {"framework", "`pfl` for a model trained on predictions only (`alpha` 0), else `dfl`",
              [](auto& i) { return framework_of(i.file.model); }}});
  for (const Key<Model>& key : model_keys())
    keys.push_back({key.name, key.meaning,
                    [value = key.value](const Inspection& i) { return value(i.file.model); },
                    key.part, key.inside});
  keys.push_back({"warnings", kWarningsMeaning, [](auto&) { return Json::array(); }});
  return keys;
}

}  // namespace

std::string_view framework_of(const Model& model) {
  return learn::framework_of(model.settings.alpha).name;
}

std::size_t parameters_of(const Model& model) {
  return model.members.front().network.parameters.size();
}

std::vector<std::pair<std::string, std::string>> settings_of(const Model& model) {
  std::vector<std::pair<std::string, std::string>> out;
  const Json settings = model_settings(model);
  for (const auto& [name, value] : settings.items()) out.emplace_back(name, setting_text(value));
  return out;
}

std::string Inspection::checksum() const { return fmt::format("{:08x}", file.checksum); }

Inspection inspect_answer(const settings::Values& values) {
  if (!values.has("model"))
    throw InputError("no model given; write ‹sharpen inspect› model.sharpen");
  const std::string& path = values.text("model");
  return {path, learn::read_model_file(path)};
}

std::string model_json(const Model& model) {
  static const Keys<Model> keys = model_keys();
  return json_text(json_of(keys, model));
}

std::string inspect_json(const Inspection& inspection) {
  static const Keys<Inspection> keys = inspect_keys();
  return json_text(json_of(keys, inspection));
}

Section inspect_section() { return {"inspect", {""}, listed(inspect_keys())}; }

}  // namespace sharpen::command
