// The answer of `sharpen solve` on a terminal.
#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/command/table.hpp"

namespace sharpen::app {

namespace {

constexpr std::size_t kWidestName = 24;

// Four decimals, or an exponent where they would hide the number.
std::string number(double value) {
  const double size = std::abs(value);
  const bool fixed = value == 0.0 || (size >= 1e-4 && size < 1e6) || std::isnan(value);
  return fixed ? fmt::format("{:.4f}", value) : fmt::format("{:.3e}", value);
}

// One decimal, or an exponent where it would hide the number.
std::string percent(double share) {
  const double size = std::abs(100.0 * share);
  const bool fixed = size == 0.0 || (size >= 0.05 && size < 1e6) || std::isnan(size);
  return fixed ? fmt::format("{:.1f} %", 100.0 * share) : fmt::format("{:.1e} %", 100.0 * share);
}

std::string exposure_line(const command::Solution& solution) {
  const command::Exposure& exposure = solution.exposure;
  // Weights that cancel leave a sum of rounding errors.
  const double net = std::abs(exposure.net) < 1e-12 * exposure.gross ? 0.0 : exposure.net;
  return fmt::format("exposure   gross {}, net {}, volatility {} a year\n", number(exposure.gross),
                     number(net), percent(solution.annualized(exposure.volatility)));
}

// "252 periods a year"
std::string periods(double per_year) {
  return fmt::format("{} period{} a year", shortest(per_year), per_year == 1.0 ? "" : "s");
}

std::string asset_name(const command::Solution& solution, Index asset) {
  return printable(solution.input.tickers[static_cast<std::size_t>(asset)], kWidestName);
}

std::string holdings_table(const command::Solution& solution) {
  const auto weight = [&](Index i) {
    return solution.portfolio.weights[static_cast<std::size_t>(i)];
  };
  std::vector<Index> held = solution.held();
  std::ranges::stable_sort(
      held, [&](Index a, Index b) { return std::abs(weight(a)) > std::abs(weight(b)); });
  std::vector<std::string> header = {"asset", "weight"};
  if (solution.explanation)
    header.insert(header.end(), {"mu", "score", "rank", "risk", "Sharpe lost without it"});
  std::vector<std::vector<std::string>> rows;
  for (const Index i : held) {
    rows.push_back({asset_name(solution, i), number(weight(i))});
    if (const select::Reason* reason = solution.reason(i))
      rows.back().insert(rows.back().end(),
                         {fmt::format("{:.3e}", reason->mu), number(reason->score),
                          std::to_string(reason->score_rank), percent(reason->risk_contribution),
                          number(reason->sharpe_lost_if_removed)});
  }
  return command::render_table(header, rows);
}

std::string left_out_line(const command::Solution& solution) {
  const auto& best = solution.explanation->best_left_out;
  if (!best) return "left out   no single name would raise the Sharpe ratio\n";
  return fmt::format("left out   {} would add {} to the Sharpe ratio, as one name more\n",
                     asset_name(solution, best->asset), number(best->sharpe_gain));
}

std::string search_line(const command::Solution& solution) {
  std::string text = fmt::format("search     {} iteration{}", *solution.iterations,
                                 *solution.iterations == 1 ? "" : "s");
  if (solution.sdr)
    text += fmt::format(" of the relaxation, with kappa {}", shortest(solution.sdr->kappa));
  else if (solution.certified)
    text += *solution.certified ? "; certified globally optimal" : "; not certified";
  return text + "\n";
}

std::string bound_line(const command::Solution& solution) {
  const baseline::SharpeBound& bound = *solution.bound;
  if (!std::isfinite(bound.sharpe)) return "bound      none was proved\n";
  std::string text =
      fmt::format("bound      no {} names reach more than {} per period, {} annualised ({} bound)",
                  solution.settings.k, number(bound.sharpe),
                  number(solution.annualized(bound.sharpe)), baseline::name(bound.from));
  const double share = solution.share_of_bound();
  return text + (std::isnan(share) ? "\n" : fmt::format("; {} of it is reached\n", percent(share)));
}

std::string title(const command::Solution& solution) {
  const std::size_t held = solution.held().size();
  std::string text = fmt::format("{} of {} assets by {} (at most {})", held, solution.input.n(),
                                 solution.optimizer, solution.settings.k);
  if (const auto& window = solution.input.window)
    text += fmt::format(", {} returns from {} to {}", window->rows, window->from, window->to);
  return text + "\n";
}

}  // namespace

std::string solve_text(const command::Solution& solution) {
  const select::Portfolio& portfolio = solution.portfolio;
  const auto sharpe = [&](double value) {
    return fmt::format("{} per period, {} annualised", number(value),
                       number(solution.annualized(value)));
  };
  std::string out = title(solution) + "\n";
  if (!solution.held().empty()) out += holdings_table(solution) + "\n";
  // What the numbers say of themselves is not what the future will pay.
  out += fmt::format("Sharpe     {} ({}), {}\n", sharpe(portfolio.sharpe),
                     periods(solution.periods_per_year),
                     solution.input.window ? "of the window itself" : "of the given moments");
  out += fmt::format("full       {}", sharpe(solution.full_sharpe));
  const double share = solution.share_of_full();
  out += std::isnan(share) ? "\n" : fmt::format("; {} of it is kept\n", percent(share));
  if (solution.bound) out += bound_line(solution);
  out += exposure_line(solution);
  if (solution.explanation) out += left_out_line(solution);
  if (solution.iterations) out += search_line(solution);
  out += fmt::format("status     {}: {}\n", name(portfolio.outcome.status), solution.status_text());
  for (const std::string& warning : solution.warnings)
    out += fmt::format("warning    {}\n", warning);
  return out;
}

}  // namespace sharpen::app
