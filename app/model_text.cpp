// Answers about models on a terminal: those of sharpen train and sharpen inspect.
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "commands.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::app {

namespace {

using learn::Model;

// All members were judged together, and have one epoch.
std::string validation_text(const Model& model) {
  if (model.validation_from.empty()) return "none: all epochs were run";
  return fmt::format(
      "from {}: Sharpe {:.2f} annualised, of the ensemble, after costs of {} bp; it chose the "
      "epoch "
      "and flatters",
      model.validation_from,
      model.members.front().yearly_sharpe(model.periods_per_year).value_or(std::nan("")),
      few_decimals(model.settings.train_cost_bps));
}

// "12 345 678" is easier to read than 12345678.
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, " ");
  return digits;
}

// "AAPL, MSFT, ..." in lines of at most this width.
std::string wrapped_tickers(const std::vector<std::string>& tickers) {
  constexpr std::size_t kWidth = 78;
  std::string out, line = " ";
  for (std::size_t i = 0; i < tickers.size(); ++i) {
    const std::string word = printable(tickers[i], 40) + (i + 1 < tickers.size() ? "," : "");
    if (display_width(line) + 1 + display_width(word) > kWidth && line != " ") {
      out += line + "\n";
      line = " ";
    }
    line += " " + word;
  }
  return out + line + "\n";
}

std::string members_table(const Model& model) {
  const auto number = [](std::optional<double> value) {
    return value && std::isfinite(*value) ? fmt::format("{:.4g}", *value) : std::string("-");
  };
  std::vector<std::vector<std::string>> rows;
  for (std::size_t m = 0; m < model.members.size(); ++m) {
    const learn::Member& member = model.members[m];
    rows.push_back({std::to_string(m + 1), std::to_string(member.epochs),
                    std::to_string(member.best_epoch), number(member.validation_loss),
                    number(member.validation_sharpe),
                    number(member.yearly_sharpe(model.periods_per_year))});
  }
  return render_table({"member", "epochs", "best", "validation loss", "Sharpe", "annualised"},
                      rows);
}

}  // namespace

std::string line(std::string_view name, const std::string& text) {
  return fmt::format("{:<12} {}\n", name, text);
}

std::string train_text(const command::TrainAnswer& answer) {
  const Model& model = answer.model;
  const learn::Member& any = model.members.front();
  std::string out =
      fmt::format("{} {}: {}, {}, {} to {}\n\n", answer.values.text("framework"),
                  name(model.settings.network), counted(model.n(), "asset"),
                  counted(model.samples, "sample"), model.first_date, model.last_date);
  out += line("members", fmt::format("{} of {} parameters", model.members.size(),
                                     model.settings.shape(model.n()).parameters()));
  out += line("epochs", fmt::format("{} of {} run", any.best_epoch, any.epochs));
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

std::string inspect_text(const command::Inspection& inspection) {
  const auto& [path, file] = inspection;
  const Model& model = file.model;
  std::string out = fmt::format("{}: {} model of {}, {}\n\n", printable(path, 4 * path.size()),
                                command::framework_of(model), counted(model.n(), "asset"),
                                counted(static_cast<Index>(model.members.size()), "member"));
  out += line("trained on", fmt::format("{} to {}, {} samples", printable(model.first_date),
                                        printable(model.last_date), model.samples));
  const bool validated = !model.validation_from.empty();
  out += line("validation",
              !validated ? fmt::format("none: all {} were run",
                                       counted(model.members.front().epochs, "epoch"))
                         : fmt::format("from {}, {} samples, which chose the epochs and flatters",
                                       printable(model.validation_from), model.validation_samples));
  out += line("network", fmt::format("{}, {} parameters", learn::name(model.settings.network),
                                     grouped(command::parameters_of(model))));
  out += line("file", fmt::format("{} bytes, format {}, checksum {}, written by Sharpen {}",
                                  grouped(file.bytes), file.format_version, inspection.checksum(),
                                  printable(file.program_version)));
  if (validated) out += "\n" + members_table(model);
  out += "\nsettings\n";
  for (const auto& [name, value] : command::settings_of(model))
    out += fmt::format("  {:<18} {}\n", name, value);
  return out + "\ntickers\n" + wrapped_tickers(model.tickers);
}

}  // namespace sharpen::app
