// The answer of `sharpen train --json`.
#include "command/json_keys.hpp"
#include "command/model_settings.hpp"
#include "sharpen/command/train.hpp"

namespace sharpen::command {

namespace {

Keys<TrainAnswer> train_keys() {
  Keys<TrainAnswer> keys = head<TrainAnswer>("train", "`train`");
  append<TrainAnswer>(
      keys,
      {{"out", "the model file", [](auto& a) { return a.values.text("out"); }},
       {"framework", "`pfl` or `dfl`", [](auto& a) { return a.values.text("framework"); }},
       {"preset", "`default` or `paper`", [](auto& a) { return a.values.text("preset"); }},
       {"n", "assets, and most names to hold", [](auto& a) { return a.model.n(); }},
       {"k", "", [](auto& a) { return a.model.settings.k.of(a.model.n(), "k"); }},
       {"alpha", "weight of the decision loss; 0 for `pfl`",
        [](auto& a) { return a.model.settings.alpha; }},
       {"network", "`joint` or `shared`, and the parameters of one member",
        [](auto& a) { return name(a.model.settings.network); }},
       {"parameters", "", [](auto& a) { return a.model.settings.shape(a.model.n()).parameters(); }},
       {"from", "first and last date of the returns, validation included",
        [](auto& a) { return a.model.first_date; }},
       {"to", "", [](auto& a) { return a.model.last_date; }},
       {"samples", "samples that train, and that validate",
        [](auto& a) { return a.model.samples; }},
       {"validation_samples", "", [](auto& a) { return a.model.validation_samples; }},
       {"validation_from", "date of the first validated period; null without validation",
        [](auto& a) { return text_or_null(a.model.validation_from); }},
       list<TrainAnswer>("members", "one object per member",
                         member_keys("epochs run, and the one that was kept",
                                     "decision loss of the kept epoch; null without validation",
                                     "likewise; they chose the epoch, and flatter"),
                         [](auto& a) { return members_of(a.model); }),
       {"seed", "as given", [](auto& a) { return a.model.settings.seed; }},
       {"seconds", "time taken", &TrainAnswer::seconds},
       {"warnings", "list of texts", &TrainAnswer::warnings}});
  return keys;
}

// Its keys are listed in words.
Keys<PlannedTraining> plan_keys() {
  Keys<PlannedTraining> keys = head<PlannedTraining>("train", "");
  append<PlannedTraining>(
      keys, {{"dry_run", "", [](auto&) { return true; }},
             {"samples", "", [](auto& p) { return p.plan.samples; }},
             {"validation_samples", "", [](auto& p) { return p.plan.validation_samples; }},
             {"batches_per_epoch", "", [](auto& p) { return p.plan.batches; }},
             {"parameters", "", [](auto& p) { return p.plan.parameters; }},
             {"members", "", [](auto& p) { return p.settings.ensemble; }},
             {"epochs_at_most", "", [](auto& p) { return p.settings.epochs; }},
             {"minutes_at_most", "", [](auto& p) { return p.plan.minutes; }},
             {"gigabytes", "", [](auto& p) { return p.plan.gigabytes; }},
             {"warnings", "", [](auto&) { return Json::array(); }}});
  return keys;
}

}  // namespace

std::string train_json(const TrainAnswer& answer) {
  static const Keys<TrainAnswer> keys = train_keys();
  return json_text(json_of(keys, answer));
}

std::string plan_json(const PlannedTraining& planned) {
  static const Keys<PlannedTraining> keys = plan_keys();
  return json_text(json_of(keys, planned));
}

Section train_section() {
  return {"train",
          {"",
           "With `--dry-run`: `schema_version`, `command`, `dry_run` (true), `samples`, "
           "`validation_samples`,\n`batches_per_epoch`, `parameters`, `members`, "
           "`epochs_at_most`, `minutes_at_most`, `gigabytes`,\n`warnings`."},
          listed(train_keys())};
}

}  // namespace sharpen::command
