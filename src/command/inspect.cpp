// What a model file holds.
#include "sharpen/command/inspect.hpp"

#include <fmt/format.h>

#include <cmath>

#include "command/json_keys.hpp"
#include "command/model_settings.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/command/solve.hpp"
#include "sharpen/learn/framework.hpp"
#include "sharpen/solve/registry.hpp"

namespace sharpen::command {

using learn::Model;

namespace {

using settings::Origin;

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
      {"k", "", [](auto& m) { return m.settings.mandate.k.of(m.n(), "k"); }},
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
                              "decision loss of the ensemble in that epoch, after costs (of the "
                              "member, before version 3 of the format); `null` without validation",
                              "Sharpe ratio of the validation, per period and a year; it chose the "
                              "epoch and flatters"),
                  members_of),
      {"settings", "every setting of the training, under the name of its flag", model_settings},
  };
}

Keys<Inspection> inspect_keys() {
  Keys<Inspection> of_model;
  for (const Key<Model>& key : model_keys())
    of_model.push_back({key.name, key.meaning,
                        [value = key.value](const Inspection& i) { return value(i.file.model); },
                        key.part, key.inside});
  return answer_keys<Inspection>(
      "inspect", "`inspect`",
      {{{"model", "the file", &Inspection::path},
        {"format_version", "version of the file's format",
         [](auto& i) { return i.file.format_version; }},
        {"program_version", "version of the Sharpen that wrote it",
         [](auto& i) { return i.file.program_version; }},
        {"bytes", "its size", [](auto& i) { return i.file.bytes; }},
        {"checksum", "its CRC-32, eight hexadecimal digits", &Inspection::checksum},
        {"framework", "`pfl` for a model trained on predictions only (`alpha` 0), else `dfl`",
         [](auto& i) { return framework_of(i.file.model); }}},
       of_model,
       {{"warnings", kWarningsMeaning, [](auto&) { return Json::array(); }}}});
}

Json count_or_share(const settings::CountOrShare& k) {
  return k.percent > 0.0 ? Json(shortest(k.percent) + "%") : Json(k.count);
}

}  // namespace

std::string flag_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number_float()) return shortest(value.get<double>());
  if (!value.is_array()) return value.dump();
  std::string out;
  for (const Json& item : value) out += (out.empty() ? "" : ",") + flag_text(item);
  return out;
}

namespace {

bool same_number(const settings::Values& values, std::string_view name, double value) {
  return std::abs(values.real(name) - value) <= 1e-12 * std::abs(value);
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
  for (const auto& [name, value] : settings.items())
    out.emplace_back(
        name, name.ends_with("cost-bps") ? few_decimals(value.get<double>()) : setting_text(value));
  return out;
}

std::string Inspection::checksum() const { return fmt::format("{:08x}", file.checksum); }

Inspection inspect_answer(const settings::Values& values) {
  if (!values.has("model"))
    throw InputError("no model given; write ‹sharpen inspect› model.sharpen");
  const std::string& path = values.text("model");
  return {path, learn::read_model_file(path)};
}

std::string model_json(const Model& model) { return json_text<model_keys>(model); }

std::string inspect_json(const Inspection& inspection) {
  return json_text<inspect_keys>(inspection);
}

Section inspect_section() { return {"inspect", {""}, listed(inspect_keys())}; }

Json model_settings(const learn::Model& model) {
  const learn::TrainSettings& s = model.settings;
  Json out;
  out["network"] = name_of(s.network);
  out["inputs"] = name_of(s.inputs);
  out["hidden"] = s.hidden;
  out["lookback"] = s.lookback;
  out["alpha"] = s.alpha;
  out["mixing"] = name_of(s.mixing);
  out["decision-loss"] = name_of(s.decision_loss);
  out["prediction-loss"] = name_of(s.prediction_loss);
  out["horizon"] = s.horizon;
  out["warm-start"] = s.warm_start;
  out["k"] = count_or_share(s.mandate.k);
  out["beta"] = s.layer.beta;
  out["beta-final"] = s.beta_final > 0.0 ? s.beta_final : s.layer.beta;
  out["score"] = name_of(s.layer.score);
  out["raw-score"] = s.layer.raw_score;
  out["reoptimization"] = name_of(s.layer.reoptimization);
  out["topk"] = name_of(s.layer.topk);
  out["sizing"] = name_of(s.mandate.sizing.kind);
  out["offset"] = s.mandate.sizing.offset;
  out["target-volatility"] = s.mandate.sizing.target_volatility * std::sqrt(model.periods_per_year);
  out["net"] = name_of(s.mandate.net);
  if (s.mandate.limits) {
    out["objective"] = name_of(s.mandate.objective.kind);
    out["risk-aversion"] = s.mandate.objective.risk_aversion;
    out["limits"] = s.mandate.limits->to_toml();
  }
  const trade::Ruling ruling = s.ruling();
  out["rule"] = name_of(ruling.rule);
  out["memory"] = ruling.memory;
  out["expected-sharpe"] = ruling.expected_sharpe;
  out["holding-horizon"] = ruling.holding_horizon;
  out["cost-bps"] = model.cost_bps;
  out["train-block"] = s.train_block;
  out["train-cost-bps"] = s.train_cost_bps;
  out["shrinkage"] = s.shrinkage;
  out["form"] = name_of(s.form);
  out["batch"] = s.batch;
  out["learning-rate"] = s.adam.learning_rate;
  out["weight-decay"] = s.adam.weight_decay;
  out["clip"] = s.adam.clip;
  out["epochs"] = s.epochs;
  out["validation"] = s.validation;
  out["patience"] = s.patience;
  out["ensemble"] = s.ensemble;
  out["seed"] = s.seed;
  return out;
}

std::vector<ModelMember> members_of(const learn::Model& model) {
  std::vector<ModelMember> out;
  for (const learn::Member& member : model.members)
    out.push_back({&member, model.periods_per_year});
  return out;
}

Keys<ModelMember> member_keys(std::string_view epochs, std::string_view loss,
                              std::string_view sharpe) {
  return {
      {"epochs", epochs, [](auto& m) { return m.member->epochs; }},
      {"best_epoch", "", [](auto& m) { return m.member->best_epoch; }},
      {"validation_loss", loss, [](auto& m) { return value_or_null(m.member->validation_loss); }},
      {"validation_sharpe", sharpe,
       [](auto& m) { return value_or_null(m.member->validation_sharpe); }},
      {"validation_sharpe_annualized", "",
       [](auto& m) { return value_or_null(m.member->yearly_sharpe(m.periods_per_year)); }}};
}

settings::Values follow_model(const settings::Values& values, const learn::Model& model) {
  settings::Values out = values;
  for (const settings::Setting& setting : settings::table())
    if (setting.group == settings::Group::learning && values.takes(setting.name) &&
        !setting.is(settings::after_training) && values.origin(setting.name) == Origin::flag)
      throw InputError(fmt::format("{} has no meaning here: the model has been trained",
                                   values.given_as(setting.name)));
  Json trained = model_settings(model);
  trained.erase("seed");  // of the training; a backtest draws numbers of its own
  if (model.settings.beta_final == 0.0) trained.erase("beta-final");
  trained["periods-per-year"] = model.periods_per_year;
  // Opponents are used as published, whatever the model was trained for.
  if (values.takes("optimizer") && solve::optimizer_named(values.text("optimizer")).published) {
    trained.erase("rule");
    trained.erase("memory");
  }
  for (const auto& [name, value] : trained.items()) {
    if (!values.takes(name)) continue;
    const Origin origin = values.origin(name);
    const bool given = origin == Origin::flag || origin == Origin::file;
    // Volatilities are kept per period: the same number must not lose its last bit on the way.
    if (given || (name == "target-volatility" && same_number(values, name, value.get<double>())))
      continue;
    out.set_default(name, flag_text(value));
  }
  return out;
}

}  // namespace sharpen::command
