// sharpen.backtest and sharpen.compare.
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

#include "models.hpp"
#include "panels.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/command/backtest.hpp"
#include "sharpen/command/compare.hpp"
#include "sharpen/command/output_folder.hpp"
#include "sharpen/learn/train.hpp"
#include "work.hpp"

namespace sharpen::python {

namespace {

using settings::Values;

struct Tested {
  command::BacktestAnswer answer;

  const backtest::Run& run() const { return answer.result.run; }
};

std::unique_ptr<Tested> backtested(const SettingTexts& given, const MemoryPanel* panel,
                                   const MemoryPanel* signal, const MemoryModel* model,
                                   nb::object report) {
  Work work(std::move(report));
  auto answer = work.run([&] {
    const Values values = values_with_preset(settings::backtest, given);
    command::BacktestInputs inputs;
    inputs.panel = copy_of(panel);
    if (signal != nullptr) inputs.signal = signal->raw.panel;
    if (model != nullptr) inputs.model = model->model;
    work.stage("reading the panel");
    command::BacktestJob job = command::read_backtest(values, std::move(inputs), Log());
    try {
      return command::run_job(std::move(job),
                              {.stage = [&](std::string_view text) { work.stage(text); },
                               .progress =
                                   [&](Index done, Index total) {
                                     work.progress(static_cast<double>(done),
                                                   static_cast<double>(total));
                                   },
                               .stop = [&] { return work.stopped(); }});
    } catch (const learn::Diverged& diverged) {
      throw Failure(diverged.marked());
    }
  });
  return std::make_unique<Tested>(Tested{std::move(answer)});
}

// Which period each of the listed items belongs to.
nb::object periods_of(const std::vector<Index>& begin) {
  std::vector<std::int64_t> out;
  for (std::size_t p = 0; p + 1 < begin.size(); ++p)
    out.insert(out.end(), static_cast<std::size_t>(begin[p + 1] - begin[p]),
               static_cast<std::int64_t>(p));
  return array_of(std::move(out));
}

template <class Item, class Field>
auto column(const std::vector<Item>& items, Field field) {
  using Value = std::remove_cvref_t<decltype(items.front().*field)>;
  std::vector<Value> out;
  out.reserve(items.size());
  for (const Item& item : items) out.push_back(item.*field);
  return array_of(std::move(out));
}

// The columns of returns.csv, and benchmark where there is one.
nb::dict columns(const Tested& self) {
  const backtest::Run& run = self.run();
  std::vector<std::string> statuses;
  for (const backtest::PeriodStatus status : run.status)
    statuses.emplace_back(backtest::name(status));
  nb::dict out;
  out["return"] = array_of(run.returns);
  out["gross_return"] = array_of(run.gross_returns);
  out["cost"] = array_of(run.costs);
  out["turnover"] = array_of(run.turnover);
  out["net_exposure"] = array_of(run.net);
  out["gross_exposure"] = array_of(run.gross);
  out["holdings"] = array_of(run.holdings);
  out["status"] = statuses;
  if (!run.benchmark.empty()) out["benchmark"] = array_of(run.benchmark);
  return out;
}

nb::tuple weights(const Tested& self) {
  const backtest::Run& run = self.run();
  return nb::make_tuple(periods_of(run.weights_begin),
                        column(run.weights, &backtest::Position::asset),
                        column(run.weights, &backtest::Position::weight));
}

nb::tuple trades(const Tested& self) {
  const backtest::Run& run = self.run();
  return nb::make_tuple(periods_of(run.trades_begin), column(run.trades, &backtest::Trade::asset),
                        column(run.trades, &backtest::Trade::from),
                        column(run.trades, &backtest::Trade::to));
}

using Files = std::vector<std::pair<std::string, std::string>>;

// Names and contents of what --out writes.
Files files(const Tested& self) {
  const nb::gil_scoped_release release;
  return command::backtest_files(self.answer);
}

void write(const std::string& folder, bool force, const Files& contents) {
  const nb::gil_scoped_release release;
  const command::OutputFolder out(folder, force, "backtest", command::backtest_file_names());
  out.write(contents);
}

void check_folder(const std::string& folder, bool force) {
  const nb::gil_scoped_release release;
  command::OutputFolder(folder, force, "backtest", command::backtest_file_names());
}

// What a comparison needs of a run: label, dates, returns, periods a year, the risk-free rate of a
// period, and the date that statistics start at.
using RunParts = std::tuple<std::string, std::vector<std::string>, std::vector<double>, double,
                            double, std::string>;

RunParts run_parts(const Tested& self) {
  const backtest::Run& run = self.run();
  return {self.answer.label, run.dates,
          run.returns,       self.answer.settings.periods_per_year,
          run.risk_free,     self.answer.date(run.stats_from)};
}

// The parts of a backtest, or the folder of one.
command::NamedRun named_run(const nb::object& source, const char* argument) {
  if (nb::isinstance<nb::str>(source)) {
    const auto folder = nb::cast<std::string>(source);
    return {folder, backtest::read_run(folder)};
  }
  auto [label, dates, returns, periods, rate, start] = nb::cast<RunParts>(source);
  return {argument,
          {.label = std::move(label),
           .dates = std::move(dates),
           .returns = std::move(returns),
           .periods_per_year = periods,
           .risk_free = rate,
           .stats_from_date = std::move(start)}};
}

nb::tuple compared(const SettingTexts& given, const nb::object& a, const nb::object& b,
                   nb::object report) {
  const command::NamedRun first = named_run(a, "a"), second = named_run(b, "b");
  Work work(std::move(report));
  const command::Comparison found = work.run([&] {
    work.stage("resampling");
    return command::compare_runs(first, second, values_of(settings::compare, given),
                                 {.progress =
                                      [&](Index done, Index total) {
                                        work.progress(static_cast<double>(done),
                                                      static_cast<double>(total));
                                      },
                                  .stop = [&] { return work.stopped(); }});
  });
  return nb::make_tuple(command::comparison_json(found),
                        in_python_words(command::comparison_text(found)));
}

}  // namespace

void add_backtests(nb::module_& module) {
  nb::class_<Tested>(module, "Tested")
      .def_prop_ro("names", [](const Tested& self) { return self.answer.result.tickers; })
      .def_prop_ro("dates", [](const Tested& self) { return self.run().dates; })
      .def_prop_ro("columns", &columns)
      .def_prop_ro("weights", &weights, "Period, asset and weight of every position.")
      .def_prop_ro("trades", &trades, "Period, asset, weight before and after of every trade.")
      .def_prop_ro("warnings",
                   [](const Tested& self) { return in_python_words(self.answer.warnings); })
      .def("json", [](const Tested& self) { return command::backtest_json(self.answer); })
      .def("text",
           [](const Tested& self) { return in_python_words(command::backtest_text(self.answer)); })
      .def("run", &run_parts, "What a comparison needs of it.")
      .def("files", &files, "Names and contents of the files that out has.");
  module.def("backtest", &backtested, nb::arg("settings"), nb::arg("panel").none(),
             nb::arg("signal").none(), nb::arg("model").none(), nb::arg("report").none());
  module.def("backtest_file_names", &command::backtest_file_names,
             "All that out may come to hold.");
  module.def("write_backtest", &write, nb::arg("folder"), nb::arg("force"), nb::arg("files"));
  module.def("check_folder", &check_folder, nb::arg("folder"), nb::arg("force"));
  module.def("compare", &compared, nb::arg("settings"), nb::arg("a"), nb::arg("b"),
             nb::arg("report").none());
}

}  // namespace sharpen::python
