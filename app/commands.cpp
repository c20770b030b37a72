#include "commands.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <stdexcept>

#include "output.hpp"
#include "progress.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/command/backtest.hpp"
#include "sharpen/command/compare.hpp"
#include "sharpen/command/report.hpp"
#include "sharpen/command/simulate.hpp"
#include "sharpen/market/panel_input.hpp"

namespace sharpen::app {

namespace {

using settings::Values;

Log log_of(const Values& values) { return stderr_log(values.text("log-level")); }

// The answer in the form that --json asks for.
template <class Answer, class Text>
void print_answer(const Values& values, const Answer& answer, std::string (*json)(const Answer&),
                  Text text) {
  print(values.flag("json") ? json(answer) : text(answer));
}

void run_solve(const Values& given) {
  const Values values = command::solve_values(given);
  if (values.flag("print-config")) {
    command::check_solve_settings(values);
    return print(values.to_toml());
  }
  try {
    print_answer(values, command::solve_answer(values, {}, log_of(values), {.stop = interrupted}),
                 command::solve_json, solve_text);
  } catch (const Interrupted&) {
    throw Failure("interrupted");
  }
}

void run_doctor(const Values& values) {
  if (values.flag("print-config")) {
    market::check_panel_settings(values);
    return print(values.to_toml());
  }
  print_answer(values, command::doctor_answer(values, {}, log_of(values)), command::doctor_json,
               doctor_text);
}

std::string simulate_text(const command::SimulateAnswer& answer) {
  const market::Panel& prices = answer.market.prices;
  const double predictability = answer.settings.predictability;
  std::string kind = predictability == 0.0
                         ? "a null market: every expected return is zero"
                         : fmt::format("predictability {}", shortest(predictability));
  if (const std::optional<double> life = answer.settings.signal_life; life && predictability != 0.0)
    kind += fmt::format(", signal life {} days", shortest(*life));
  return fmt::format("Wrote {}: {}, {} days from {} to {}; seed {}, {}.\n",
                     printable(answer.out, answer.out.size()), counted(prices.n(), "asset"),
                     prices.rows(), prices.dates.front(), prices.dates.back(), answer.settings.seed,
                     kind);
}

void run_simulate(const Values& values) {
  command::simulation_settings(values).validate();
  if (values.flag("print-config")) return print(values.to_toml());
  const bool written = values.has("out");
  if (!written && values.flag("json"))
    throw InputError(
        "‹--json› needs ‹--out FILE›: without it the prices themselves go to standard output");
  const command::SimulateAnswer answer = command::simulate_answer(values, false);
  if (!written) return print(market::panel_csv(answer.market.prices));
  print_answer(values, answer, command::simulate_json, simulate_text);
}

void run_backtest(const Values& values) {
  if (values.flag("print-config")) {
    command::check_backtest_settings(values);
    return print(values.to_toml());
  }
  std::optional<command::OutputFolder> folder;
  if (values.has("out"))
    folder = command::backtest_folder(values, values.text("out"), values.flag("force"));
  else if (values.flag("force"))
    throw InputError(
        fmt::format("{} has no meaning here; it goes with ‹--out DIR›", values.given_as("force")));
  try {
    const command::BacktestAnswer answer = [&] {
      Progress progress;
      return command::backtest_answer(values, {}, log_of(values), control_of(progress));
    }();
    if (folder)
      folder->write(command::backtest_files(answer, interrupted), log_of(values), interrupted);
    print_answer(values, answer, command::backtest_json, command::backtest_text);
  } catch (const Interrupted&) {
    throw Failure("interrupted; nothing was written");
  } catch (const learn::Diverged& diverged) {
    throw Failure(fmt::format("{}; nothing was written", diverged.marked()));
  }
}

void run_compare(const Values& values) {
  if (values.flag("print-config")) return print(values.to_toml());
  const command::Comparison comparison = [&] {
    Progress progress;
    return command::compare_answer(values, {}, control_of(progress));
  }();
  print_answer(values, comparison, command::compare_json, command::compare_text);
}

std::string epoch_text(const learn::EpochReport& report, std::int64_t ensemble) {
  std::string text = fmt::format("epoch {}, loss {:.3g}", report.epoch, report.loss);
  if (report.validation_sharpe)
    text += fmt::format(", validation Sharpe {:.3f} (best: epoch {})", *report.validation_sharpe,
                        report.best_epoch);
  return ensemble > 1 ? fmt::format("member {}, {}", report.member + 1, text) : text;
}

command::TrainAnswer trained(const Values& values, const Log& log) {
  Progress progress;
  learn::TrainControl control{control_of(progress)};
  control.epoch = [&](const learn::EpochReport& report) {
    const std::string text = epoch_text(report, values.integer("ensemble"));
    progress.note(text);
    log.info(text);
  };
  return command::train_answer(values, {}, log, control);
}

void run_train(const Values& values) {
  if (values.flag("print-config")) return print(values.to_toml());
  command::check_training_settings(values);
  const bool dry = values.flag("dry-run");
  if (!dry && !values.has("out"))
    throw InputError("a model must be kept somewhere; give ‹--out FILE›, such as model.sharpen");
  const Log log = log_of(values);
  if (dry)
    return print_answer(values, command::plan_training(values, log), command::plan_json, plan_text);
  print_answer(values, trained(values, log), command::train_json, train_text);
}

void refuse_status(std::string_view status, bool writes) {
  throw Failure(fmt::format("the status is {}, and ‹--require-ok› wants ok{}", status,
                            writes ? "; no file was written" : ""));
}

void run_orders(const Values& values) {
  const command::OrdersAnswer answer = command::orders_answer(values, {}, log_of(values));
  print_answer(values, answer, command::orders_json, orders_text);
  if (answer.refused())
    refuse_status(name(answer.status), values.has("out") || values.has("out-dir"));
}

void run_predict(const Values& values) {
  if (values.flag("print-config")) return print(values.to_toml());
  if (command::asks_for_orders(values)) return run_orders(values);
  const command::Prediction prediction = [&] {
    try {
      return command::predict_answer(values, {}, log_of(values), {.stop = interrupted});
    } catch (const Interrupted&) {
      throw Failure("interrupted; nothing was written");
    }
  }();
  print_answer(values, prediction, command::predict_json, predict_text);
  if (prediction.refused())
    refuse_status(name(prediction.portfolio.outcome.status),
                  values.has("out") || values.has("trades"));
}

void run_inspect(const Values& values) {
  if (values.flag("print-config")) return print(values.to_toml());
  print_answer(values, command::inspect_answer(values), command::inspect_json, inspect_text);
}

// What keeps the answer of a study from being a success.
void judge(const command::StudyAnswer& answer) {
  const study::Tally& tally = answer.tally;
  const std::string_view plural = tally.cells == 1 ? "" : "s";
  if (tally.interrupted)
    throw Failure(
        fmt::format("interrupted: {} of {} cell{} done; run the same command again to go on",
                    tally.done, tally.cells, plural));
  if (tally.failed > 0)
    throw Failure(fmt::format(
        "{} of {} cell{} failed; sharpen study --list --out {} says why, --retry tries them again",
        tally.failed, tally.cells, plural, printable(answer.file.parent_path().string(), 400)));
}

void run_study(const Values& values) {
  const command::StudyAnswer answer = [&] {
    std::optional<StudyBar> bar;
    const Control control{.stage =
                              [&](std::string_view text) {
                                interrupted();  // from now on a signal is a question
                                bar.emplace(text);
                              },
                          .stop = interrupted};
    return command::study_answer(values, log_of(values), control,
                                 [&](const study::StudyProgress& now) { bar->show(now); });
  }();
  if (answer.action == command::StudyAnswer::Action::config) return print(answer.config);
  // A study that was stopped says so itself.
  if (values.flag("json") || !answer.tally.interrupted)
    print_answer(values, answer, command::study_json, study_text);
  judge(answer);
}

void run_merge(const Values& values) {
  if (values.flag("print-config")) return print(values.to_toml());
  try {
    print_answer(values, command::merge_answer(values, log_of(values), interrupted),
                 command::merge_json, merge_text);
  } catch (const Interrupted&) {
    throw Failure("interrupted; nothing was written");
  }
}

std::string report_text(const command::ReportAnswer& answer) {
  if (answer.out.empty()) return answer.text;
  const auto bytes = static_cast<double>(answer.text.size());
  const std::string size = answer.text.size() < 1'000'000 ? fmt::format("{:.0f} kB", bytes / 1e3)
                                                          : fmt::format("{:.1f} MB", bytes / 1e6);
  return fmt::format("{}: written, {}{}\n", printable(answer.out, 400), size,
                     answer.format == report::Format::html ? "; open it in a browser" : "");
}

void run_report(const Values& values) {
  if (values.flag("print-config")) return print(values.to_toml());
  const command::ReportAnswer answer = [&] {
    Progress progress;
    return command::report_answer(values, control_of(progress), log_of(values));
  }();
  print_answer(values, answer, command::report_json, report_text);
}

}  // namespace

void run_command(const Values& values) {
  switch (values.command()) {
    case settings::solve: return run_solve(values);
    case settings::doctor: return run_doctor(values);
    case settings::simulate: return run_simulate(values);
    case settings::backtest: return run_backtest(values);
    case settings::compare: return run_compare(values);
    case settings::train: return run_train(values);
    case settings::predict: return run_predict(values);
    case settings::inspect: return run_inspect(values);
    case settings::study: return run_study(values);
    case settings::report: return run_report(values);
    case settings::merge: return run_merge(values);
    default: break;
  }
  throw std::logic_error("a command of the table has no function");
}

}  // namespace sharpen::app
