// sharpen.backtest and sharpen.compare.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
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
#include "sharpen/command/backtest.hpp"
#include "sharpen/command/compare.hpp"
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
    command::BacktestInputs inputs;
    inputs.panel = copy_of(panel);
    if (signal != nullptr) inputs.signal = signal->raw.panel;
    if (model != nullptr) inputs.model = model->model;
    return command::backtest_answer(values_with_preset(settings::backtest, given),
                                    std::move(inputs), Log(), work.control());
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
  const backtest::BacktestResult& result = self.answer.result;
  for (const auto& [title, column] :
       {std::pair{"trading_cost", &run.trading_costs}, std::pair{"short_fee", &run.short_fees},
        std::pair{"financing", &run.financing},
        std::pair{"delayed_return", &result.delayed_returns},
        std::pair{"equal_return", &result.equal_returns}})
    if (column->size() == run.dates.size()) out[title] = array_of(*column);
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
  Work work{nb::none()};
  work.run([&] {
    command::backtest_folder(Values(settings::backtest), folder, force)
        .write(contents, {}, work.control().stop);
    return true;
  });
}

// Raises InputError for a folder that cannot be written to.
void check_folder(const SettingTexts& given, const std::string& folder, bool force) {
  const nb::gil_scoped_release release;
  command::backtest_folder(values_of(settings::backtest, given), folder, force);
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

command::NamedRun named_run(RunParts parts, const char* argument) {
  auto [label, dates, returns, periods, rate, start] = std::move(parts);
  return {argument,
          {.label = std::move(label),
           .dates = std::move(dates),
           .returns = std::move(returns),
           .periods_per_year = periods,
           .risk_free = rate,
           .stats_from_date = std::move(start)}};
}

// `a`, `b`: of backtests; none: the settings first and second name their folders.
nb::tuple compared(const SettingTexts& given, std::optional<RunParts> a, std::optional<RunParts> b,
                   nb::object report) {
  Work work(std::move(report));
  const command::Comparison found = work.run([&] {
    command::CompareInputs inputs;
    if (a) inputs.a = named_run(std::move(*a), "a");
    if (b) inputs.b = named_run(std::move(*b), "b");
    return command::compare_answer(values_of(settings::compare, given), std::move(inputs),
                                   work.control());
  });
  return nb::make_tuple(command::compare_json(found),
                        in_python_words(command::compare_text(found)));
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
  module.def("write_backtest", &write, nb::arg("folder"), nb::arg("force"), nb::arg("files"));
  module.def("check_folder", &check_folder, nb::arg("settings"), nb::arg("folder"),
             nb::arg("force"));
  module.def("compare", &compared, nb::arg("settings"), nb::arg("a").none(), nb::arg("b").none(),
             nb::arg("report").none());
}

}  // namespace sharpen::python
