// sharpen.study and sharpen.report.
#include "sharpen/command/study.hpp"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "module.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/command/report.hpp"
#include "work.hpp"

namespace sharpen::python {

namespace {

using settings::Values;

// A study that was read, and what its cells come to.
struct Read {
  std::shared_ptr<const command::ReadStudy> study;

  const study::Results& results() const { return study->results; }
};

// The answer of `sharpen study --json`, and what the program would print besides.
nb::tuple run_study(const SettingTexts& given, const std::string& config, nb::object report) {
  Work work(std::move(report));
  std::mutex mutex;
  std::vector<std::string> messages;
  const Log log(
      [&](LogLevel, std::string_view message) {
        const std::lock_guard lock(mutex);
        messages.emplace_back(message);
      },
      LogLevel::warning);
  const auto watch = [&](const study::StudyProgress& now) {
    work.note(fmt::format("{} of {} cells", now.cells_done, now.cells));
    work.progress(std::min(now.done, now.total), now.total);
  };
  const std::string json = work.run([&] {
    const Values values = study_values(given, config);
    return command::study_json(command::study_answer(values, log, work.control(), watch));
  });
  return nb::make_tuple(json, in_python_words(messages));
}

std::unique_ptr<Read> read(const std::string& file, const SettingTexts& given, bool whole,
                           nb::object report) {
  Work work(std::move(report));
  return std::make_unique<Read>(Read{work.run([&] {
    return command::read_study(values_of(settings::report, given), file,
                               whole ? study::Detail::all : study::Detail::returns, work.control());
  })});
}

nb::list cells(const Read& self) {
  nb::list out;
  for (std::size_t c = 0; c < self.results().cells.size(); ++c) {
    const study::Cell& cell = self.results().cells[c];
    const study::Method& method = self.results().methods[static_cast<std::size_t>(cell.method)];
    nb::dict row;
    row["market"] = self.results().markets[static_cast<std::size_t>(cell.market)].name;
    row["k_given"] = cell.k_given;
    row["k"] = cell.k;
    row["method"] = method.name;
    row["framework"] = method.framework;
    row["optimizer"] = method.optimizer;
    row["seed"] = cell.seed ? nb::cast(*cell.seed) : nb::none();
    row["state"] = std::string(study::name(cell.state));
    row["reason"] = cell.reason;
    for (std::size_t f = 0; f < report::kFigures; ++f)
      row[nb::str(std::string(report::info(static_cast<report::Figure>(f)).name).c_str())] =
          self.study->summary.of_cells[c][f];
    row["seconds"] = cell.seconds;
    out.append(row);
  }
  return out;
}

// Cell, dates and returns of those that are done.
nb::list runs(const Read& self) {
  nb::list out;
  for (std::size_t c = 0; c < self.results().cells.size(); ++c)
    if (const study::Cell& cell = self.results().cells[c]; cell.state == study::CellState::done)
      out.append(nb::make_tuple(c, cell.run.dates, array_of(cell.run.returns)));
  return out;
}

std::string document(const Read& self, const std::string& format,
                     const std::vector<std::string>& names) {
  const nb::gil_scoped_release release;
  return command::report_of(self.study, report::format_of(format), names).text;
}

std::string json(const Read& self) {
  const nb::gil_scoped_release release;
  return command::report_json(command::report_of(self.study, report::Format::text, {}));
}

}  // namespace

Values study_values(const SettingTexts& given, const std::string& config) {
  Values values(settings::study);
  if (!config.empty()) {
    values.read_toml_file(config);
    values.set_flag("config", config);
  }
  for (const auto& [name, text] : given) values.set_flag(name, text);
  return values;
}

void add_study(nb::module_& module) {
  nb::class_<Read>(module, "Study")
      .def("cells", &cells)
      .def("runs", &runs)
      .def("json", &json)
      .def("document", &document, nb::arg("format"), nb::arg("tables"));
  module.def("run_study", &run_study, nb::arg("settings"), nb::arg("config"),
             nb::arg("report").none());
  module.def("read_study", &read, nb::arg("file"), nb::arg("settings"), nb::arg("whole"),
             nb::arg("report").none());
  module.def(
      "report_format",
      [](const std::string& out) {
        return std::string(report::name(command::format_of_file(out)));
      },
      nb::arg("out"), "The format that the ending of a file stands for.");
  module.def(
      "check_report_file",
      [](const std::string& out, const std::string& study, bool force) {
        command::check_report_file(out, study, force);
      },
      nb::arg("out"), nb::arg("study"), nb::arg("force"));
  module.def(
      "write_text",
      [](const std::string& file, const std::string& text) {
        const nb::gil_scoped_release release;
        write_file(file, text);
      },
      nb::arg("file"), nb::arg("text"));
}

}  // namespace sharpen::python
