// What `sharpen backtest` prints: the figures after costs first, and in words what they allow to
// say.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "sharpen/backtest/backtest.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/command/backtest.hpp"
#include "sharpen/solve/registry.hpp"

namespace sharpen::command {

namespace {

constexpr std::size_t kWidestName = 60;

std::string number(double value) {
  if (std::isnan(value)) return "–";
  const double size = std::abs(value);
  const bool fixed = value == 0.0 || (size >= 1e-4 && size < 1e6);
  return fixed ? fmt::format("{:.4f}", value) : fmt::format("{:.3e}", value);
}

std::string money(double value) {
  if (std::isnan(value)) return "–";
  return std::abs(value) < 1e6 ? fmt::format("{:.2f}", value) : fmt::format("{:.3e}", value);
}

std::string percent(double share) {
  return std::isnan(share) ? "–" : fmt::format("{:.1f} %", 100.0 * share);
}

std::string line(std::string_view name, const std::string& text) {
  return fmt::format("{:<12} {}\n", name, text);
}

std::string drawdown_text(const BacktestAnswer& answer) {
  const backtest::Drawdown& d = answer.result.metrics.max_drawdown;
  std::string text = percent(d.depth);
  if (std::isnan(d.depth) || d.depth == 0.0) return text;
  const std::string peak = answer.date(d.peak), back = answer.date(d.recovery);
  text +=
      fmt::format(", {} to {}, {}", peak.empty() ? "from the start" : "from " + peak,
                  answer.date(d.trough), back.empty() ? "not recovered" : "recovered by " + back);
  return text;
}

// Periods that were decided so, and those of them in which something was held.
struct Decided {
  Index periods = 0, invested = 0;
};

// A decision that could not be made is cash or, by a rule, what was held: as it was.
std::string cash_or_kept(const Decided& of, std::string_view why_cash, std::string_view why_kept) {
  if (of.invested == 0) return fmt::format(" (cash: {})", why_cash);
  if (of.invested == of.periods) return fmt::format(" ({}: what was held is kept)", why_kept);
  return fmt::format(" ({}: what was held is kept in {}, cash in {})", why_kept, of.invested,
                     of.periods - of.invested);
}

std::string in_words(backtest::PeriodStatus status, const Decided& of) {
  using enum backtest::PeriodStatus;
  switch (status) {
    case neutral_face: return " (net position zero)";
    case no_signal: return cash_or_kept(of, "nothing worth holding", "nothing worth trading for");
    case invalid_input: return cash_or_kept(of, "no covariance", "no covariance");
    case held: return " (no decision)";
    case idle: return " (before the first decision)";
    default: return "";
  }
}

std::string status_text(const backtest::Run& run) {
  std::string text;
  for (int s = 0; s < backtest::kPeriodStatuses; ++s) {
    const auto status = static_cast<backtest::PeriodStatus>(s);
    Decided of;
    for (Index p = run.stats_from; p < run.periods(); ++p) {
      if (run.status[at(p)] != status) continue;
      ++of.periods;
      of.invested += run.holdings[at(p)] > 0;
    }
    if (of.periods > 0)
      text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", of.periods, backtest::name(status),
                          in_words(status, of));
  }
  return text.empty() ? "–" : text;
}

std::string proved_text(const backtest::Run& run) {
  const double share = static_cast<double>(run.n_certified) / static_cast<double>(run.n_decisions);
  return fmt::format("{} of {} decisions ({})", run.n_certified, run.n_decisions, percent(share));
}

std::string regret_text(const backtest::Regret& regret) {
  return fmt::format(
      "{} per decision: perfect foresight would have earned {}, these decisions {}, before costs",
      number(regret.mean), number(regret.oracle), number(regret.oracle - regret.mean));
}

std::string benchmark_text(const BacktestAnswer& answer) {
  const backtest::Metrics& m = answer.result.metrics;
  return fmt::format("{}: Sharpe {} per period, {} annualised; beta {}, correlation {}",
                     printable(answer.result.benchmark, kWidestName), number(m.benchmark_sharpe),
                     number(m.benchmark_sharpe_annualized), number(m.beta), number(m.correlation));
}

// What was charged, in words: "5 basis points", "the rates of costs.csv".
std::string cost_words(const trade::AccountSettings& account) {
  const std::string& file = account.cost_bps.file;
  std::vector<std::string> parts;
  if (!file.empty())
    parts.push_back(
        file.find('\n') == std::string::npos
            ? fmt::format("the rates of {}",
                          printable(std::filesystem::path(file).filename().string(), kWidestName))
            : "the rates given");
  else if (account.cost_bps.number > 0.0)
    parts.push_back(shortest(account.cost_bps.number) + " basis points");
  if (account.short_fee > 0.0)
    parts.push_back(fmt::format("{} a year on shorts", percent(account.short_fee)));
  if (account.financing > 0.0)
    parts.push_back(fmt::format("{} a year on loans", percent(account.financing)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string after_words(const trade::AccountSettings& account) {
  const std::string words = cost_words(account);
  return words.empty() ? "without costs" : "after " + words;
}

// Nothing was held in the periods of the statistics: there is no Sharpe ratio to speak of.
bool stayed_in_cash(const BacktestAnswer& answer) {
  return answer.result.metrics.mean_gross == 0.0;
}

// Whether the verdict says what was charged.
bool verdict_tells_costs(const BacktestAnswer& answer) {
  return !answer.result.run.ruined() && !stayed_in_cash(answer);
}

std::string cash_verdict(const backtest::Run& run) {
  return run.trades.empty()
             ? "Nothing was traded: everything stayed in cash, and there is no Sharpe ratio."
             : "Nothing was held in these periods: there is no Sharpe ratio.";
}

enum class Side { above, below, unknown };

Side side_of(double low, double high) {
  return low > 0.0 ? Side::above : high < 0.0 ? Side::below : Side::unknown;
}

std::string_view name(Side side) { return side == Side::above ? "above" : "below"; }

// Whether the Sharpe ratio is above zero and above that of equal weights, by its intervals.
std::string verdict(const BacktestAnswer& answer) {
  const backtest::BacktestResult& result = answer.result;
  if (result.run.ruined()) return fmt::format("It was ruined on {}.", result.run.dates.back());
  if (stayed_in_cash(answer)) return cash_verdict(result.run);
  const backtest::SharpeInterval& own = result.statistics.interval;
  const backtest::SharpeDifference& against = result.after_costs.difference;
  const Side zero = side_of(own.low, own.high), equal = side_of(against.low, against.high);
  std::string after = after_words(answer.settings.account);
  after[0] = after[0] == 'a' ? 'A' : 'W';
  const std::string said = fmt::format("is {} zero", name(zero));
  constexpr std::string_view kCannot = "these periods cannot tell";
  if (result.equal_returns.empty() || against.same) {
    const std::string_view also = against.same ? "; it is that of equal weights" : "";
    return zero == Side::unknown
               ? fmt::format("{}, {} the Sharpe ratio from zero{}.", after, kCannot, also)
               : fmt::format("{}, the Sharpe ratio {}{}.", after, said, also);
  }
  if (zero == Side::unknown && equal == Side::unknown)
    return fmt::format("{}, {} the Sharpe ratio from zero, nor from that of equal weights.", after,
                       kCannot);
  if (equal == Side::unknown)
    return fmt::format("{}, the Sharpe ratio {}; {} it from that of equal weights.", after, said,
                       kCannot);
  if (zero == Side::unknown)
    return fmt::format("{}, the Sharpe ratio is {} that of equal weights; {} it from zero.", after,
                       name(equal), kCannot);
  return fmt::format("{}, the Sharpe ratio {} and {} that of equal weights.", after, said,
                     name(equal));
}

// The same run before costs, and with its trades a period later.
std::string beside_text(const backtest::Metrics& m) {
  std::string text = fmt::format("{} annualised before costs", number(m.sharpe_gross_annualized));
  if (!std::isnan(m.sharpe_delayed_annualized))
    text += fmt::format(", {} after costs with trades one period later",
                        number(m.sharpe_delayed_annualized));
  return text;
}

// Beside the volatility that came out: " (10 % aimed at)".
std::string aim_words(const std::optional<backtest::VolatilityAim>& aim) {
  return aim ? fmt::format(" ({:.3g} % aimed at)", 100.0 * aim->target) : "";
}

std::string turnover_text(const backtest::Metrics& m) {
  std::string text = fmt::format("{} per rebalance, {} a year ({} rebalances)", number(m.turnover),
                                 money(m.turnover_annualized), m.n_rebalances);
  if (!std::isnan(m.mean_holding_period))
    text += fmt::format("; a position lasts {:.1f} periods", m.mean_holding_period);
  return text;
}

// A year, by kind where there is more than one.
std::string costs_text(const BacktestAnswer& answer) {
  const backtest::Metrics& m = answer.result.metrics;
  const double year = m.cost_annualized / m.total_cost;
  std::string text = fmt::format("{} a year", percent(m.cost_annualized));
  std::string kinds;
  for (const auto& [kind, cost] :
       {std::pair{"trading", m.trading_cost}, std::pair{"short fee", m.short_fee},
        std::pair{"financing", m.financing}})
    if (cost > 0.0)
      kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", kind, percent(year * cost));
  if (m.short_fee > 0.0 || m.financing > 0.0) text += ": " + kinds;
  return text;
}

std::string break_even_text(double bps) {
  if (std::isnan(bps)) return "–";
  if (bps <= 0.0) return "none: the trades earned nothing before they were paid for";
  return fmt::format("{:.1f} basis points of what is traded would leave nothing", bps);
}

std::string equal_text(const BacktestAnswer& answer) {
  const double year = answer.settings.periods_per_year;
  const backtest::Regression& r = answer.result.after_costs.regression;
  return fmt::format("Sharpe {} annualised; alpha {} a year ({} to {}), beta {} ({} to {})",
                     number(answer.result.metrics.equal_sharpe_annualized), percent(year * r.alpha),
                     percent(year * r.alpha_interval.low), percent(year * r.alpha_interval.high),
                     number(r.beta), number(r.beta_interval.low), number(r.beta_interval.high));
}

std::string rule_text(const BacktestAnswer& answer) {
  const trade::Ruling rule = backtest::ruling_of(answer.settings);
  std::string text;
  switch (rule.rule) {
    case trade::Rule::none: text = "none: portfolios are made anew"; break;
    case trade::Rule::band: text = "band: held names are preferred and move in a band"; break;
    case trade::Rule::cost:
      text = fmt::format("cost: trades must pay within {} periods at a Sharpe ratio of {} a year",
                         shortest(rule.holding_horizon), shortest(rule.expected_sharpe));
  }
  if (rule.memory > 1) text += fmt::format("; the signal has a memory of {} periods", rule.memory);
  if (answer.settings.account.delay > 0)
    text +=
        fmt::format("; trades are made {} later", counted(answer.settings.account.delay, "period"));
  return text;
}

}  // namespace

std::string backtest_text(const BacktestAnswer& answer) {
  const backtest::Metrics& m = answer.result.metrics;
  const backtest::SharpeStatistics& s = answer.result.statistics;
  const backtest::Run& run = answer.result.run;
  std::string out = fmt::format(
      "{}: {}, {} from {} to {}\n{}\n\n", printable(answer.label, kWidestName),
      counted(static_cast<Index>(answer.result.tickers.size()), "asset"),
      counted(m.n_periods, "period"), answer.date(std::min(run.stats_from, run.periods() - 1)),
      answer.date(run.periods() - 1), verdict(answer));
  const std::string charged = after_words(answer.settings.account);
  out += line("Sharpe", fmt::format("{} per period, {} annualised {} ({} periods a year)",
                                    number(m.sharpe), number(m.sharpe_annualized),
                                    verdict_tells_costs(answer) && charged.starts_with("after")
                                        ? "after costs"
                                        : charged,
                                    shortest(m.periods_per_year)));
  const double year = std::sqrt(m.periods_per_year);
  out += line("95 %", fmt::format("{} to {} per period, {} to {} annualised",
                                  number(s.interval.low), number(s.interval.high),
                                  number(year * s.interval.low), number(year * s.interval.high)));
  out += line("beside it", beside_text(m));
  out += line("above zero", fmt::format("with probability {}", percent(s.probabilistic)));
  if (s.trials > 1)
    out += line("deflated", fmt::format("{} after {} trials", percent(s.deflated), s.trials));
  out += line("return", fmt::format("{} a year, volatility {} a year{}, Sortino {} annualised",
                                    percent(m.return_annualized), percent(m.volatility_annualized),
                                    aim_words(answer.result.aim), number(m.sortino_annualized)));
  out += line("wealth", fmt::format("{} from 1", money(m.final_wealth)));
  out += line("drawdown", drawdown_text(answer));
  out +=
      line("periods", fmt::format("{} with a gain; the best {}, the worst {}", percent(m.hit_rate),
                                  percent(m.best_return), percent(m.worst_return)));
  out += line("turnover", turnover_text(m));
  if (m.total_cost > 0.0) out += line("costs", costs_text(answer));
  out += line("break-even", break_even_text(m.break_even_bps));
  out += line(
      "exposure",
      fmt::format("gross {}, net {}, {} names on average", number(m.mean_gross), number(m.mean_net),
                  m.n_periods > 0 ? fmt::format("{:.1f}", m.mean_cardinality) : "–"));
  out += line("rule", rule_text(answer));
  out += line("decisions", status_text(run));
  const bool proves = solve::optimizer_named(answer.settings.optimizer).proves;
  if (proves && run.n_decisions > 0) out += line("proved", proved_text(run));
  if (!answer.result.equal_returns.empty()) out += line("equal", equal_text(answer));
  if (!answer.result.benchmark.empty()) out += line("benchmark", benchmark_text(answer));
  if (answer.result.regret) out += line("regret", regret_text(*answer.result.regret));
  for (const std::string& warning : answer.warnings) out += line("warning", warning);
  if (answer.values.has("out")) out += line("written", printable(answer.values.text("out"), 400));
  return out;
}

}  // namespace sharpen::command
