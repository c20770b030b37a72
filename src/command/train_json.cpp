// The answer of `sharpen train`, as JSON (docs/json.md).
#include "command/json_text.hpp"
#include "command/model_settings.hpp"
#include "sharpen/command/train.hpp"

namespace sharpen::command {

std::string train_json(const TrainAnswer& answer) {
  const learn::Model& model = answer.model;
  const learn::TrainSettings& settings = model.settings;
  Json out;
  out["schema_version"] = kSchemaVersion;
  out["command"] = "train";
  out["out"] = answer.values.text("out");
  out["framework"] = answer.values.text("framework");
  out["preset"] = answer.values.text("preset");
  out["n"] = model.n();
  out["k"] = settings.k.of(model.n(), "k");
  out["alpha"] = settings.alpha;
  out["network"] = name(settings.network);
  out["parameters"] = settings.shape(model.n()).parameters();
  out["from"] = model.first_date;
  out["to"] = model.last_date;
  out["samples"] = model.samples;
  out["validation_samples"] = model.validation_samples;
  out["validation_from"] =
      model.validation_from.empty() ? Json(nullptr) : Json(model.validation_from);
  out["members"] = Json::array();
  for (const learn::Member& member : model.members)
    out["members"].push_back(member_json(model, member));
  out["seed"] = settings.seed;
  out["seconds"] = answer.seconds;
  out["warnings"] = answer.warnings;
  return json_text(out);
}

std::string plan_json(const learn::TrainingPlan& plan, const learn::TrainSettings& settings) {
  Json out;
  out["schema_version"] = kSchemaVersion;
  out["command"] = "train";
  out["dry_run"] = true;
  out["samples"] = plan.samples;
  out["validation_samples"] = plan.validation_samples;
  out["batches_per_epoch"] = plan.batches;
  out["parameters"] = plan.parameters;
  out["members"] = settings.ensemble;
  out["epochs_at_most"] = settings.epochs;
  out["minutes_at_most"] = plan.minutes;
  out["gigabytes"] = plan.gigabytes;
  out["warnings"] = Json::array();
  return json_text(out);
}

}  // namespace sharpen::command
