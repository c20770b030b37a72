#include "sharpen/command/backtest.hpp"

#include <fmt/format.h>

#include <optional>

#include "commands.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/command/keep_inputs.hpp"
#include "sharpen/command/output_folder.hpp"
#include "sharpen/learn/train.hpp"
#include "stderr_log.hpp"

namespace sharpen::app {

namespace {

using settings::Values;

// From the first decision on a signal is a question, which `interrupts` keeps until the end of the
// command: one that comes too late to stop the work cannot cut the writing of its result short.
command::BacktestAnswer answer_of(const Values& values, std::optional<Interrupts>& interrupts) {
  Progress progress;
  progress.stage("reading the panel");
  command::BacktestJob job =
      command::read_backtest(values, {}, stderr_log(values.text("log-level")));
  interrupts.emplace();
  return command::run_job(
      std::move(job), {.stage = [&](std::string_view text) { progress.stage(text); },
                       .progress = [&](Index done, Index total) { progress.update(done, total); },
                       .stop = [&] { return interrupts->seen(); }});
}

}  // namespace

void run_backtest(const Values& values) {
  if (values.flag("print-config")) {
    command::check_backtest_settings(values);
    return print(values.to_toml());
  }
  std::optional<command::OutputFolder> folder;
  if (values.has("out")) {
    command::keep_inputs(values, "out", command::backtest_file_names());
    folder.emplace(values.text("out"), values.flag("force"), "backtest",
                   command::backtest_file_names());
  } else if (values.flag("force")) {
    throw InputError(
        fmt::format("{} has no meaning here; it goes with ‹--out DIR›", values.given_as("force")));
  }
  std::optional<Interrupts> interrupts;
  try {
    const command::BacktestAnswer answer = answer_of(values, interrupts);
    if (folder) folder->write(command::backtest_files(answer));
    print(values.flag("json") ? command::backtest_json(answer) : command::backtest_text(answer));
  } catch (const Interrupted&) {
    throw Failure("interrupted; nothing was written");
  } catch (const learn::Diverged& diverged) {
    throw Failure(fmt::format("{}; nothing was written", diverged.marked()));
  }
}

}  // namespace sharpen::app
