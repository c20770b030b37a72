#include <fmt/format.h>

#include "commands.hpp"
#include "output.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/command/simulate.hpp"
#include "sharpen/market/simulate.hpp"

namespace sharpen::app {

namespace {

market::SimulationSettings simulation_settings(const settings::Values& values) {
  market::SimulationSettings out;
  settings::fill(values, out);
  return out;
}

std::string answer_text(const market::SimulationSettings& settings, const market::Panel& prices,
                        const std::string& file) {
  const std::string kind =
      settings.predictability == 0.0
          ? "a null market: every expected return is zero"
          : fmt::format("predictability {}", shortest(settings.predictability));
  return fmt::format("Wrote {}: {} asset{}, {} days from {} to {}; seed {}, {}.\n",
                     printable(file, file.size()), prices.n(), prices.n() == 1 ? "" : "s",
                     prices.rows(), prices.dates.front(), prices.dates.back(), settings.seed, kind);
}

}  // namespace

void run_simulate(const settings::Values& values) {
  const market::SimulationSettings settings = simulation_settings(values);
  settings.validate();
  if (values.flag("print-config")) return print(values.to_toml());
  if (!values.has("out")) {
    if (values.flag("json"))
      throw InputError(
          "‹--json› needs ‹--out FILE›: without it the prices themselves go to standard output");
    return print(market::panel_csv(market::simulate(settings)));
  }
  const std::string& file = values.text("out");
  const market::Panel prices = market::simulate(settings);
  market::write_panel(prices, file);
  print(values.flag("json") ? command::simulation_json(settings, prices, file)
                            : answer_text(settings, prices, file));
}

}  // namespace sharpen::app
