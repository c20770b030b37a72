#include "sharpen/command/compare.hpp"

#include "commands.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "sharpen/base/control.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::app {

namespace {

using settings::Values;

std::string folder_of(const Values& values, std::string_view name) {
  if (!values.has(name))
    throw InputError(
        "two folders are needed: ‹sharpen compare› A/ B/, each written by ‹sharpen backtest "
        "--out›");
  return values.text(name);
}

command::Comparison comparison_of(const Values& values) {
  const std::string folder_a = folder_of(values, "first"), folder_b = folder_of(values, "second");
  const command::NamedRun a{folder_a, backtest::read_run(folder_a)};
  const command::NamedRun b{folder_b, backtest::read_run(folder_b)};
  const Interrupts interrupts;
  Progress progress;
  progress.stage("resampling");
  return command::compare_runs(
      a, b, values,
      {.progress = [&](Index done, Index total) { progress.update(done, total); },
       .stop = [&] { return interrupts.seen(); }});
}

}  // namespace

void run_compare(const Values& values) {
  if (values.flag("print-config")) return print(values.to_toml());
  try {
    const command::Comparison comparison = comparison_of(values);
    print(values.flag("json") ? command::comparison_json(comparison)
                              : command::comparison_text(comparison));
  } catch (const Interrupted&) {
    throw Failure("interrupted");
  }
}

}  // namespace sharpen::app
