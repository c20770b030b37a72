// sharpen.doctor: what is wrong with a panel.
#include "sharpen/command/doctor.hpp"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include "panels.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::python {

namespace {

// What the reader of a file refuses.
void check(const market::RawPanel& raw) {
  const double least = market::least_value(raw.kind, market::Cells::raw);
  for (const double value : raw.panel.values)
    if (value < least) {
      const market::KindFault fault = market::below_least(raw.kind);
      throw InputError(
          fmt::format("{}: {} {}; {}", raw.file, shortest(value), fault.what, fault.remedy));
    }
  market::check_kind(raw.panel.values, raw.kind, raw.file);
}

std::string diagnosis(const SettingTexts& given, const MemoryPanel* panel) {
  const nb::gil_scoped_release release;
  const settings::Values values = values_of(settings::doctor, given);
  market::check_panel_settings(values);
  if (panel != nullptr) check(panel->raw);
  return command::diagnosis_json(
      command::diagnose(values, command::raw_panel(values, copy_of(panel), Log())));
}

}  // namespace

void add_doctor(nb::module_& module) {
  module.def("doctor", &diagnosis, nb::arg("settings"), nb::arg("panel").none(),
             "The answer of `sharpen doctor --json`.");
}

}  // namespace sharpen::python
