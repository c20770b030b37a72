#include "sharpen/command/doctor.hpp"

#include <fmt/format.h>

#include "commands.hpp"
#include "output.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/command/keep_inputs.hpp"
#include "stderr_log.hpp"

namespace sharpen::app {

namespace {

using settings::Values;

void write_cleaned(const std::string& file, command::Diagnosis& diagnosis) {
  const market::Panel& panel = diagnosis.cleaned.panel;
  if (panel.n() == 0 || panel.rows() == 0)
    throw InputError(
        fmt::format("there is nothing to write to {}: cleaning leaves no {}; give "
                    "‹--universe available›, a larger ‹--max-gap› or other dates",
                    file, panel.n() == 0 ? "asset" : "row"));
  market::write_panel(panel, file);
  diagnosis.out = file;
}

}  // namespace

void run_doctor(const Values& values) {
  market::check_panel_settings(values);
  if (values.flag("print-config")) return print(values.to_toml());
  command::keep_inputs(values, {"out"});
  const Log log = stderr_log(values.text("log-level"));
  command::Diagnosis diagnosis = command::diagnose(values, market::read_raw_panel(values, log));
  if (values.has("out")) write_cleaned(values.text("out"), diagnosis);
  print(values.flag("json") ? command::diagnosis_json(diagnosis) : diagnosis_text(diagnosis));
}

}  // namespace sharpen::app
