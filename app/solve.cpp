#include "commands.hpp"
#include "output.hpp"
#include "stderr_log.hpp"

namespace sharpen::app {

namespace {

using settings::Values;

command::Solution solution_of(const Values& values) {
  const Log log = stderr_log(values.text("log-level"));
  const Threads threads(static_cast<int>(values.integer("threads")));
  command::Solution solution =
      solve::solve(values, command::read_solve_input(values, threads, log));
  log.info(solution.status_text());
  return solution;
}

}  // namespace

void run_solve(Values values) {
  if (values.flag("demo") && values.origin("k") == settings::Origin::preset)
    values.set_flag("k", std::to_string(command::kDemoNames));
  if (values.flag("print-config")) {
    command::check_solve_settings(values);
    return print(values.to_toml());
  }
  const command::Solution solution = solution_of(values);
  print(values.flag("json") ? command::solution_json(solution) : solution_text(solution));
}

}  // namespace sharpen::app
