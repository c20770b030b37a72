// sharpen.solve: from arrays that are in memory, or from a file.
#include "sharpen/command/solve.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "panels.hpp"
#include "sharpen/base/error.hpp"
#include "work.hpp"

namespace sharpen::python {

namespace {

using settings::Values;
using Portfolio = std::vector<std::pair<std::string, double>>;

// A solution and the settings it came from, so that it can be explained later.
struct Solved {
  Values values;
  command::Solution solution;
};

// `inputs` makes the inputs, without the GIL.
template <class Inputs>
std::unique_ptr<Solved> solved(const SettingTexts& given, const Inputs& inputs) {
  Work work{nb::none()};
  return work.run([&] {
    Values values = values_of(settings::solve, given);
    command::Solution solution = command::solve_answer(values, inputs(), Log(), work.control());
    return std::make_unique<Solved>(Solved{std::move(values), std::move(solution)});
  });
}

std::optional<std::vector<backtest::NamedWeight>> held(const std::optional<Portfolio>& previous) {
  if (!previous) return std::nullopt;
  std::vector<backtest::NamedWeight> out;
  for (const auto& [asset, weight] : *previous) out.push_back({asset, weight});
  return out;
}

std::unique_ptr<Solved> solve(const SettingTexts& given, const MemoryPanel* panel,
                              const std::optional<Portfolio>& previous) {
  return solved(given, [&] {
    return command::SolveInputs{.panel = copy_of(panel), .previous = held(previous)};
  });
}

std::unique_ptr<Solved> solve_moments(const Vector& mean, const Matrix& covariance,
                                      std::vector<std::string> tickers, const SettingTexts& given,
                                      const std::optional<Portfolio>& previous) {
  const ConstVec mu = view(mean);
  const ConstMat Sigma = view(covariance);
  const auto n = static_cast<Index>(mu.size());
  if (Sigma.rows != n || Sigma.cols != n || static_cast<Index>(tickers.size()) != n)
    throw InputError("mu, Sigma and the names differ in size");
  return solved(given, [&] {
    return command::SolveInputs{
        .moments = market::Moments{.tickers = std::move(tickers),
                                   .mean = {mu.begin(), mu.end()},
                                   .covariance = {Sigma.data, Sigma.data + n * n}},
        .previous = held(previous)};
  });
}

// Explaining needs parts of the risk model that solving does not: solve again with them. Threads
// may do so at once; the first to be done stores its answer under Python's lock, and nobody
// replaces what others may be reading.
void explain(Solved& self) {
  if (self.solution.explanation) return;
  Work work{nb::none()};
  auto found = work.run(
      [&] { return command::explained(self.values, self.solution, work.control()).explanation; });
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

// Empty without limits.
nb::list binding_limits(Solved& self) {
  explain(self);
  nb::list out;
  for (const select::BindingLimit& limit : self.solution.explanation->binding) {
    nb::dict row;
    row["limit"] = limit.name;
    row["asset"] = limit.asset < 0 ? nb::object(nb::none())
                                   : nb::cast(self.solution.input.tickers[at(limit.asset)]);
    row["value"] = limit.value;
    row["at"] = limit.limit;
    row["multiplier"] = limit.multiplier;
    row["sharpe_cost"] = limit.sharpe_cost;
    out.append(row);
  }
  return out;
}

}  // namespace

void add_solve(nb::module_& module) {
  nb::class_<Solved>(module, "Solved")
      .def_prop_ro("names", [](const Solved& self) { return self.solution.input.tickers; })
      .def_prop_ro("weights",
                   [](const Solved& self) { return array_of(self.solution.portfolio.weights); })
      .def_prop_ro("mu", [](const Solved& self) { return array_of(self.solution.input.mu); })
      .def_prop_ro("warnings",
                   [](const Solved& self) { return in_python_words(self.solution.warnings); })
      .def("json", [](const Solved& self) { return command::solve_json(self.solution); })
      .def_prop_ro("explained",
                   [](const Solved& self) { return self.solution.explanation.has_value(); })
      .def("reasons", &reasons)
      .def("best_left_out", &best_left_out)
      .def("binding_limits", &binding_limits);
  module.def("solve", &solve, nb::arg("settings"), nb::arg("panel").none(),
             nb::arg("previous").none());
  module.def("solve_moments", &solve_moments, nb::arg("mu"), nb::arg("Sigma"), nb::arg("names"),
             nb::arg("settings"), nb::arg("previous").none() = nb::none());
}

}  // namespace sharpen::python
