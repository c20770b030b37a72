// sharpen.solve: solve/solve.hpp from arrays that are in memory, or from a file.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>

#include "module.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/market/panel_input.hpp"
#include "sharpen/solve/solve.hpp"

namespace sharpen::python {

namespace {

using settings::Values;

// A solution and the settings it came from, so that it can be explained later.
struct Solved {
  Values values;
  solve::Solution solution;
};

std::unique_ptr<Solved> solved(Values values, solve::SolveInput input) {
  solve::Solution solution = solve::solve(values, std::move(input));
  return std::make_unique<Solved>(Solved{std::move(values), std::move(solution)});
}

Threads threads_of(const Values& values) {
  return Threads(static_cast<int>(values.integer("threads")));
}

market::PanelKind kind_of(const std::string& name) {
  using enum market::PanelKind;
  return name == "returns" ? returns : name == "gross" ? gross_returns : prices;
}

std::unique_ptr<Solved> solve_panel(const Matrix& cells, std::vector<std::string> tickers,
                                    std::vector<std::string> dates, bool dated,
                                    const std::string& kind, const SettingTexts& given) {
  const nb::gil_scoped_release release;
  const ConstMat values = view(cells);
  market::RawPanel raw;
  raw.kind = kind_of(kind);
  raw.file = kind == "prices" ? "prices" : "returns";  // the argument, for messages
  raw.panel.dates = std::move(dates);
  raw.panel.tickers = std::move(tickers);
  raw.panel.values.assign(values.data, values.data + values.rows * values.cols);
  if (raw.panel.rows() != values.rows || raw.panel.n() != values.cols)
    throw InputError("every row needs a label and every column a name");
  Values settings = values_of(settings::solve, given);
  market::PanelInput panel = market::memory_panel_input(settings, std::move(raw), dated);
  const Threads threads = threads_of(settings);
  auto input = solve::window_input(settings, std::move(panel.returns), std::move(panel.file),
                                   std::move(panel.warnings), threads);
  return solved(std::move(settings), std::move(input));
}

std::unique_ptr<Solved> solve_file(const std::string& file, const std::string& kind,
                                   SettingTexts given) {
  const nb::gil_scoped_release release;
  given[kind == "prices" ? "prices" : "returns"] = file;
  if (kind == "gross") given["gross"] = "true";
  Values settings = values_of(settings::solve, given);
  market::PanelInput panel = market::read_panel_input(settings, Log());
  const Threads threads = threads_of(settings);
  auto input = solve::window_input(settings, std::move(panel.returns), std::move(panel.file),
                                   std::move(panel.warnings), threads);
  return solved(std::move(settings), std::move(input));
}

std::unique_ptr<Solved> solve_moments(const Vector& mean, const Matrix& covariance,
                                      std::vector<std::string> tickers, const SettingTexts& given) {
  const nb::gil_scoped_release release;
  const ConstVec mu = view(mean);
  const ConstMat Sigma = view(covariance);
  const auto n = static_cast<Index>(mu.size());
  if (Sigma.rows != n || Sigma.cols != n || static_cast<Index>(tickers.size()) != n)
    throw InputError("mu, Sigma and the names differ in size");
  market::Moments moments{.tickers = std::move(tickers),
                          .mean = {mu.begin(), mu.end()},
                          .covariance = {Sigma.data, Sigma.data + n * n}};
  Values settings = values_of(settings::solve, given);
  auto input = solve::moments_input(settings, std::move(moments), "Sigma");
  return solved(std::move(settings), std::move(input));
}

solve::Solution explained(const Solved& self) {
  Values values = self.values;
  values.set_flag("explain", "true");
  const solve::SolveInput& from = self.solution.input;
  solve::SolveInput input;
  if (from.window) {
    market::Panel returns = from.returns;
    input = solve::window_input(values, std::move(returns), from.file, {}, threads_of(values));
  } else {
    market::Moments moments{from.tickers, from.mu, from.covariance};
    input = solve::moments_input(values, std::move(moments), from.file);
  }
  return solve::solve(values, std::move(input));
}

// Explaining needs parts of the risk model that solving does not: solve again with them. Threads
// may do so at once; the first to be done stores its answer under Python's lock, and nobody
// replaces what others may be reading.
void explain(Solved& self) {
  if (self.solution.explanation) return;
  auto found = [&] {
    const nb::gil_scoped_release release;
    return explained(self).explanation;
  }();
  if (!self.solution.explanation) self.solution.explanation = std::move(found);
}

nb::list reasons(Solved& self) {
  explain(self);
  nb::list out;
  const auto& tickers = self.solution.input.tickers;
  for (const select::Reason& reason : self.solution.explanation->reasons) {
    nb::dict row;
    const auto i = static_cast<std::size_t>(reason.asset);
    row["asset"] = tickers[i];
    row["weight"] = self.solution.portfolio.weights[i];
    row["mu"] = reason.mu;
    row["score"] = reason.score;
    row["score_rank"] = reason.score_rank;
    row["risk_contribution"] = reason.risk_contribution;
    row["sharpe_lost_if_removed"] = reason.sharpe_lost_if_removed;
    out.append(row);
  }
  return out;
}

nb::object best_left_out(Solved& self) {
  explain(self);
  const auto& best = self.solution.explanation->best_left_out;
  if (!best) return nb::none();
  nb::dict row;
  row["asset"] = self.solution.input.tickers[static_cast<std::size_t>(best->asset)];
  row["sharpe_gain"] = best->sharpe_gain;
  return row;
}

// The keys of `sharpen solve --json`, but for those that are attributes of their own.
nb::dict figures(const Solved& self) {
  const solve::Solution& solution = self.solution;
  nb::dict out;
  out["status"] = std::string(name(solution.portfolio.outcome.status));
  out["status_text"] = std::string(solution.status_text());
  out["sharpe"] = solution.portfolio.sharpe;
  out["sharpe_annualized"] = solution.annualized(solution.portfolio.sharpe);
  out["full_sharpe"] = solution.full_sharpe;
  out["full_sharpe_annualized"] = solution.annualized(solution.full_sharpe);
  out["share_of_full"] = solution.share_of_full();
  out["gross_exposure"] = solution.exposure.gross;
  out["net_exposure"] = solution.exposure.net;
  out["expected_return"] = solution.exposure.expected_return;
  out["volatility"] = solution.exposure.volatility;
  out["volatility_annualized"] = solution.annualized(solution.exposure.volatility);
  out["cardinality"] = solution.held().size();
  out["k"] = solution.settings.k;
  out["n"] = solution.input.n();
  out["optimizer"] = solution.optimizer;
  if (solution.iterations) out["iterations"] = *solution.iterations;
  if (solution.certified) out["certified"] = *solution.certified;
  if (const auto& bound = solution.bound) {
    out["sharpe_upper_bound"] = bound->sharpe;
    out["share_of_bound"] = solution.share_of_bound();
    out["bound_from"] = std::string(baseline::name(bound->from));
    out["bound_status"] = std::string(name(bound->status));
    out["gap"] = bound->gap;
  }
  out["shrinkage"] = solution.input.shrinkage;
  out["jitter"] = solution.portfolio.outcome.jitter;
  out["neutral_first"] = solution.portfolio.outcome.neutral_first;
  out["periods_per_year"] = solution.periods_per_year;
  if (const auto& window = solution.input.window) {
    nb::dict rows;
    rows["from"] = window->from;
    rows["to"] = window->to;
    rows["rows"] = window->rows;
    out["window"] = rows;
  }
  return out;
}

std::vector<std::string> warnings(const Solved& self) {
  std::vector<std::string> out;
  for (const std::string& warning : self.solution.warnings) out.push_back(in_python_words(warning));
  return out;
}

}  // namespace

void add_solve(nb::module_& module) {
  nb::class_<Solved>(module, "Solved")
      .def_prop_ro("names", [](const Solved& self) { return self.solution.input.tickers; })
      .def_prop_ro("weights",
                   [](const Solved& self) { return array_of(self.solution.portfolio.weights); })
      .def_prop_ro("mu", [](const Solved& self) { return array_of(self.solution.input.mu); })
      .def_prop_ro("figures", &figures)
      .def_prop_ro("warnings", &warnings)
      .def("reasons", &reasons)
      .def("best_left_out", &best_left_out);
  module.def("solve_panel", &solve_panel, nb::arg("values"), nb::arg("names"), nb::arg("dates"),
             nb::arg("dated"), nb::arg("kind"), nb::arg("settings"));
  module.def("solve_file", &solve_file, nb::arg("file"), nb::arg("kind"), nb::arg("settings"));
  module.def("solve_moments", &solve_moments, nb::arg("mu"), nb::arg("Sigma"), nb::arg("names"),
             nb::arg("settings"));
}

}  // namespace sharpen::python
