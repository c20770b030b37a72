#include "sharpen/learn/configure.hpp"

#include <fmt/format.h>

#include "sharpen/base/error.hpp"
#include "sharpen/layer/configure.hpp"
#include "sharpen/learn/framework.hpp"

namespace sharpen::learn {

TrainSettings training_settings(const settings::Values& values) {
  if (values.count_or_all("lookback").all)
    throw InputError(fmt::format(
        "{} = all has no meaning for a network, whose windows have one length; give a number",
        values.given_as("lookback")));
  TrainSettings out;
  settings::fill(values, out);
  settings::fill(values, out.adam);
  settings::fill(values, out.layer);
  out.layer.sizing = layer::sizing_settings(values);
  if (!framework_named(values.text("framework")).decides) out.alpha = 0.0;
  return out;
}

}  // namespace sharpen::learn
