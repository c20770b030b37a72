#include "sharpen/command/simulate.hpp"

#include "command/json_keys.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::command {

namespace {

Keys<SimulateAnswer> simulate_keys() {
  return answer_keys<SimulateAnswer>(
      "simulate", "`simulate`",
      {{{"out", "the file written", &SimulateAnswer::out},
        {"assets", "its size", [](auto& a) { return a.market.prices.n(); }},
        {"days", "", [](auto& a) { return a.market.prices.rows(); }},
        {"from", "its first and last date", [](auto& a) { return a.market.prices.dates.front(); }},
        {"to", "", [](auto& a) { return a.market.prices.dates.back(); }},
        {"seed", "the settings used ([simulation.md](simulation.md))",
         [](auto& a) { return a.settings.seed; }},
        {"predictability", "", [](auto& a) { return a.settings.predictability; }},
        {"signal_life", "",
         [](auto& a) { return a.settings.signal_life ? Json(*a.settings.signal_life) : Json(); }},
        {"factors", "", [](auto& a) { return a.settings.factors; }},
        {"warnings", kWarningsMeaning, [](auto&) { return Json::array(); }}}});
}

}  // namespace

market::SimulationSettings simulation_settings(const settings::Values& values) {
  market::SimulationSettings out;
  settings::fill(values, out);
  return out;
}

SimulateAnswer simulate_answer(const settings::Values& values, bool expected, const Stop& stop) {
  SimulateAnswer answer{.settings = simulation_settings(values)};
  if (values.has("out")) check_writable(values.text("out"));
  if (expected)
    answer.market = market::simulate_market(answer.settings, stop);
  else
    answer.market.prices = market::simulate(answer.settings, stop);
  if (!values.has("out")) return answer;
  answer.out = values.text("out");
  market::write_panel(answer.market.prices, answer.out);
  return answer;
}

std::string simulate_json(const SimulateAnswer& answer) { return json_text<simulate_keys>(answer); }

Section simulate_section() {
  return {"simulate",
          {"Needs `--out`: without it the prices themselves go to standard output."},
          listed(simulate_keys())};
}

}  // namespace sharpen::command
