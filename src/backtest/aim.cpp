#include "backtest/aim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sharpen/base/text.hpp"
#include "sharpen/solve/registry.hpp"

namespace sharpen::backtest {

namespace {

// Under limits the objective stands in the place of sizing, and of all objectives the return is at
// a volatility.
std::optional<double> target_of(const BacktestSettings& settings) {
  if (settings.limits) {
    if (settings.objective.kind != layer::Objective::expected_return) return std::nullopt;
    return settings.objective.volatility;
  }
  if (settings.sizing.kind != layer::Sizing::volatility) return std::nullopt;
  if (solve::optimizer_named(settings.optimizer).ignores_setting("sizing") &&
      settings.decision == DecisionKind::exact)
    return std::nullopt;
  return settings.sizing.target_volatility;
}

// Of the variance, in the wildest hundredth of the periods, and which is the wildest.
struct Wild {
  double share = 0.0;
  Index periods = 0;
  std::size_t worst = 0;
};

Wild wildest(std::span<const double> returns) {
  const auto count = static_cast<double>(returns.size());
  const double mean = std::accumulate(returns.begin(), returns.end(), 0.0) / count;
  std::vector<std::pair<double, std::size_t>> squares;
  double total = 0.0;
  for (std::size_t t = 0; t < returns.size(); ++t) {
    const double square = (returns[t] - mean) * (returns[t] - mean);
    squares.emplace_back(-square, t);
    total += square;
  }
  std::ranges::sort(squares);
  Wild out;
  out.periods = std::max<Index>(1, static_cast<Index>(0.01 * count));
  out.worst = squares.front().second;
  for (Index i = 0; i < out.periods; ++i) out.share -= squares[at(i)].first / total;
  return out;
}

std::string why_above(const BacktestSettings& settings, const BacktestResult& result) {
  constexpr double kMost = 0.5, kLarge = 4.0;
  const Run& run = result.run;
  const std::span<const double> returns = std::span(run.returns).subspan(at(run.stats_from));
  const Wild wild = wildest(returns);
  if (wild.share > kMost && returns.size() > 20)
    return fmt::format(
        "{} of it comes from {}, the wildest {:.1f} % on {}: look at the prices of what was held "
        "then (‹sharpen doctor›)",
        fmt::format("{:.0f} %", 100.0 * wild.share), counted(wild.periods, "period"),
        100.0 * returns[wild.worst], run.dates[at(run.stats_from) + wild.worst]);
  if (result.metrics.mean_gross > kLarge)
    return fmt::format(
        "the gross exposure is {:.1f} times the wealth on average: names that hardly move in their "
        "windows (frozen or pegged prices) are held large; leave them out, or limit it by "
        "‹--max-gross›",
        result.metrics.mean_gross);
  const auto n = static_cast<Index>(result.tickers.size());
  if (settings.lookback.all)
    return "the risk was lower in the windows than after them; a shorter ‹--lookback› follows it "
           "sooner";
  // A covariance that is mostly variances knows little of what names have in common.
  if (settings.shrinkage >= 0.5)
    return fmt::format(
        "‹shrinkage› = {} takes most of what names have in common out of the covariance, and the "
        "risk of holding them together with it: less comes closer",
        shortest(settings.shrinkage));
  return fmt::format(
      "a covariance of {} over {} flatters the portfolio that is chosen by it: a longer "
      "‹--lookback› comes closer",
      counted(settings.lookback.count, "return"), counted(n, "asset"));
}

std::string why_below(const BacktestSettings& settings, const BacktestResult& result) {
  constexpr double kOften = 0.2;
  const Run& run = result.run;
  const auto idle = std::ranges::count(run.holdings, 0.0);
  if (static_cast<double>(idle) > kOften * static_cast<double>(run.holdings.size()))
    return fmt::format("nothing was held in {} of {} periods", idle, run.holdings.size());
  if (settings.limits) return "the limits leave no room for more";
  if (ruling_of(settings).rule != trade::Rule::none)
    return "the rule trades only what pays for itself, and what is held falls behind what is "
           "wanted "
           "(‹--rule none› follows it)";
  return "the risk was higher in the windows than after them; a shorter ‹--lookback› follows it "
         "sooner";
}

}  // namespace

std::optional<VolatilityAim> volatility_aim(const BacktestSettings& settings,
                                            const BacktestResult& result) {
  const std::optional<double> target = target_of(settings);
  const double realised = result.metrics.volatility_annualized;
  if (!target || !std::isfinite(realised)) return std::nullopt;
  VolatilityAim out{
      .target = *target * std::sqrt(settings.periods_per_year), .realised = realised, .reason = {}};
  if (result.run.ruined() || !out.far()) return out;
  out.reason = out.ratio() > 1.0 ? why_above(settings, result) : why_below(settings, result);
  return out;
}

std::string warning_of(const VolatilityAim& aim) {
  if (aim.reason.empty()) return {};
  return fmt::format(
      "the volatility is {:.1f} % a year where {:.3g} % was aimed at (‹target-volatility›), {}: {}",
      100.0 * aim.realised, 100.0 * aim.target,
      aim.ratio() > 1.0 ? fmt::format("{:.1f} times as much", aim.ratio())
                        : fmt::format("{:.2g} of it", aim.ratio()),
      aim.reason);
}

}  // namespace sharpen::backtest
