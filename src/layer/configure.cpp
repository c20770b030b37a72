#include "sharpen/layer/configure.hpp"

#include <cmath>

namespace sharpen::layer {

SizingSettings sizing_per_period(const settings::Values& values, double periods_per_year,
                                 std::string_view setting) {
  const std::string& kind = values.text(setting);
  using enum Sizing;
  return {.kind = kind == "budget"       ? budget
                  : kind == "volatility" ? volatility
                                         : gross,
          .offset = values.real("offset"),
          // The setting is per year; variance grows with the number of periods.
          .target_volatility = values.real("target-volatility") / std::sqrt(periods_per_year)};
}

SizingSettings yearly_sizing(const settings::Values& values, std::string_view setting) {
  return sizing_per_period(values, values.real("periods-per-year"), setting);
}

risk::Form form_of(const settings::Values& values) {
  const std::string& name = values.text("form");
  if (name == "dense") return risk::Form::dense;
  return name == "low-rank" ? risk::Form::low_rank : risk::Form::automatic;
}

}  // namespace sharpen::layer
