#include "sharpen/solve/configure.hpp"

#include <algorithm>

#include "sharpen/layer/configure.hpp"

namespace sharpen::solve {

OptimizerSettings optimizer_settings(const settings::Values& values) {
  const auto has = [&](std::string_view name) { return values.takes(name) && values.has(name); };
  OptimizerSettings out;
  if (has("k")) out.k = values.count_or_share("k");
  if (has("net")) out.net = values.text("net") == "any" ? layer::Net::any : layer::Net::positive;
  if (has("periods-per-year")) out.sizing = layer::yearly_sizing(values);
  if (has("shrinkage")) out.shrinkage = values.real("shrinkage");
  if (has("form")) out.form = layer::form_of(values);
  if (has("sdr-recovery") && values.text("sdr-recovery") == "match")
    out.sdr_recovery = baseline::Recovery::match;
  if (has("sdr-match")) out.sdr_monthly = values.text("sdr-match") == "monthly";
  if (has("sdr-gap")) out.sdr_gap = values.real("sdr-gap");
  return out;
}

Index names_to_hold(const settings::CountOrShare& k, Index m) {
  const bool count = k.percent == 0.0;
  return count ? std::min(static_cast<Index>(k.count), m) : k.of(m, "k");
}

}  // namespace sharpen::solve
