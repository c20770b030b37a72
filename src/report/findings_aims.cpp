// Whether methods had the volatility that they were sized to.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/csv.hpp"
#include "report/table_builder.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/solve/registry.hpp"

namespace sharpen::report {

namespace {

// What stands behind `name = ` in the settings of a method, as a file of settings has it.
std::optional<std::string_view> written_in(std::string_view settings, std::string_view name) {
  for (std::size_t from = 0; from < settings.size();) {
    const std::size_t end = std::min(settings.find('\n', from), settings.size());
    const std::string_view line = settings.substr(from, end - from);
    if (line.starts_with(name) && line.substr(name.size()).starts_with(" = "))
      return line.substr(name.size() + 3);
    from = end + 1;
  }
  return std::nullopt;
}

// A year; none where nothing is sized to a volatility, or limits may stand in its way.
std::optional<double> target_of(const study::Method& method) {
  const auto optimizers = solve::optimizer_names();
  if (std::ranges::find(optimizers, method.optimizer) == optimizers.end() ||
      solve::optimizer_named(method.optimizer).ignores_setting("sizing") ||
      written_in(method.settings, "limits"))
    return std::nullopt;
  auto sizing = written_in(method.settings, "held-sizing");
  if (!sizing) sizing = written_in(method.settings, "sizing");
  const auto target = written_in(method.settings, "target-volatility");
  if (!sizing || !target || sizing->find("volatility") == std::string_view::npos)
    return std::nullopt;
  return parse_number(*target);
}

}  // namespace

void add_aims(const study::Results& results, const Summary& summary,
              std::vector<std::string>& out) {
  Index aimed = 0, far = 0;
  const Entry* worst = nullptr;
  double most = 0.0;
  for (const Entry& entry : summary.entries) {
    const auto target = target_of(results.methods[at(entry.method)]);
    const MeanAndSd& volatility = entry[Figure::volatility];
    if (!target || volatility.n == 0 || entry.ruined > 0 || !(volatility.mean > 0.0)) continue;
    ++aimed;
    const backtest::VolatilityAim aim{.target = *target, .realised = volatility.mean, .reason = {}};
    if (!aim.far()) continue;
    ++far;
    const double off = std::abs(std::log(aim.ratio()));
    if (off <= most) continue;
    most = off;
    worst = &entry;
  }
  if (worst == nullptr) return;
  const study::Method& method = results.methods[at(worst->method)];
  const Group& group = summary.groups[at(worst->group)];
  out.push_back(
      fmt::format("The volatility is not the one that was aimed at, by more than a factor of {:g}, "
                  "in {} of {}: "
                  "furthest off is {} with {:.1f} % a year for {:.3g} % ({}, k = {}); the table "
                  "“warnings” says "
                  "why.",
                  backtest::VolatilityAim::kFar, far, counted(aimed, "result"), method.label,
                  100.0 * (*worst)[Figure::volatility].mean, 100.0 * *target_of(method),
                  results.markets[at(group.market)].name, group.k_given));
}

}  // namespace sharpen::report
