#include "sharpen/layer/configure.hpp"

#include <cmath>

namespace sharpen::layer {

SizingSettings yearly_sizing(const settings::Values& values, std::string_view setting) {
  const std::string& kind = values.text(setting);
  using enum Sizing;
  return {.kind = kind == "budget"       ? budget
                  : kind == "volatility" ? volatility
                                         : gross,
          .offset = values.real("offset"),
          // The setting is per year; variance grows with the number of periods.
          .target_volatility =
              values.real("target-volatility") / std::sqrt(values.real("periods-per-year"))};
}

}  // namespace sharpen::layer
