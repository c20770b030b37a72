// Panels from arrays, simulated ones, and what is wrong with them.
#include "panels.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "sharpen/base/error.hpp"
#include "sharpen/command/doctor.hpp"
#include "sharpen/command/simulate.hpp"
#include "work.hpp"

namespace sharpen::python {

namespace {

using market::PanelKind;

PanelKind kind_of(const std::string& name) {
  if (name == "returns") return PanelKind::returns;
  return name == "gross" ? PanelKind::gross_returns : PanelKind::prices;
}

void make_panel(MemoryPanel* self, const Matrix& cells, std::vector<std::string> names,
                std::vector<std::string> dates, bool dated, const std::string& kind,
                const std::string& argument) {
  const ConstMat values = view(cells);
  market::Panel panel{.dates = std::move(dates), .tickers = std::move(names), .values = {}};
  if (panel.rows() != values.rows || panel.n() != values.cols)
    throw InputError(argument + ": every row needs a label and every column a name");
  panel.values.assign(values.data, values.data + values.rows * values.cols);
  new (self)
      MemoryPanel{{.file = argument, .kind = kind_of(kind), .panel = std::move(panel)}, dated};
}

nb::tuple simulate(const SettingTexts& given) {
  Work work{nb::none()};
  market::SimulatedMarket found = work.run([&] {
    const settings::Values values = values_of(settings::simulate, given);
    return command::simulate_answer(values, true, work.control().stop).market;
  });
  const auto rows = static_cast<std::size_t>(found.prices.rows());
  const auto n = static_cast<std::size_t>(found.prices.n());
  return nb::make_tuple(found.prices.dates, found.prices.tickers,
                        array_of(std::move(found.prices.values), {rows, n}),
                        array_of(std::move(found.expected_returns), {rows - 1, n}));
}

std::string doctor(const SettingTexts& given, const MemoryPanel* panel) {
  const nb::gil_scoped_release release;
  return command::doctor_json(
      command::doctor_answer(values_of(settings::doctor, given), copy_of(panel), Log()));
}

}  // namespace

settings::Values values_with_preset(settings::Command command, const SettingTexts& given) {
  settings::Values values = values_of(command, given);
  if (values.takes("preset") && values.text("preset") == "paper") values.use_paper_preset();
  return values;
}

void add_panels(nb::module_& module) {
  nb::class_<MemoryPanel>(module, "Panel")
      .def("__init__", &make_panel, nb::arg("values"), nb::arg("names"), nb::arg("dates"),
           nb::arg("dated"), nb::arg("kind"), nb::arg("argument"))
      .def(
          "write",
          [](const MemoryPanel& self, const std::string& file) {
            const nb::gil_scoped_release release;
            market::write_panel(self.raw.panel, file);
          },
          nb::arg("file"), "The panel as a CSV file.");
  module.def("simulate", &simulate, nb::arg("settings"),
             "Dates, names, prices (days, n), expected returns (days - 1, n).");
  module.def("doctor", &doctor, nb::arg("settings"), nb::arg("panel").none(),
             "The answer of `sharpen doctor --json`.");
}

}  // namespace sharpen::python
