// What a model file holds, as JSON (docs/json.md).
#include "sharpen/command/inspect.hpp"

#include <fmt/format.h>

#include "command/json_text.hpp"
#include "command/model_settings.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::command {

using learn::Model;
using learn::ModelFile;

namespace {

std::string setting_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return shortest(value.get<double>());
  if (!value.is_array()) return value.dump();
  std::string out;
  for (const Json& item : value) out.append(out.empty() ? "" : ",").append(item.dump());
  return out.empty() ? "none" : out;
}

}  // namespace

std::string_view framework_of(const Model& model) {
  return model.settings.alpha == 0.0 ? "pfl" : "dfl";
}

std::string checksum_text(const ModelFile& file) { return fmt::format("{:08x}", file.checksum); }

std::size_t parameters_of(const Model& model) {
  return model.members.front().network.parameters.size();
}

std::vector<std::pair<std::string, std::string>> settings_of(const Model& model) {
  std::vector<std::pair<std::string, std::string>> out;
  const Json settings = model_settings(model);
  for (const auto& [name, value] : settings.items()) out.emplace_back(name, setting_text(value));
  return out;
}

std::string model_json(const Model& model) {
  Json out;
  out["n"] = model.n();
  out["assets"] = model.tickers;
  out["from"] = model.first_date;
  out["to"] = model.last_date;
  out["samples"] = model.samples;
  out["validation_samples"] = model.validation_samples;
  out["validation_from"] =
      model.validation_from.empty() ? Json(nullptr) : Json(model.validation_from);
  out["periods_per_year"] = model.periods_per_year;
  out["parameters"] = model.settings.shape(model.n()).parameters();
  out["members"] = Json::array();
  for (const learn::Member& member : model.members)
    out["members"].push_back(member_json(model, member));
  out["settings"] = model_settings(model);
  return json_text(out);
}

std::string inspection_json(const ModelFile& file, const std::string& path) {
  const Model& model = file.model;
  Json out;
  out["schema_version"] = kSchemaVersion;
  out["command"] = "inspect";
  out["model"] = path;
  out["format_version"] = file.format_version;
  out["program_version"] = file.program_version;
  out["bytes"] = file.bytes;
  out["checksum"] = checksum_text(file);
  out["framework"] = framework_of(model);
  out["n"] = model.n();
  out["k"] = model.settings.k.of(model.n(), "k");
  out["tickers"] = model.tickers;
  out["from"] = model.first_date;
  out["to"] = model.last_date;
  out["samples"] = model.samples;
  out["validation_samples"] = model.validation_samples;
  out["validation_from"] =
      model.validation_from.empty() ? Json(nullptr) : Json(model.validation_from);
  out["periods_per_year"] = model.periods_per_year;
  out["parameters"] = parameters_of(model);
  out["members"] = Json::array();
  for (const learn::Member& member : model.members)
    out["members"].push_back(member_json(model, member));
  out["settings"] = model_settings(model);
  out["warnings"] = Json::array();
  return json_text(out);
}

}  // namespace sharpen::command
