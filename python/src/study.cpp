// sharpen.study and sharpen.report.
#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "models.hpp"
#include "module.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/log.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/command/report.hpp"
#include "sharpen/report/report.hpp"
#include "sharpen/study/plan.hpp"
#include "sharpen/study/run.hpp"
#include "sharpen/study/store.hpp"
#include "work.hpp"

namespace sharpen::python {

namespace {

namespace fs = std::filesystem;
using settings::Values;

std::string shown(const fs::path& path) { return printable(path.string(), 400); }

// The flags on top of a configuration file, as on the command line.
Values study_values(const SettingTexts& given, const std::string& config) {
  Values values(settings::study);
  if (!config.empty()) {
    values.read_toml_file(config);
    values.set_flag("config", config);
  }
  for (const auto& [name, text] : given) values.set_flag(name, text);
  return values;
}

// What the program would print: of the markets, and of the work.
class Warnings {
 public:
  Log log() {
    return Log([this](LogLevel, std::string_view message) { add(std::string(message)); },
               LogLevel::warning);
  }
  void add(std::string message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
  }
  void add(const study::Plan& plan) {
    for (const std::string& warning : plan.warnings) add(warning);
    for (const study::Market& market : plan.results.markets)
      for (const std::string& warning : market.warnings)
        add(fmt::format("market {}: {}", printable(market.name), warning));
  }
  std::vector<std::string> in_python() const { return in_python_words(messages_); }

 private:
  std::mutex mutex_;
  std::vector<std::string> messages_;
};

struct Planned {
  study::Plan plan;
  fs::path file;
  study::RunSettings run;
};

Planned planned(const Values& values, const Log& log) {
  const study::Grid grid = study::grid_of(values);
  const fs::path folder = values.has("out")
                              ? fs::path(values.text("out"))
                              : fs::path(grid.name == "study" ? "study" : "study-" + grid.name);
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    throw InputError(
        fmt::format("out = {} is a file, not a folder; choose another name", shown(folder)));
  return {.plan = study::plan_study(grid, log),
          .file = folder / "study.db",
          .run = {.threads = static_cast<int>(values.integer("threads")),
                  .gigabytes = values.has("memory") ? values.real("memory") : 0.0,
                  .retry = values.flag("retry")}};
}

nb::dict tally_of(const study::Tally& tally) {
  nb::dict out;
  out["cells"] = tally.cells;
  out["done"] = tally.done;
  out["failed"] = tally.failed;
  out["missing"] = tally.cells - tally.done - tally.failed;
  out["computed"] = tally.computed;
  out["trainings"] = tally.trained;
  out["seconds"] = tally.seconds;
  return out;
}

study::Tally run_planned(const Planned& work_of, bool force, Work& work, Warnings& warnings) {
  std::error_code error;
  fs::create_directories(work_of.file.parent_path(), error);
  if (error)
    throw InputError(fmt::format("out = {} cannot be made: {}", shown(work_of.file.parent_path()),
                                 error.message()));
  if (force)
    if (const fs::path other = study::set_aside(work_of.file); !other.empty())
      warnings.add(fmt::format("the study.db that was there is now {}", shown(other)));
  study::Store store(work_of.file, work_of.plan.results);
  warnings.add(work_of.plan);
  work.stage(fmt::format("study {}", work_of.plan.results.name));
  const auto show = [&](const study::StudyProgress& now) {
    work.note(fmt::format("{} of {} cells", now.cells_done, now.cells));
    work.progress(std::min(now.done, now.total), now.total);
  };
  return study::run_study(work_of.plan, store, work_of.run, warnings.log(),
                          {.stop = [&] { return work.stopped(); }}, show);
}

// The file of the study, what became of it, and warnings.
nb::tuple run_study(const SettingTexts& given, const std::string& config, nb::object report) {
  Work work(std::move(report));
  Warnings warnings;
  const auto [file, tally] = work.run([&] {
    const Values values = study_values(given, config);
    const Planned plan = planned(values, warnings.log());
    try {
      return std::pair(plan.file.string(), run_planned(plan, values.flag("force"), work, warnings));
    } catch (const study::StoreFailure& failure) {
      throw Failure(failure.marked());
    }
  });
  return nb::make_tuple(file, tally_of(tally), warnings.in_python());
}

study::Estimate estimated(const Planned& planned, bool force) {
  const study::Plan& plan = planned.plan;
  if (!force)
    return study::estimate_study(plan, study::states_in(planned.file, plan.results), planned.run,
                                 study::kept_in(planned.file));
  // It begins anew.
  const std::vector<study::CellState> states(plan.results.cells.size(), study::CellState::missing);
  return study::estimate_study(plan, states, planned.run);
}

// What it would take, and warnings.
nb::tuple estimate_study(const SettingTexts& given, const std::string& config, nb::object report) {
  Work work(std::move(report));
  Warnings warnings;
  const study::Estimate found = work.run([&] {
    const Values values = study_values(given, config);
    const Planned plan = planned(values, warnings.log());
    warnings.add(plan.plan);
    try {
      return estimated(plan, values.flag("force"));
    } catch (const study::StoreFailure& failure) {
      throw Failure(failure.marked());
    }
  });
  nb::dict out;
  out["cells"] = found.cells;
  out["done"] = found.done;
  out["failed"] = found.failed;
  out["missing"] = found.missing;
  out["trainings"] = found.trainings;
  out["minutes"] = found.minutes;
  out["gigabytes"] = found.gigabytes;
  return nb::make_tuple(out, warnings.in_python());
}

// A study that was read, and what its cells come to.
struct Read {
  std::string file;
  study::Results results;
  report::Summary summary;
};

std::unique_ptr<Read> read(const std::string& file, const SettingTexts& given, bool whole,
                           nb::object report) {
  Work work(std::move(report));
  Read found = work.run([&] {
    work.stage("testing differences");
    const Values values = values_of(settings::report, given);
    const Threads threads(static_cast<int>(values.integer("threads")));
    study::Results results =
        study::read_store(file, whole ? study::Detail::all : study::Detail::returns);
    report::Summary summary =
        report::summarize(results,
                          {.replications = values.integer("replications"),
                           .seed = static_cast<std::uint64_t>(values.integer("seed")),
                           .stop = [&] { return work.stopped(); }},
                          threads);
    return Read{file, std::move(results), std::move(summary)};
  });
  return std::make_unique<Read>(std::move(found));
}

std::string_view state_name(study::CellState state) {
  if (state == study::CellState::done) return "done";
  return state == study::CellState::failed ? "failed" : "missing";
}

nb::list cells(const Read& self) {
  nb::list out;
  for (std::size_t c = 0; c < self.results.cells.size(); ++c) {
    const study::Cell& cell = self.results.cells[c];
    const study::Method& method = self.results.methods[static_cast<std::size_t>(cell.method)];
    nb::dict row;
    row["market"] = self.results.markets[static_cast<std::size_t>(cell.market)].name;
    row["k_given"] = cell.k_given;
    row["k"] = cell.k;
    row["method"] = method.name;
    row["framework"] = method.framework;
    row["optimizer"] = method.optimizer;
    row["seed"] = cell.seed ? nb::cast(*cell.seed) : nb::none();
    row["state"] = std::string(state_name(cell.state));
    row["reason"] = cell.reason;
    for (std::size_t f = 0; f < report::kFigures; ++f)
      row[nb::str(std::string(report::info(static_cast<report::Figure>(f)).name).c_str())] =
          self.summary.of_cells[c][f];
    row["seconds"] = cell.seconds;
    out.append(row);
  }
  return out;
}

// Cell, dates and returns of those that are done.
nb::list runs(const Read& self) {
  nb::list out;
  for (std::size_t c = 0; c < self.results.cells.size(); ++c)
    if (const study::Cell& cell = self.results.cells[c]; cell.state == study::CellState::done)
      out.append(nb::make_tuple(c, cell.run.dates, array_of(cell.run.returns)));
  return out;
}

std::vector<report::Table> chosen(const Read& self, const std::vector<std::string>& names) {
  std::vector<report::Table> all = report::tables(self.results, self.summary);
  return names.empty() ? all : report::chosen(all, names);
}

std::string json(const Read& self) {
  const command::WrittenReport written{.study = self.file,
                                       .format = report::Format::text,
                                       .out = {},
                                       .bytes = 0,
                                       .findings = report::findings(self.results, self.summary),
                                       .tables = report::tables(self.results, self.summary)};
  return command::report_json(written, self.results);
}

std::string document(const Read& self, const std::string& format,
                     const std::vector<std::string>& names) {
  const nb::gil_scoped_release release;
  const report::Format wanted = report::format_of(format);
  if (wanted == report::Format::html && !names.empty())
    throw InputError("table is for text, md, latex and csv; a page has all tables");
  return report::document(self.results, self.summary, chosen(self, names), wanted, names.empty());
}

// A report may take the place of a report; of anything else only by force.
void check_place(const std::string& out, const std::string& study, bool force) {
  std::error_code error;
  if (fs::is_directory(out, error))
    throw InputError(fmt::format("out = {} is a folder; name a file in it", shown(out)));
  if (!fs::is_regular_file(out, error)) return;
  for (const char* ending : {"", "-wal", "-shm", "-journal"})
    if (fs::equivalent(out, study + ending, error) && !error)
      throw InputError(
          fmt::format("out = {} would replace the study; give it another name", shown(out)));
  std::array<char, 600> head{};
  std::ifstream in(out, std::ios::binary);
  in.read(head.data(), head.size());
  const std::string_view text(head.data(), static_cast<std::size_t>(in.gcount()));
  if (!force && !text.empty() && !report::is_report(text))
    throw InputError(fmt::format(
        "out = {} is there already and no report of Sharpen; choose another name, or give force "
        "to replace it",
        shown(out)));
}

}  // namespace

void add_study(nb::module_& module) {
  nb::class_<Read>(module, "Study")
      .def("cells", &cells)
      .def("runs", &runs)
      .def("json", &json)
      .def("document", &document, nb::arg("format"), nb::arg("tables"));
  module.def("run_study", &run_study, nb::arg("settings"), nb::arg("config"),
             nb::arg("report").none());
  module.def("estimate_study", &estimate_study, nb::arg("settings"), nb::arg("config"),
             nb::arg("report").none());
  module.def("read_study", &read, nb::arg("file"), nb::arg("settings"), nb::arg("whole"),
             nb::arg("report").none());
  module.def("check_place", &check_place, nb::arg("out"), nb::arg("study"), nb::arg("force"));
  module.def(
      "write_text",
      [](const std::string& file, const std::string& text) {
        const nb::gil_scoped_release release;
        write_file(file, text);
      },
      nb::arg("file"), nb::arg("text"));
}

}  // namespace sharpen::python
