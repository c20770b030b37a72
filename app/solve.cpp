#include "solve.hpp"

#include "demo_panel.hpp"
#include "output.hpp"
#include "stderr_log.hpp"

namespace sharpen::app {

namespace {

using settings::Values;

Solution solution_of(const Values& values) {
  const Log log = stderr_log(values.text("log-level"));
  const Threads threads(static_cast<int>(values.integer("threads")));
  Solution solution = solve::solve(values, read_solve_input(values, threads, log));
  log.info(solution.status_text());
  return solution;
}

}  // namespace

void solve(Values values) {
  if (values.flag("demo") && values.origin("k") == settings::Origin::preset)
    values.set_flag("k", std::to_string(kDemoNames));
  if (values.flag("print-config")) {
    check_solve_settings(values);
    return print(values.to_toml());
  }
  const Solution solution = solution_of(values);
  print(values.flag("json") ? solution_json(solution) : solution_text(solution));
}

}  // namespace sharpen::app
