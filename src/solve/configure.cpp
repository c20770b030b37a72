#include "sharpen/solve/configure.hpp"

#include <algorithm>

#include "sharpen/layer/sizing.hpp"

namespace sharpen::solve {

OptimizerSettings optimizer_settings(const settings::Values& values) {
  OptimizerSettings out;
  settings::fill<layer::MandateSettings>(values, out);
  settings::fill(values, out);
  if (values.takes("periods-per-year") && values.has("periods-per-year"))
    out.sizing = layer::sizing_settings(values);
  return out;
}

Index names_to_hold(const settings::CountOrShare& k, Index m) {
  const bool count = k.percent == 0.0;
  return count ? std::min(static_cast<Index>(k.count), m) : k.of(m, "k");
}

}  // namespace sharpen::solve
