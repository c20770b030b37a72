#include "sharpen/layer/configure.hpp"

#include <cmath>

namespace sharpen::layer {

SizingSettings per_period(SizingSettings yearly, double periods_per_year) {
  yearly.target_volatility /= std::sqrt(periods_per_year);
  return yearly;
}

SizingSettings sizing_settings(const settings::Values& values) {
  return sizing_settings(values, values.real("periods-per-year"));
}

SizingSettings sizing_settings(const settings::Values& values, double periods_per_year) {
  SizingSettings yearly;
  settings::fill(values, yearly);
  return per_period(yearly, periods_per_year);
}

}  // namespace sharpen::layer
