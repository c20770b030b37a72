// What the scikit-learn estimator fits: a portfolio from a window of returns as it is. Its data
// come from pipelines, which have cleaned and transformed them in their own ways.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "models.hpp"
#include "module.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/solve/solve.hpp"
#include "work.hpp"

namespace sharpen::python {

namespace {

// What look like prices would be refused in a panel; a pipeline may mean what it made.
std::vector<std::string> doubts(ConstMat X) {
  try {
    market::check_kind({X.data, static_cast<std::size_t>(X.rows * X.cols)},
                       market::PanelKind::returns, "X");
  } catch (const InputError& error) {
    const std::string what = error.what();
    return {what.substr(0, what.find(';')) + "; fit simple returns: prices.pct_change().dropna()"};
  }
  return {};
}

nb::tuple fit(const Matrix& returns, const std::vector<std::string>& names,
              const SettingTexts& given) {
  Work work{nb::none()};
  const solve::Solution found = work.run([&] {
    const ConstMat X = view(returns);
    if (static_cast<Index>(names.size()) != X.cols) throw InputError("every column needs a name");
    market::Panel panel{
        .dates = {}, .tickers = names, .values = {X.data, X.data + X.rows * X.cols}};
    for (Index t = 0; t < X.rows; ++t) panel.dates.push_back("row " + std::to_string(t));
    settings::Values values = values_of(settings::solve, given);
    const Threads threads(static_cast<int>(values.integer("threads")));
    auto input = solve::window_input(values, std::move(panel), "X", doubts(X), threads);
    return solve::solve(values, std::move(input), work.control().stop);
  });
  return nb::make_tuple(array_of(found.portfolio.weights), found.portfolio.sharpe,
                        found.full_sharpe, std::string(name(found.portfolio.outcome.status)),
                        in_python_words(found.warnings));
}

}  // namespace

void add_estimator(nb::module_& module) {
  module.def("fit", &fit, nb::arg("returns"), nb::arg("names"), nb::arg("settings"),
             "Weights, Sharpe ratio, that without a bound on the names, status, warnings.");
}

}  // namespace sharpen::python
