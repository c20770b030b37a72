// The answer of `sharpen backtest` on a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sharpen/base/text.hpp"
#include "sharpen/command/backtest.hpp"

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

std::string counted(Index count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
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

std::string_view in_words(backtest::PeriodStatus status) {
  using enum backtest::PeriodStatus;
  switch (status) {
    case neutral_face: return " (net position zero)";
    case no_signal: return " (cash: nothing worth holding)";
    case invalid_input: return " (cash: no covariance)";
    case held: return " (no decision)";
    case idle: return " (before the first decision)";
    default: return "";
  }
}

std::string status_text(const backtest::Run& run) {
  std::string text;
  for (int s = 0; s < backtest::kPeriodStatuses; ++s) {
    const auto status = static_cast<backtest::PeriodStatus>(s);
    const auto count = std::count(run.status.begin() + run.stats_from, run.status.end(), status);
    if (count > 0)
      text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count, backtest::name(status),
                          in_words(status));
  }
  return text.empty() ? "–" : text;
}

std::string regret_text(const backtest::Regret& regret) {
  return fmt::format("{} per decision, {} of what perfect foresight would have earned",
                     number(regret.mean), percent(regret.relative()));
}

std::string benchmark_text(const BacktestAnswer& answer) {
  const backtest::Metrics& m = answer.result.metrics;
  return fmt::format("{}: Sharpe {} per period, {} annualised; beta {}, correlation {}",
                     printable(answer.settings.benchmark, kWidestName), number(m.benchmark_sharpe),
                     number(m.benchmark_sharpe_annualized), number(m.beta), number(m.correlation));
}

}  // namespace

std::string backtest_text(const BacktestAnswer& answer) {
  const backtest::Metrics& m = answer.result.metrics;
  const backtest::SharpeStatistics& s = answer.result.statistics;
  const backtest::Run& run = answer.result.run;
  std::string out = fmt::format(
      "{}: {}, {} from {} to {}\n\n", printable(answer.label, kWidestName),
      counted(static_cast<Index>(answer.result.tickers.size()), "asset"),
      counted(m.n_periods, "period"), answer.date(std::min(run.stats_from, run.periods() - 1)),
      answer.date(run.periods() - 1));
  out += line("Sharpe",
              fmt::format("{} per period, {} annualised ({} periods a year)", number(m.sharpe),
                          number(m.sharpe_annualized), shortest(m.periods_per_year)));
  const double year = std::sqrt(m.periods_per_year);
  out += line("95 %", fmt::format("{} to {} per period, {} to {} annualised",
                                  number(s.interval.low), number(s.interval.high),
                                  number(year * s.interval.low), number(year * s.interval.high)));
  out += line("above zero", fmt::format("with probability {}", percent(s.probabilistic)));
  if (s.trials > 1)
    out += line("deflated", fmt::format("{} after {} trials", percent(s.deflated), s.trials));
  out += line("return", fmt::format("{} a year, volatility {} a year, Sortino {} annualised",
                                    percent(m.return_annualized), percent(m.volatility_annualized),
                                    number(m.sortino_annualized)));
  out += line("wealth", fmt::format("{} from 1", money(m.final_wealth)));
  out += line("drawdown", drawdown_text(answer));
  out +=
      line("periods", fmt::format("{} with a gain; the best {}, the worst {}", percent(m.hit_rate),
                                  percent(m.best_return), percent(m.worst_return)));
  out += line("turnover",
              fmt::format("{} per rebalance, {} a year ({} rebalances)", number(m.turnover),
                          money(m.turnover_annualized), m.n_rebalances));
  if (answer.settings.cost_bps > 0.0 && m.n_periods > 0)
    out +=
        line("costs", fmt::format("{} a year, at {} basis points of what is traded",
                                  percent(1e-4 * answer.settings.cost_bps * m.turnover_annualized),
                                  shortest(answer.settings.cost_bps)));
  out += line(
      "exposure",
      fmt::format("gross {}, net {}, {} names on average", number(m.mean_gross), number(m.mean_net),
                  m.n_periods > 0 ? fmt::format("{:.1f}", m.mean_cardinality) : "–"));
  out += line("decisions", status_text(run));
  if (!answer.settings.benchmark.empty()) out += line("benchmark", benchmark_text(answer));
  if (answer.result.regret) out += line("regret", regret_text(*answer.result.regret));
  for (const std::string& warning : answer.warnings) out += line("warning", warning);
  if (answer.values.has("out")) out += line("written", printable(answer.values.text("out"), 400));
  return out;
}

}  // namespace sharpen::command
