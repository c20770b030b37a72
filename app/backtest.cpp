#include "backtest.hpp"

#include <fmt/format.h>

#include <optional>

#include "interrupt.hpp"
#include "output.hpp"
#include "output_folder.hpp"
#include "progress.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/learn/train.hpp"
#include "stderr_log.hpp"

namespace sharpen::app {

namespace {

using settings::Values;

// From the first decision on a signal is a question, which `interrupts` keeps until the end of the
// command: one that comes too late to stop the work cannot cut the writing of its result short.
BacktestAnswer answer_of(const Values& values, std::optional<Interrupts>& interrupts) {
  Progress progress;
  progress.stage("reading the panel");
  BacktestJob job = read_backtest(values, {}, stderr_log(values.text("log-level")));
  interrupts.emplace();
  return run_job(std::move(job),
                 {.stage = [&](std::string_view text) { progress.stage(text); },
                  .progress = [&](Index done, Index total) { progress.update(done, total); },
                  .stop = [&] { return interrupts->seen(); }});
}

}  // namespace

void run_backtest(const Values& values) {
  if (values.flag("print-config")) {
    check_backtest_settings(values);
    return print(values.to_toml());
  }
  std::optional<OutputFolder> folder;
  if (values.has("out")) {
    keep_inputs(values, "out", backtest_file_names());
    folder.emplace(values.text("out"), values.flag("force"), "backtest", backtest_file_names());
  } else if (values.flag("force")) {
    throw InputError(
        fmt::format("{} has no meaning here; it goes with --out DIR", values.given_as("force")));
  }
  std::optional<Interrupts> interrupts;
  try {
    const BacktestAnswer answer = answer_of(values, interrupts);
    if (folder) folder->write(backtest_files(answer));
    print(values.flag("json") ? backtest_json(answer) : backtest_text(answer));
  } catch (const backtest::Interrupted&) {
    throw Failure("interrupted; nothing was written");
  } catch (const learn::Diverged& diverged) {
    throw Failure(fmt::format("{}; nothing was written", diverged.what()));
  }
}

}  // namespace sharpen::app
