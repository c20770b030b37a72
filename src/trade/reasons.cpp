// Why names are traded, and why not.
#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "trade/trader_work.hpp"

namespace sharpen::trade {

// What a unit more of net position is worth, if that is held to a bound: names that are traded in
// part, of which a unit more gains what it costs, say so; the one in the middle, as they agree.
double Trader::Work::worth_of_net(ConstVec w, ConstVec slope) const {
  const bool whole =
      problem->limits != nullptr && settings.objective.kind == layer::Objective::sharpe;
  const bool neutral = problem->limits == nullptr && settings.net == layer::Net::positive &&
                       std::abs(sum(w)) <= 1e-9 * abs_sum(w);
  if (!whole && !neutral) return 0.0;
  std::vector<double> said;
  for (std::size_t i = 0; i < w.size(); ++i)
    if (w[i] != held[i] && w[i] != 0.0)
      said.push_back(std::copysign(kappa[i], w[i] - held[i]) - slope[i]);
  if (said.empty()) return 0.0;
  const auto middle = said.begin() + std::ssize(said) / 2;
  std::nth_element(said.begin(), middle, said.end());
  return neutral ? std::max(0.0, *middle) : *middle;
}

std::vector<TradeReason> Trader::Work::reasons(ConstVec w, double unit) {
  std::vector<TradeReason> out;
  if (problem->risk == nullptr || problem->risk->status(problem->sample) != Status::ok) return out;
  const std::optional<double> aversion = risk_aversion();
  if (!aversion) return out;
  const double gamma = *aversion / unit;
  const ConstVec w0 = ideal->portfolio.weights, variance = problem->risk->diagonal(problem->sample);
  problem->risk->apply(problem->sample, w, Sw, scratch);
  std::vector<double> slope(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) slope[i] = problem->mu[i] / unit - gamma * Sw[i];
  const double net = worth_of_net(w, slope);
  for (std::size_t i = 0; i < w.size(); ++i) {
    const bool done = w[i] != held[i];
    if (!done && !(std::isfinite(w0[i]) && w0[i] != held[i])) continue;
    const double step = done ? held[i] - w[i] : w0[i] - w[i];  // away from w
    const double change = step * (slope[i] + net) - 0.5 * gamma * step * step * variance[i];
    out.push_back({.asset = static_cast<Index>(i),
                   .from = held[i],
                   .to = w[i],
                   .ideal = w0[i],
                   .gain = horizon_sharpe * (done ? -change : change),
                   .cost = horizon_sharpe * kappa[i] * std::abs(step),
                   .done = done});
  }
  return out;
}

std::vector<TradeReason> Trader::reasons(const solve::Problem& problem, const solve::Answer& ideal,
                                         const Standing& standing, const solve::Answer& decided,
                                         double unit) {
  work_->look_at(problem, ideal, standing);
  return work_->reasons(decided.portfolio.weights, unit);
}

}  // namespace sharpen::trade
