#include "sharpen/layer/mandate.hpp"

#include <fmt/format.h>

#include "sharpen/base/error.hpp"

namespace sharpen::layer {

namespace {

using settings::Origin;

LimitSettings limit_settings(const settings::Values& values) {
  LimitSettings out;
  settings::fill(values, out);
  return out;
}

// Sizing that was asked for: the objective that it means, if there is one. A default means nothing,
// nor does a file, as --print-config writes defaults into every one.
std::optional<Objective> objective_of_sizing(const settings::Values& values, Sizing sizing,
                                             bool long_only) {
  if (!values.takes("sizing") || values.origin("sizing") != Origin::flag) return std::nullopt;
  switch (sizing) {
    case Sizing::volatility: return Objective::expected_return;
    case Sizing::gross:
      if (long_only) return Objective::sharpe;
      throw InputError(
          "sizing = gross cannot go with limits unless they are long-only: the portfolios of gross "
          "exposure 1 are no convex set; use ‹--objective sharpe› or return, with ‹--max-gross›");
    case Sizing::budget:
      throw InputError(
          "sizing = budget cannot go with limits, which its offset would bend; use ‹--objective "
          "sharpe›, whose weights add up to 1");
  }
  return std::nullopt;
}

}  // namespace

bool gives_limits(const settings::Values& values) {
  return values.takes("limits") && limit_settings(values).say_anything();
}

void fill_limits(const settings::Values& values, MandateSettings& out,
                 const MandateSettings* usual) {
  const LimitRules* base = usual != nullptr ? usual->limits.get() : nullptr;
  if (!gives_limits(values) && base == nullptr) return;
  const LimitSettings given = limit_settings(values);
  out.limits = gives_limits(values) ? limit_rules(given, base) : usual->limits;
  const std::optional<Objective> sized =
      objective_of_sizing(values, out.sizing.kind, out.limits->long_only);
  const Objective of_command =
      values.command() == settings::solve ? Objective::sharpe : Objective::expected_return;
  const Objective kind = given.objective.value_or(
      sized.value_or(base != nullptr ? usual->objective.kind : of_command));
  if (sized && *sized != kind)
    throw InputError(
        fmt::format("sizing = {} cannot go with objective = {}, which has a scale of its own; "
                    "leave one of them out",
                    name_of(out.sizing.kind), name_of(kind)));
  const auto says = [&](std::string_view name) {
    return values.takes(name) && values.origin(name) > Origin::preset;
  };
  const bool new_volatility = base == nullptr || says("target-volatility");
  const bool new_aversion = base == nullptr || says("risk-aversion");
  out.objective = {
      .kind = kind,
      .volatility = new_volatility ? out.sizing.target_volatility : usual->objective.volatility,
      .risk_aversion = new_aversion ? given.risk_aversion : usual->objective.risk_aversion};
  out.objective.validate();
}

}  // namespace sharpen::layer
