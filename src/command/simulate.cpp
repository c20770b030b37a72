#include "sharpen/command/simulate.hpp"

#include "command/json_text.hpp"

namespace sharpen::command {

std::string simulation_json(const market::SimulationSettings& settings, const market::Panel& prices,
                            const std::string& file) {
  Json out;
  out["schema_version"] = kSchemaVersion;
  out["command"] = "simulate";
  out["out"] = file;
  out["assets"] = prices.n();
  out["days"] = prices.rows();
  out["from"] = prices.dates.front();
  out["to"] = prices.dates.back();
  out["seed"] = settings.seed;
  out["predictability"] = settings.predictability;
  out["factors"] = settings.factors;
  out["warnings"] = Json::array();
  return json_text(out);
}

}  // namespace sharpen::command
