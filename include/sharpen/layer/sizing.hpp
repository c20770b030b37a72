// Sizing: the map from a direction y of unit risk, with t = 1^T y, to weights w.
//   budget      w = y / (t + c)       c the paper's small offset; 1/c on the t = 0 face
//   volatility  w = sigma* y          sigma* the target volatility per period
//   gross       w = y / ||y||_1
#pragma once

#include <array>
#include <string_view>

#include "sharpen/base/named.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen::layer {

enum class Sizing { budget, volatility, gross };
constexpr std::array<std::string_view, 3> names(Sizing) {
  return {"budget", "volatility", "gross"};
}

// Whether the net position 1^T y must not be negative (the paper), or may be anything.
enum class Net { positive, any };
constexpr std::array<std::string_view, 2> names(Net) { return {"positive", "any"}; }

struct SizingSettings {
  Sizing kind = Sizing::gross;
  double offset = 0.01;             // c > 0, for budget
  double target_volatility = 0.10;  // sigma* > 0 per period, for volatility

  void validate() const;
};

// w (n) from y (n) and t.
void sizing_forward(const SizingSettings& settings, ConstVec y, double t, Vec w);

// dL_dy (n) and dL_dt from dL_dw (n); y, t, w as forward saw and gave them.
void sizing_vjp(const SizingSettings& settings, ConstVec y, double t, ConstVec w, ConstVec dL_dw,
                Vec dL_dy, double& dL_dt);

// A target volatility per year as one per period: variance grows with the number of periods.
SizingSettings per_period(SizingSettings yearly, double periods_per_year);

// sizing, offset and target-volatility, which is given per year and applied per period.
SizingSettings sizing_settings(const settings::Values& values);
// The same with a number of periods that the settings may leave open.
SizingSettings sizing_settings(const settings::Values& values, double periods_per_year);

}  // namespace sharpen::layer
