#include <fmt/format.h>

#include <cmath>

#include "commands.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "sharpen/base/error.hpp"
#include "stderr_log.hpp"

namespace sharpen::app {

namespace {

using settings::Values;

learn::TrainControl control_of(Progress& progress, const Interrupts& interrupts, const Log& log,
                               Index ensemble) {
  learn::TrainControl control;
  control.progress = [&progress](Index done, Index total) { progress.update(done, total); };
  control.stop = [&interrupts] { return interrupts.seen(); };
  control.epoch = [&progress, log, ensemble](const learn::EpochReport& report) {
    std::string text = fmt::format("epoch {}, loss {:.3g}", report.epoch, report.loss);
    if (!std::isnan(report.validation_sharpe))
      text += fmt::format(", validation Sharpe {:.3f} (best: epoch {})", report.validation_sharpe,
                          report.best_epoch);
    if (ensemble > 1) text = fmt::format("member {}, {}", report.member + 1, text);
    progress.note(text);
    log.info(text);
  };
  return control;
}

command::TrainAnswer trained(command::TrainJob job, const Log& log) {
  const Interrupts interrupts;
  Progress progress;
  progress.stage("training");
  const learn::TrainControl control = control_of(progress, interrupts, log, job.settings.ensemble);
  return command::run_job(std::move(job), control);
}

void plan(const Values& values, const command::TrainJob& job) {
  const Threads threads(static_cast<int>(values.integer("threads")));
  const learn::TrainingPlan plan =
      learn::plan_training(job.answer.input.returns, job.settings, threads);
  print(values.flag("json") ? command::plan_json(plan, job.settings)
                            : plan_text(plan, job.settings));
}

}  // namespace

void run_train(const Values& values) {
  if (values.flag("print-config")) return print(values.to_toml());
  command::check_training_settings(values);
  const bool dry = values.flag("dry-run");
  if (!dry && !values.has("out"))
    throw InputError("a model must be kept somewhere; give ‹--out FILE›, such as model.sharpen");
  const Log log = stderr_log(values.text("log-level"));
  command::TrainJob job = command::read_training(values, {}, log);
  if (dry) return plan(values, job);
  const command::TrainAnswer answer = trained(std::move(job), log);
  print(values.flag("json") ? command::train_json(answer) : train_text(answer));
}

}  // namespace sharpen::app
