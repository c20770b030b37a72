#include "command/model_settings.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/command/solve.hpp"

namespace sharpen::command {

namespace {

using settings::Origin;

Json count_or_share(const settings::CountOrShare& k) {
  return k.percent > 0.0 ? Json(shortest(k.percent) + "%") : Json(k.count);
}

// As it would be written on the command line.
std::string flag_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number_float()) return shortest(value.get<double>());
  if (!value.is_array()) return value.dump();
  std::string out;
  for (const Json& item : value) out += (out.empty() ? "" : ",") + flag_text(item);
  return out;
}

bool same_number(const settings::Values& values, std::string_view name, double value) {
  return std::abs(values.real(name) - value) <= 1e-12 * std::abs(value);
}

}  // namespace

Json model_settings(const learn::Model& model) {
  const learn::TrainSettings& s = model.settings;
  Json out;
  out["network"] = name_of(s.network);
  out["hidden"] = s.hidden;
  out["lookback"] = s.lookback;
  out["alpha"] = s.alpha;
  out["mixing"] = name_of(s.mixing);
  out["decision-loss"] = name_of(s.decision_loss);
  out["horizon"] = s.horizon;
  out["warm-start"] = s.warm_start;
  out["k"] = count_or_share(s.k);
  out["beta"] = s.layer.beta;
  out["beta-final"] = s.beta_final > 0.0 ? s.beta_final : s.layer.beta;
  out["score"] = name_of(s.layer.score);
  out["raw-score"] = s.layer.raw_score;
  out["reoptimization"] = name_of(s.layer.reoptimization);
  out["topk"] = name_of(s.layer.topk);
  out["sizing"] = name_of(s.layer.sizing.kind);
  out["offset"] = s.layer.sizing.offset;
  out["target-volatility"] = s.layer.sizing.target_volatility * std::sqrt(model.periods_per_year);
  out["net"] = name_of(s.layer.net);
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
    out.push_back({&member, std::sqrt(model.periods_per_year)});
  return out;
}

Keys<ModelMember> member_keys(std::string_view epochs, std::string_view loss,
                              std::string_view sharpe) {
  return {{"epochs", epochs, [](auto& m) { return m.member->epochs; }},
          {"best_epoch", "", [](auto& m) { return m.member->best_epoch; }},
          {"validation_loss", loss, [](auto& m) { return m.member->validation_loss; }},
          {"validation_sharpe", sharpe, [](auto& m) { return m.member->validation_sharpe; }},
          {"validation_sharpe_annualized", "",
           [](auto& m) { return m.member->validation_sharpe * m.root; }}};
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
