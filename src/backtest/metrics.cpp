#include "sharpen/backtest/metrics.hpp"

#include <fmt/format.h>

#include <cmath>

#include "backtest/sample.hpp"
#include "base/vec.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::backtest {

namespace {

void check_length(std::string_view name, std::size_t size, std::size_t periods, bool one_will_do) {
  if (size == 0 || size == periods || (one_will_do && size == 1)) return;
  throw InputError(
      fmt::format("{} has {} entries and there are {} returns; give one entry per period, or none",
                  name, size, periods));
}

void validate(const Track& track) {
  const std::size_t T = track.returns.size();
  check_length("dates", track.dates.size(), T, false);
  check_length("risk_free", track.risk_free.size(), T, true);
  check_length("turnover", track.turnover.size(), T, false);
  check_length("gross", track.gross.size(), T, false);
  check_length("net", track.net.size(), T, false);
  check_length("holdings", track.holdings.size(), T, false);
  check_length("effective_names", track.effective_names.size(), T, false);
  check_length("largest", track.largest.size(), T, false);
  check_length("benchmark", track.benchmark.size(), T, false);
  check_length("gross_returns", track.gross_returns.size(), T, false);
  check_length("trading_costs", track.trading_costs.size(), T, false);
  check_length("short_fees", track.short_fees.size(), T, false);
  check_length("financing", track.financing.size(), T, false);
  check_length("delayed", track.delayed.size(), T, false);
  check_length("equal", track.equal.size(), T, false);
  if (track.stats_from < 0 || track.stats_from > static_cast<Index>(T))
    throw InputError(fmt::format("stats_from = {} is outside [0, {}]", track.stats_from, T));
  if (!(track.periods_per_year > 0.0 && std::isfinite(track.periods_per_year)))
    throw InputError(
        fmt::format("periods_per_year = {} is outside (0, inf)", shortest(track.periods_per_year)));
}

double risk_free(const Track& track, std::size_t t) {
  if (track.risk_free.empty()) return 0.0;
  return track.risk_free[track.risk_free.size() == 1 ? 0 : t];
}

// What a series earned above the risk-free rate, over the statistics' periods.
std::vector<double> excess_of(const Track& track, ConstVec returns) {
  std::vector<double> excess;
  for (auto t = at(track.stats_from); t < returns.size(); ++t)
    excess.push_back(returns[t] - risk_free(track, t));
  return excess;
}

// A column from the first period of the statistics on; empty if it was not recorded.
ConstVec covered(ConstVec column, const Track& track) {
  return column.empty() ? column : column.subspan(at(track.stats_from));
}

// NaN among the values wins: std::max would lose it.
double maximum(ConstVec x) {
  double most = x.empty() ? kNotComputed : x[0];
  for (const double value : x)
    if (!(value <= most)) most = std::isnan(most) ? most : value;
  return most;
}

double minimum(ConstVec x) {
  double least = x.empty() ? kNotComputed : x[0];
  for (const double value : x)
    if (!(value >= least)) least = std::isnan(least) ? least : value;
  return least;
}

double sortino_ratio(ConstVec excess) {
  double squares = 0.0;
  for (const double e : excess) squares += e < 0.0 || std::isnan(e) ? e * e : 0.0;
  const double downside = std::sqrt(squares / static_cast<double>(excess.size()));
  return ratio(sample(excess).mean, downside);
}

double share_positive(ConstVec returns) {
  if (returns.empty()) return kNotComputed;
  Index hits = 0;
  for (const double r : returns) {
    if (std::isnan(r)) return kNotComputed;
    hits += r > 0.0;
  }
  return static_cast<double>(hits) / static_cast<double>(returns.size());
}

// Compound growth a year: W^(periods per year / periods) - 1. Through logarithms, so that a year
// of one-minute periods does not overflow on the way.
double annual_growth(ConstVec returns, double periods_per_year) {
  if (returns.empty()) return kNotComputed;
  double log_wealth = 0.0;
  for (const double r : returns) {
    if (r <= -1.0) return -1.0;
    log_wealth += std::log1p(r);
  }
  return std::expm1(log_wealth * periods_per_year / static_cast<double>(returns.size()));
}

void measure_returns(const Track& track, Metrics& out) {
  const ConstVec r = covered(track.returns, track);
  const std::vector<double> e = excess_of(track, track.returns);
  const double root = std::sqrt(track.periods_per_year);
  const Sample raw = sample(r);
  out.mean_return = raw.mean;
  out.mean_excess_return = sample(e).mean;
  out.volatility = deviation(raw, r, 1);
  out.volatility_annualized = out.volatility * root;
  out.sharpe = sharpe_ratio(e);
  out.sharpe_annualized = out.sharpe * root;
  out.sortino = sortino_ratio(e);
  out.sortino_annualized = out.sortino * root;
  out.hit_rate = share_positive(r);
  out.best_return = maximum(r);
  out.worst_return = minimum(r);
}

void measure_wealth(const Track& track, Metrics& out) {
  const ConstVec r = covered(track.returns, track);
  const std::vector<double> path = wealth(track.returns);
  out.final_wealth = path.empty() ? 1.0 : path.back();
  for (std::size_t t = 0; t < track.returns.size() && !out.ruin; ++t)
    if (track.returns[t] <= -1.0) {
      out.ruin = true;
      out.ruin_period = static_cast<Index>(t);
    }
  out.return_annualized = annual_growth(r, track.periods_per_year);
  out.max_drawdown = max_drawdown(r);
  for (Index* period :
       {&out.max_drawdown.peak, &out.max_drawdown.trough, &out.max_drawdown.recovery})
    if (*period >= Drawdown::kStart) *period += track.stats_from;
  out.calmar = ratio(out.return_annualized, out.max_drawdown.depth);
}

// The same run before its costs, with its trades a period later, and equal weights.
void measure_beside(const Track& track, Metrics& out) {
  const double root = std::sqrt(track.periods_per_year);
  const auto sharpe_of = [&](ConstVec column) { return sharpe_ratio(excess_of(track, column)); };
  out.sharpe_gross = sharpe_of(track.gross_returns);
  out.sharpe_gross_annualized = out.sharpe_gross * root;
  out.sharpe_delayed = sharpe_of(track.delayed);
  out.sharpe_delayed_annualized = out.sharpe_delayed * root;
  out.equal_sharpe = sharpe_of(track.equal);
  out.equal_sharpe_annualized = out.equal_sharpe * root;
}

// NaN for a column that was not recorded.
double total(ConstVec column, const Track& track) {
  return column.empty() ? kNotComputed : sum(covered(column, track));
}

void measure_costs(const Track& track, Metrics& out) {
  out.trading_cost = total(track.trading_costs, track);
  out.short_fee = total(track.short_fees, track);
  out.financing = total(track.financing, track);
  out.total_cost = out.trading_cost + out.short_fee + out.financing;
  out.cost_annualized =
      ratio(out.total_cost * track.periods_per_year, static_cast<double>(out.n_periods));
  out.break_even_bps = break_even_bps(before_trading(track));
}

void measure_trading(const Track& track, Metrics& out) {
  const ConstVec turnover = covered(track.turnover, track);
  out.mean_gross = sample(covered(track.gross, track)).mean;
  if (!turnover.empty()) {
    double sum = 0.0;
    for (const double traded : turnover)
      if (!std::isnan(traded)) {
        sum += traded;
        ++out.n_rebalances;
      }
    const double mean = sum / static_cast<double>(turnover.size());
    out.turnover = out.n_rebalances == 0 ? 0.0 : sum / static_cast<double>(out.n_rebalances);
    out.turnover_annualized = mean * track.periods_per_year;
    out.mean_holding_period = ratio(2.0 * out.mean_gross, mean);
  }
  out.mean_net = sample(covered(track.net, track)).mean;
  out.mean_cardinality = sample(covered(track.holdings, track)).mean;
  out.max_cardinality = maximum(covered(track.holdings, track));
  out.mean_effective_names = sample(covered(track.effective_names, track)).mean;
  out.mean_largest_weight = sample(covered(track.largest, track)).mean;
  out.max_largest_weight = maximum(covered(track.largest, track));
}

void measure_against_benchmark(const Track& track, Metrics& out) {
  if (track.benchmark.empty()) return;
  const double root = std::sqrt(track.periods_per_year);
  const std::vector<double> e = excess_of(track, track.returns);
  const std::vector<double> b = excess_of(track, track.benchmark);
  std::vector<double> active(e.size());
  for (std::size_t t = 0; t < e.size(); ++t) active[t] = e[t] - b[t];
  const Sample mine = sample(e), theirs = sample(b);
  double together = 0.0;
  for (std::size_t t = 0; t < e.size(); ++t) together += (e[t] - mine.mean) * (b[t] - theirs.mean);
  if (deviation(theirs, b, 1) > 0.0) out.beta = together / theirs.squares;
  out.correlation = correlation(e, b);
  const Sample difference = sample(active);
  out.tracking_error = deviation(difference, active, 1);
  out.tracking_error_annualized = out.tracking_error * root;
  out.information_ratio = ratio(difference.mean, out.tracking_error);
  out.information_ratio_annualized = out.information_ratio * root;
  out.benchmark_sharpe = sharpe_ratio(b);
  out.benchmark_sharpe_annualized = out.benchmark_sharpe * root;
}

}  // namespace

WeightSummary summarize(ConstVec weights) {
  WeightSummary out;
  for (const double w : weights) {
    out.gross += std::abs(w);
    out.net += w;
    out.holdings += w != 0.0;
    if (!(std::abs(w) <= out.largest) && !std::isnan(out.largest)) out.largest = std::abs(w);
  }
  double shares = 0.0;
  for (const double w : weights) shares += (w / out.gross) * (w / out.gross);
  if (out.gross != 0.0) out.effective_names = 1.0 / shares;
  return out;
}

double sharpe_ratio(ConstVec excess) {
  const Sample s = sample(excess);
  return ratio(s.mean, deviation(s, excess, 1));
}

std::vector<double> excess_returns(const Track& track) {
  validate(track);
  return excess_of(track, track.returns);
}

std::vector<double> excess_returns(const Track& track, ConstVec column) {
  validate(track);
  check_length("column", column.size(), track.returns.size(), false);
  return excess_of(track, column);
}

BeforeTrading before_trading(const Track& track) {
  validate(track);
  if (track.trading_costs.empty() || track.turnover.empty()) return {};
  BeforeTrading out{.excess = excess_of(track, track.returns), .turnover = {}};
  const ConstVec costs = covered(track.trading_costs, track);
  for (std::size_t t = 0; t < costs.size(); ++t) out.excess[t] += costs[t];
  for (const double traded : covered(track.turnover, track))
    out.turnover.push_back(std::isnan(traded) ? 0.0 : traded);
  return out;
}

double break_even_bps(const BeforeTrading& run) {
  return ratio(1e4 * sum(run.excess), sum(run.turnover));
}

std::vector<double> wealth(ConstVec returns) {
  std::vector<double> path;
  path.reserve(returns.size());
  double level = 1.0;
  bool ruined = false;
  for (const double r : returns) {
    ruined = ruined || r <= -1.0;
    level = ruined ? 0.0 : level * (1.0 + r);
    path.push_back(level);
  }
  return path;
}

Drawdown max_drawdown(ConstVec returns) {
  const std::vector<double> path = wealth(returns);
  Drawdown worst;
  if (path.empty() || std::isnan(path.back())) return worst;
  worst.depth = 0.0;
  double high = 1.0;
  Index peak = Drawdown::kStart;
  for (Index t = 0; t < static_cast<Index>(path.size()); ++t) {
    const double level = path[at(t)];
    if (level >= high) {
      high = level;
      peak = t;
      continue;
    }
    const double depth = 1.0 - level / high;
    if (depth > worst.depth) worst = {.depth = depth, .peak = peak, .trough = t};
  }
  if (worst.depth == 0.0) return worst;
  const double lost = worst.peak == Drawdown::kStart ? 1.0 : path[at(worst.peak)];
  for (Index t = worst.trough + 1; t < static_cast<Index>(path.size()); ++t)
    if (path[at(t)] >= lost) {
      worst.recovery = t;
      break;
    }
  return worst;
}

Metrics metrics(const Track& track) {
  validate(track);
  Metrics out;
  out.n_periods = static_cast<Index>(track.returns.size()) - track.stats_from;
  out.periods_per_year = track.periods_per_year;
  measure_returns(track, out);
  measure_wealth(track, out);
  measure_beside(track, out);
  measure_trading(track, out);
  measure_costs(track, out);
  measure_against_benchmark(track, out);
  return out;
}

}  // namespace sharpen::backtest
