#include "sharpen/layer/sizing.hpp"

#include <cmath>

#include "base/vec.hpp"

namespace sharpen::layer {

namespace {

// w = factor y.
double factor(const SizingSettings& settings, ConstVec y, double t) {
  switch (settings.kind) {
    case Sizing::budget: return 1.0 / (t + settings.offset);
    case Sizing::volatility: return settings.target_volatility;
    case Sizing::gross: return 1.0 / abs_sum(y);
  }
  return 0.0;
}

}  // namespace

void SizingSettings::validate() const { settings::check(*this); }

void sizing_forward(const SizingSettings& settings, ConstVec y, double t, Vec w) {
  const double scale = factor(settings, y, t);
  for (std::size_t i = 0; i < y.size(); ++i) w[i] = scale * y[i];
}

void sizing_vjp(const SizingSettings& settings, ConstVec y, double t, ConstVec w, ConstVec dL_dw,
                Vec dL_dy, double& dL_dt) {
  const double scale = factor(settings, y, t);
  dL_dt = 0.0;
  switch (settings.kind) {
    case Sizing::budget:  // g / (t + c), and -g^T y / (t + c)^2 for t
      dL_dt = -dot(dL_dw, y) * scale * scale;
      [[fallthrough]];
    case Sizing::volatility:
      for (std::size_t i = 0; i < y.size(); ++i) dL_dy[i] = scale * dL_dw[i];
      return;
    case Sizing::gross: {  // (g - sign(y) g^T w) / |y|_1; the derivative of |.| at 0 is 0
      const double along = dot(dL_dw, w);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const double sign = (y[i] > 0.0) - (y[i] < 0.0);
        dL_dy[i] = scale * (dL_dw[i] - sign * along);
      }
      return;
    }
  }
}

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
