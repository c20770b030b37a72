// The answer of `sharpen predict` on a terminal.
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
  if (std::isnan(value)) return "-";
  const bool fixed = value == 0.0 || (size >= 1e-4 && size < 1e6);
  return fixed ? fmt::format("{:.4f}", value) : fmt::format("{:.3e}", value);
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100.0 * share); }

std::string asset_name(const command::Prediction& prediction, Index asset) {
  return printable(prediction.ticker(asset), kWidestName);
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
  const auto i = static_cast<std::size_t>(asset);
  std::vector<std::string> row = {asset_name(prediction, asset), number(prediction.weight(asset))};
  if (const auto& sizes = prediction.sizes) {
    const std::string& ticker = prediction.ticker(asset);
    row.push_back(shortest(sizes->price(ticker)));
    row.push_back(command::share_text(sizes->shares(ticker, prediction.weight(asset))));
  }
  if (prediction.members() > 1)
    row.insert(row.end(), {percent(prediction.spread.held[i]), number(prediction.spread.mean[i]),
                           number(prediction.spread.sd[i])});
  if (const select::Reason* reason = prediction.reason(asset))
    row.insert(row.end(), {fmt::format("{:.3e}", reason->mu), number(reason->score),
                           std::to_string(reason->score_rank), percent(reason->risk_contribution),
                           number(reason->sharpe_lost_if_removed)});
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
  return command::render_table(holdings_header(prediction), rows) + "\n";
}

std::string trades_table(const command::Prediction& prediction) {
  std::vector<std::string> header = {"trade", "from", "to", "change"};
  if (prediction.sizes) header.emplace_back("shares");
  std::vector<std::vector<std::string>> rows;
  for (const command::TradeRow& row : prediction.trades) {
    rows.push_back(
        {printable(row.asset, kWidestName), number(row.from), number(row.to), number(row.trade())});
    const std::string shares = command::share_text(row.shares());
    if (prediction.sizes) rows.back().push_back(shares.empty() ? "-" : shares);
  }
  return command::render_table(header, rows) + "\n";
}

std::string members_line(const command::Prediction& prediction) {
  const std::size_t members = prediction.members();
  if (members == 1) return "members    1, which has nobody to agree with\n";
  std::vector<std::string> others;
  for (const Index asset : prediction.held_by_members_only())
    others.push_back(fmt::format("{} ({})", asset_name(prediction, asset),
                                 percent(prediction.spread.held[static_cast<std::size_t>(asset)])));
  std::string out = fmt::format(
      "members    {}, agreement {:.2f} (1: they say the same; about "
      "{:.2f}: nothing in common)\n",
      members, prediction.agreement, 1.0 / std::sqrt(static_cast<double>(members)));
  if (!others.empty())
    out += fmt::format("           some would hold {}\n", command::some_names(others, 8));
  return out;
}

std::string left_out_line(const command::Prediction& prediction) {
  const auto& best = prediction.explanation->best_left_out;
  if (!best) return "left out   no single name would raise the Sharpe ratio\n";
  return fmt::format("left out   {} would add {} to the Sharpe ratio, as one name more\n",
                     asset_name(prediction, best->asset), number(best->sharpe_gain));
}

std::string figures(const command::Prediction& prediction) {
  const command::Exposure& exposure = prediction.exposure;
  const double net = std::abs(exposure.net) < 1e-12 * exposure.gross ? 0.0 : exposure.net;
  return fmt::format(
      "Sharpe     {} per period, {} annualised, as the model expects\n"
      "exposure   gross {}, net {}, volatility {} a year\n",
      number(prediction.portfolio.sharpe),
      number(prediction.annualized(prediction.portfolio.sharpe)), number(exposure.gross),
      number(net), percent(prediction.annualized(exposure.volatility)));
}

}  // namespace

std::string predict_text(const command::Prediction& prediction) {
  const bool account = prediction.values.has("previous") || prediction.sizes;
  std::string out = title(prediction) + "\n";
  if (!prediction.held().empty()) out += holdings_table(prediction);
  if (account && !prediction.trades.empty()) out += trades_table(prediction);
  out += figures(prediction) + members_line(prediction);
  if (prediction.explanation) out += left_out_line(prediction);
  if (account) out += fmt::format("turnover   {}\n", number(turnover(prediction.trades)));
  out += fmt::format("status     {}: {}\n", name(prediction.portfolio.outcome.status),
                     prediction.status_text());
  for (const std::string& warning : prediction.warnings)
    out += fmt::format("warning    {}\n", warning);
  return out;
}

}  // namespace sharpen::app
