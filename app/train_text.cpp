// The answer of `sharpen train` on a terminal.
#include <fmt/format.h>

#include <cmath>

#include "commands.hpp"
#include "sharpen/base/text.hpp"

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

std::string train_text(const command::TrainAnswer& answer) {
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

std::string plan_text(const command::PlannedTraining& planned) {
  const auto& [plan, settings] = planned;
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
