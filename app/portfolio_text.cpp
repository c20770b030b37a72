// Portfolios on a terminal: the answers of sharpen solve and sharpen predict.
#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::app {

namespace {

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

std::string number_or_dash(double value) { return std::isnan(value) ? "-" : number(value); }

// What the Sharpe ratio loses without a name that the limits may not let go.
std::string lost(double sharpe) { return std::isnan(sharpe) ? "needed" : number(sharpe); }

std::string tenths(double share) { return fmt::format("{:.1f} %", 100.0 * share); }

// Weights that cancel leave a sum of rounding errors.
double shown_net(const command::Exposure& exposure) {
  return std::abs(exposure.net) < 1e-12 * exposure.gross ? 0.0 : exposure.net;
}

std::string exposure_line(const command::Solution& solution) {
  const command::Exposure& exposure = solution.exposure;
  return fmt::format("exposure   gross {}, net {}, volatility {} a year\n", number(exposure.gross),
                     number(shown_net(exposure)),
                     percent(solution.annualized(exposure.volatility)));
}

// What the weights were held to, and what they are best at.
template <class Answer>
std::string limits_line(const Answer& answer) {
  if (!answer.rules) return {};
  const Outcome& outcome = answer.portfolio.outcome;
  if (outcome.status == Status::infeasible)
    return fmt::format("limits     cannot hold together; broken by {} at most\n",
                       number(outcome.violation));
  return fmt::format("limits     kept; best by {}\n", name_of(answer.settings.objective.kind));
}

std::string asset_name(const command::Solution& solution, Index asset) {
  return printable(solution.input.tickers[at(asset)], kWidestName);
}

std::string asset_name(const command::Prediction& prediction, Index asset) {
  return printable(prediction.ticker(asset), kWidestName);
}

// Which limits bind, and what each costs; the dearest first.
template <class Answer>
std::string binding_table(const Answer& answer) {
  std::vector<select::BindingLimit> binding = answer.explanation->binding;
  if (binding.empty()) return {};
  std::ranges::stable_sort(
      binding, [](const auto& a, const auto& b) { return a.sharpe_cost > b.sharpe_cost; });
  std::vector<std::vector<std::string>> rows;
  for (const select::BindingLimit& each : binding)
    rows.push_back({each.asset < 0 ? printable(each.name, kWidestName)
                                   : asset_name(answer, each.asset) + ", " + each.name,
                    number(each.value),
                    std::isfinite(each.sharpe_cost) ? number(each.sharpe_cost) : "-"});
  const bool sharpe = answer.settings.objective.kind == layer::Objective::sharpe;
  return render_table({"binding limit", "at", sharpe ? "costs in Sharpe" : "costs"}, rows) + "\n";
}

// "252 periods a year"
std::string periods(double per_year) {
  return fmt::format("{} period{} a year", shortest(per_year), per_year == 1.0 ? "" : "s");
}

std::string holdings_table(const command::Solution& solution) {
  const auto weight = [&](Index i) { return solution.portfolio.weights[at(i)]; };
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
                          lost(reason->sharpe_lost_if_removed)});
  }
  return render_table(header, rows);
}

template <class Answer>
std::string left_out_line(const Answer& answer) {
  const auto& best = answer.explanation->best_left_out;
  if (!best) return "left out   no single name would raise the Sharpe ratio\n";
  return fmt::format("left out   {} would add {} to the Sharpe ratio, as one name more\n",
                     asset_name(answer, best->asset), number(best->sharpe_gain));
}

std::string search_line(const command::Solution& solution) {
  std::string text = "search     " + counted(*solution.iterations, "iteration");
  if (solution.sdr)
    text += fmt::format(" of the relaxation, with kappa {}", shortest(solution.sdr->kappa));
  else if (solution.certified)
    text += *solution.certified ? "; certified globally optimal" : "; not certified";
  return text + "\n";
}

template <class Answer>
std::string bound_line(const Answer& solution) {
  const baseline::SharpeBound& bound = *solution.bound;
  if (!std::isfinite(bound.sharpe)) return "bound      none was proved\n";
  std::string text =
      fmt::format("bound      no {} names reach more than {} per period, {} annualised ({} bound)",
                  solution.settings.k, number(bound.sharpe),
                  number(solution.annualized(bound.sharpe)), baseline::name(bound.from));
  if (const std::optional<double> share = solution.share_of(bound.sharpe))
    text += fmt::format("; {} of it is reached", percent(*share));
  return text + "\n";
}

template <class Answer>
std::string proof_line(const Answer& answer) {
  const select::Proof& proof = *answer.proof;
  const std::string nodes = counted(proof.nodes, "node");
  const std::string_view of = proof.of_sharpe ? "" : " of the objective";
  const std::string left = std::isfinite(proof.gap())
                               ? fmt::format("a gap of {}{}", percent(proof.gap()), of)
                               : "no bound";
  if (proof.of_sharpe && proof.bound == 0.0 && proof.reached < 0.0)
    return fmt::format("proof      no portfolio under the limits earns anything ({})\n", nodes);
  switch (proof.end) {
    case select::ProofEnd::optimal:
      return fmt::format("proof      nothing better is possible ({})\n", nodes);
    case select::ProofEnd::gap: return fmt::format("proof      to {} ({})\n", left, nodes);
    case select::ProofEnd::time:
      return fmt::format("proof      {} when the time was over ({})\n", left, nodes);
    case select::ProofEnd::nodes: return fmt::format("proof      {} after {}\n", left, nodes);
    case select::ProofEnd::interrupted:
      return fmt::format("proof      {} when interrupted ({})\n", left, nodes);
  }
  return "";
}

std::string title(const command::Solution& solution) {
  const std::size_t held = solution.held().size();
  std::string text = fmt::format("{} of {} assets by {} (at most {})", held, solution.input.n(),
                                 solution.optimizer, solution.settings.k);
  if (const auto& window = solution.input.window)
    text += fmt::format(", {} returns from {} to {}", window->rows, window->from, window->to);
  return text + "\n";
}

std::string title(const command::Prediction& prediction) {
  return fmt::format("{} of {} assets by {} (at most {}), for the period after {}\n",
                     prediction.held().size(), prediction.n(), prediction.optimizer,
                     prediction.settings.k, prediction.input.window.to);
}

std::vector<std::string> holdings_header(const command::Prediction& prediction) {
  std::vector<std::string> header = {"asset", "weight"};
  if (prediction.sizes) header.insert(header.end(), {"price", "shares"});
  if (prediction.members() > 1) header.insert(header.end(), {"held by", "mean", "sd"});
  if (prediction.explanation)
    header.insert(header.end(), {"mu", "score", "rank", "risk", "Sharpe lost without it"});
  return header;
}

std::vector<std::string> holdings_row(const command::Prediction& prediction, Index asset) {
  const auto i = at(asset);
  std::vector<std::string> row = {asset_name(prediction, asset),
                                  number_or_dash(prediction.weight(asset))};
  if (const auto& sizes = prediction.sizes) {
    const std::string& ticker = prediction.ticker(asset);
    row.push_back(shortest(*sizes->price(ticker)));
    row.push_back(command::share_text(*sizes->shares(ticker, prediction.weight(asset))));
  }
  if (prediction.members() > 1)
    row.insert(row.end(),
               {tenths(prediction.spread.held[i]), number_or_dash(prediction.spread.mean[i]),
                number_or_dash(prediction.spread.sd[i])});
  if (const select::Reason* reason = prediction.reason(asset))
    row.insert(row.end(), {fmt::format("{:.3e}", reason->mu), number_or_dash(reason->score),
                           std::to_string(reason->score_rank), tenths(reason->risk_contribution),
                           lost(reason->sharpe_lost_if_removed)});
  return row;
}

std::string holdings_table(const command::Prediction& prediction) {
  std::vector<Index> held = prediction.held();
  std::ranges::stable_sort(held, [&](Index a, Index b) {
    return std::abs(prediction.weight(a)) > std::abs(prediction.weight(b));
  });
  std::vector<std::vector<std::string>> rows;
  rows.reserve(held.size());
  for (const Index asset : held) rows.push_back(holdings_row(prediction, asset));
  return render_table(holdings_header(prediction), rows) + "\n";
}

// A share of the wealth, in basis points.
std::string basis_points(std::optional<double> share) {
  return share ? fmt::format("{:.2f}", 1e4 * *share) : "-";
}

std::string trades_table(const command::Trading& trading, bool in_shares) {
  if (trading.trades.empty()) return {};
  std::vector<std::string> header = {"trade", "from", "to", "change"};
  if (in_shares) header.emplace_back("shares");
  header.insert(header.end(), {"gains (bp)", "costs (bp)"});
  std::vector<std::vector<std::string>> rows;
  for (const command::TradeRow& row : trading.trades) {
    rows.push_back({printable(row.asset, kWidestName), number_or_dash(row.from),
                    number_or_dash(row.to), number_or_dash(row.trade())});
    if (in_shares)
      rows.back().push_back(row.shares ? command::share_text(row.shares->trade()) : "-");
    rows.back().insert(rows.back().end(), {basis_points(row.gain), basis_points(row.cost)});
  }
  return render_table(header, rows) + "\n";
}

std::string left_undone_table(const command::Trading& trading) {
  if (trading.left_undone.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const command::TradeRow& row : trading.left_undone)
    rows.push_back({printable(row.asset, kWidestName), number(row.from), number(row.to),
                    basis_points(row.gain), basis_points(row.cost),
                    row.pays() ? "no room" : "would not pay"});
  return render_table({"left undone", "held", "if free", "gains (bp)", "costs (bp)", "why"}, rows) +
         "\n";
}

std::string trading_lines(const command::Trading& trading) {
  return fmt::format(
      "turnover   {}\n"
      "trading    by the rule {}; costs {} bp of the wealth, and gains are over {} periods\n",
      number_or_dash(turnover(trading.trades)), name_of(trading.ruling.rule),
      basis_points(trading.cost), shortest(trading.ruling.holding_horizon));
}

std::string benchmark_line(const command::Prediction& prediction) {
  const auto found = prediction.against();
  if (!found) return {};
  return fmt::format("benchmark  {}: beta {}, correlation {} over the window\n",
                     printable(prediction.input.benchmark.ticker, 24), number_or_dash(found->beta),
                     number_or_dash(found->correlation));
}

std::string members_line(const command::Prediction& prediction) {
  const std::size_t members = prediction.members();
  if (members == 1) return "members    1, which has nobody to agree with\n";
  std::vector<std::string> others;
  for (const Index asset : prediction.held_by_members_only())
    others.push_back(fmt::format("{} ({})", asset_name(prediction, asset),
                                 tenths(prediction.spread.held[at(asset)])));
  std::string out = fmt::format(
      "members    {}, agreement {:.2f} (1: they say the same; about {:.2f}: nothing in common)\n",
      members, prediction.agreement, 1.0 / std::sqrt(static_cast<double>(members)));
  if (!others.empty())
    out += fmt::format("           some would hold {}\n", command::some_names(others, 8));
  return out;
}

std::string figures(const command::Prediction& prediction) {
  const command::Exposure& exposure = prediction.exposure;
  const trade::Ruling& ruling = prediction.trading.ruling;
  const std::string whose = ruling.normalizes() ? fmt::format("if the signal has one of {} a year",
                                                              shortest(ruling.expected_sharpe))
                                                : "as the model expects";
  return fmt::format(
      "Sharpe     {} per period, {} annualised, {}\n"
      "exposure   gross {}, net {}, volatility {} a year\n",
      number_or_dash(prediction.portfolio.sharpe),
      number_or_dash(prediction.annualized(prediction.portfolio.sharpe)), whose,
      number_or_dash(exposure.gross), number_or_dash(shown_net(exposure)),
      tenths(prediction.annualized(exposure.volatility)));
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
  if (solution.explanation && solution.rules) out += binding_table(solution);
  if (solution.trading)
    out += trades_table(*solution.trading, false) + left_undone_table(*solution.trading);
  // What the numbers say of themselves is not what the future will pay.
  out += fmt::format("Sharpe     {} ({}), {}\n", sharpe(portfolio.sharpe),
                     periods(solution.periods_per_year),
                     solution.input.window ? "of the window itself" : "of the given moments");
  out += fmt::format("full       {}", sharpe(solution.full_sharpe));
  if (const std::optional<double> share = solution.share_of(solution.full_sharpe))
    out += fmt::format("; {} of it is kept", percent(*share));
  out += "\n";
  if (solution.bound) out += bound_line(solution);
  if (solution.proof) out += proof_line(solution);
  out += exposure_line(solution) + limits_line(solution);
  if (solution.explanation) out += left_out_line(solution);
  if (solution.trading) out += trading_lines(*solution.trading);
  if (solution.iterations) out += search_line(solution);
  out += fmt::format("status     {}: {}\n", name(portfolio.outcome.status), solution.status_text());
  for (const std::string& warning : solution.warnings)
    out += fmt::format("warning    {}\n", warning);
  return out;
}

std::string predict_text(const command::Prediction& prediction) {
  const bool account = prediction.values.has("previous") || prediction.sizes;
  std::string out = title(prediction) + "\n";
  if (!prediction.held().empty()) out += holdings_table(prediction);
  if (prediction.explanation && prediction.rules) out += binding_table(prediction);
  if (account)
    out += trades_table(prediction.trading, prediction.sizes.has_value()) +
           left_undone_table(prediction.trading);
  out += figures(prediction);
  if (prediction.bound) out += bound_line(prediction);
  if (prediction.proof) out += proof_line(prediction);
  out += limits_line(prediction) + benchmark_line(prediction) + members_line(prediction);
  if (prediction.explanation) out += left_out_line(prediction);
  if (account) out += trading_lines(prediction.trading);
  out += "age        " +
         ages_text(prediction.input.age, prediction.input.model_age,
                   prediction.input.model.last_date) +
         "\n";
  out += fmt::format("status     {}: {}\n", name(prediction.portfolio.outcome.status),
                     prediction.status_text());
  for (const std::string& warning : prediction.warnings)
    out += fmt::format("warning    {}\n", warning);
  return out;
}

}  // namespace sharpen::app
