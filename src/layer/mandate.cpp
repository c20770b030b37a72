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

// What a command has where nobody says otherwise; "" for one that has it from a model.
std::string_view default_sizing(const settings::Values& values) {
  const settings::Setting& row = *settings::find_for("sizing", values.command());
  const bool paper =
      values.takes("preset") && values.has("preset") && values.text("preset") == "paper";
  return paper && !row.paper.empty() ? row.paper : row.preset_for(values.command());
}

// A default asks for nothing. Nor does the same in a file, as --print-config writes defaults into
// every one, or a file's beside an objective, which stands in its place. So a file that was printed
// and the settings that a study keeps find what the flags found.
bool asks_for_sizing(const settings::Values& values, bool objective_given) {
  if (!values.takes("sizing")) return false;
  const Origin origin = values.origin("sizing");
  if (origin != Origin::file) return origin == Origin::flag;
  const std::string_view usual = default_sizing(values);
  return !objective_given && !usual.empty() && values.text("sizing") != usual;
}

// Sizing that was asked for: the objective that it means, if there is one.
std::optional<Objective> objective_of_sizing(const settings::Values& values, Sizing sizing,
                                             bool objective_given, bool long_only) {
  if (!asks_for_sizing(values, objective_given)) return std::nullopt;
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
  const std::optional<Objective> sized = objective_of_sizing(
      values, out.sizing.kind, given.objective.has_value(), out.limits->long_only);
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
