// The answer of `sharpen train`, as text and as JSON (docs/json.md).
#include <fmt/format.h>

#include <cmath>

#include "json_text.hpp"
#include "model_settings.hpp"
#include "sharpen/base/text.hpp"
#include "train.hpp"

namespace sharpen::app {

namespace {

std::string counted(Index count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

struct Spread {
  double mean = 0.0, sd = 0.0;
};

Spread spread(const std::vector<double>& x) {
  Spread out;
  for (const double v : x) out.mean += v / static_cast<double>(x.size());
  for (const double v : x) out.sd += (v - out.mean) * (v - out.mean);
  out.sd = x.size() > 1 ? std::sqrt(out.sd / static_cast<double>(x.size() - 1)) : 0.0;
  return out;
}

std::string validation_text(const learn::Model& model) {
  if (model.validation_from.empty()) return "none: all epochs were run";
  std::vector<double> sharpes;
  for (const learn::Member& member : model.members)
    sharpes.push_back(member.validation_sharpe * std::sqrt(model.periods_per_year));
  const Spread s = spread(sharpes);
  return fmt::format("from {}: Sharpe {:.2f}{} annualised, which chose the epoch and flatters",
                     model.validation_from, s.mean,
                     sharpes.size() > 1 ? fmt::format(" ± {:.2f} (sd over members)", s.sd) : "");
}

}  // namespace

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

std::string train_text(const TrainAnswer& answer) {
  const learn::Model& model = answer.model;
  std::string epochs;
  for (const learn::Member& member : model.members)
    epochs +=
        fmt::format("{}{} of {}", epochs.empty() ? "" : ", ", member.best_epoch, member.epochs);
  const auto line = [](std::string_view name, const std::string& text) {
    return fmt::format("{:<12} {}\n", name, text);
  };
  std::string out =
      fmt::format("{} {}: {}, {}, {} to {}\n\n", answer.values.text("framework"),
                  name(model.settings.network), counted(model.n(), "asset"),
                  counted(model.samples, "sample"), model.first_date, model.last_date);
  out += line("members", fmt::format("{} of {} parameters", model.members.size(),
                                     model.settings.shape(model.n()).parameters()));
  out += line("epochs", fmt::format("{} (best of those run, by member)", epochs));
  out += line("validation", validation_text(model));
  out += line("time", fmt::format("{:.1f} s", answer.seconds));
  for (const std::string& warning : answer.warnings) out += line("warning", warning);
  out += line("written", printable(answer.values.text("out"), 400));
  return out;
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

std::string plan_text(const learn::TrainingPlan& plan, const learn::TrainSettings& settings) {
  return fmt::format(
      "{} to train on, {} to validate on, {} per epoch\n"
      "{} of {} parameters, {} at most\n"
      "about {:.2g} minutes at most, and {:.2g} GB of memory\n",
      counted(plan.samples, "sample"), plan.validation_samples,
      fmt::format("{} batch{}", plan.batches, plan.batches == 1 ? "" : "es"),
      counted(settings.ensemble, "network"), plan.parameters, counted(settings.epochs, "epoch"),
      plan.minutes, plan.gigabytes);
}

}  // namespace sharpen::app
