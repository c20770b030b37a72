#include "sharpen/learn/framework.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::learn {

namespace {

constexpr std::array<FrameworkInfo, 5> kFrameworks = {{
    {.framework = Framework::rolling,
     .name = "rolling",
     .label = "Rolling",
     .sentence = "mean of the window"},
    {.framework = Framework::historic,
     .name = "historic",
     .label = "Historic",
     .sentence = "mean of the training part, the same at every decision",
     .training_mean = true},
    {.framework = Framework::signal,
     .name = "signal",
     .label = "signal",
     .sentence = "the row of `--signal FILE` with the date of the decision",
     .needs_file = true},
    {.framework = Framework::pfl,
     .name = "pfl",
     .label = "PFL",
     .sentence = "what networks expect that are trained to predict",
     .learns = true},
    {.framework = Framework::dfl,
     .name = "dfl",
     .label = "DFL",
     .sentence = "what networks expect that are trained to decide",
     .learns = true,
     .decides = true},
}};

}  // namespace

std::span<const FrameworkInfo> frameworks() { return kFrameworks; }

std::vector<std::string_view> framework_names() {
  std::vector<std::string_view> out;
  for (const FrameworkInfo& row : kFrameworks) out.push_back(row.name);
  return out;
}

const FrameworkInfo& info(Framework framework) {
  return kFrameworks[static_cast<std::size_t>(framework)];
}

const FrameworkInfo* find_framework(std::string_view name) {
  for (const FrameworkInfo& row : kFrameworks)
    if (row.name == name) return &row;
  return nullptr;
}

const FrameworkInfo& framework_named(std::string_view name) {
  if (const FrameworkInfo* row = find_framework(name)) return *row;
  throw InputError(fmt::format("framework = {} is not known", printable(name)));
}

const FrameworkInfo& framework_of(double alpha) {
  return *std::ranges::find_if(kFrameworks, [&](const FrameworkInfo& row) {
    return row.learns && row.decides == (alpha > 0.0);
  });
}

}  // namespace sharpen::learn
