// The answer of `sharpen predict --json`; docs/json.md lists every key.
#include <cmath>

#include "command/json_text.hpp"
#include "sharpen/command/predict.hpp"

namespace sharpen::command {

namespace {

// A count of shares as a whole number; null where it is not known.
Json share_count(double shares) {
  return std::isnan(shares) ? Json(nullptr) : Json(static_cast<std::int64_t>(shares));
}

void add_members(const Prediction& prediction, Index asset, Json& out) {
  const auto i = static_cast<std::size_t>(asset);
  out["held_by"] = prediction.spread.held[i];
  out["member_mean"] = prediction.spread.mean[i];
  out["member_sd"] = prediction.spread.sd[i];
}

Json holding(const Prediction& prediction, Index asset) {
  Json out;
  out["asset"] = prediction.ticker(asset);
  out["index"] = asset;
  out["weight"] = prediction.weight(asset);
  if (const auto& sizes = prediction.sizes) {
    const std::string& ticker = prediction.ticker(asset);
    out["price"] = sizes->price(ticker);
    out["shares"] = share_count(sizes->shares(ticker, prediction.weight(asset)));
  }
  add_members(prediction, asset, out);
  if (const select::Reason* reason = prediction.reason(asset)) {
    out["mu"] = reason->mu;
    out["score"] = reason->score;
    out["score_rank"] = reason->score_rank;
    out["risk_contribution"] = reason->risk_contribution;
    out["sharpe_lost_if_removed"] = reason->sharpe_lost_if_removed;
  }
  return out;
}

Json member_name(const Prediction& prediction, Index asset) {
  Json out;
  out["asset"] = prediction.ticker(asset);
  out["index"] = asset;
  add_members(prediction, asset, out);
  return out;
}

Json left_out(const Prediction& prediction) {
  const auto& best = prediction.explanation->best_left_out;
  if (!best) return nullptr;
  Json out;
  out["asset"] = prediction.ticker(best->asset);
  out["index"] = best->asset;
  out["sharpe_gain"] = best->sharpe_gain;
  return out;
}

Json trade(const TradeRow& row, bool with_shares) {
  Json out;
  out["asset"] = row.asset;
  out["from"] = row.from;
  out["to"] = row.to;
  out["trade"] = row.trade();
  if (with_shares) {
    out["price"] = row.price;
    out["shares_from"] = share_count(row.shares_from);
    out["shares_to"] = share_count(row.shares_to);
    out["shares"] = share_count(row.shares());
  }
  return out;
}

Json text_or_null(const settings::Values& values, std::string_view name) {
  return values.has(name) ? Json(values.text(name)) : Json(nullptr);
}

void add_portfolio(const Prediction& prediction, Json& out) {
  const select::Portfolio& portfolio = prediction.portfolio;
  const double full = prediction.full_sharpe;
  out["status"] = name(portfolio.outcome.status);
  out["status_text"] = prediction.status_text();
  out["sharpe"] = portfolio.sharpe;
  out["sharpe_annualized"] = prediction.annualized(portfolio.sharpe);
  out["full_sharpe"] = full;
  out["full_sharpe_annualized"] = prediction.annualized(full);
  out["share_of_full"] = full > 0.0 ? Json(portfolio.sharpe / full) : Json(nullptr);
  out["gross_exposure"] = prediction.exposure.gross;
  out["net_exposure"] = prediction.exposure.net;
  out["expected_return"] = prediction.exposure.expected_return;
  out["volatility"] = prediction.exposure.volatility;
  out["volatility_annualized"] = prediction.annualized(prediction.exposure.volatility);
  out["cardinality"] = prediction.held().size();
  out["k"] = prediction.settings.k;
  out["n"] = prediction.n();
  out["optimizer"] = prediction.optimizer;
  out["sizing"] = name_of(prediction.settings.sizing.kind);
  out["net"] = name_of(prediction.settings.net);
  out["form"] = name_of(prediction.risk->form());
  out["shrinkage"] = prediction.shrinkage;
  out["jitter"] = portfolio.outcome.jitter;
  out["neutral_first"] = portfolio.outcome.neutral_first;
  out["periods_per_year"] = prediction.periods_per_year;
}

void add_account(const Prediction& prediction, Json& out) {
  const Sizes& sizes = *prediction.sizes;
  double invested = 0.0;
  for (const Index i : prediction.held())
    invested += sizes.shares(prediction.ticker(i), prediction.weight(i)) *
                sizes.price(prediction.ticker(i));
  out["capital"] = sizes.capital;
  out["lot"] = share_count(sizes.lot);
  out["cash"] = sizes.capital - invested;
}

}  // namespace

std::string prediction_json(const Prediction& prediction) {
  const bool with_shares = prediction.sizes.has_value();
  const Window& window = prediction.input.window;
  Json out;
  out["schema_version"] = kSchemaVersion;
  out["command"] = "predict";
  out["model"] = text_or_null(prediction.values, "model");
  out["date"] = window.to;
  out["age_days"] = prediction.input.age ? Json(*prediction.input.age) : Json(nullptr);
  add_portfolio(prediction, out);
  out["window"]["from"] = window.from;
  out["window"]["to"] = window.to;
  out["window"]["rows"] = window.rows;
  out["trained_to"] = prediction.input.model.last_date;
  out["members"] = prediction.members();
  out["agreement"] = prediction.agreement;
  out["holdings"] = Json::array();
  for (const Index asset : prediction.held()) out["holdings"].push_back(holding(prediction, asset));
  out["held_by_members_only"] = Json::array();
  for (const Index asset : prediction.held_by_members_only())
    out["held_by_members_only"].push_back(member_name(prediction, asset));
  if (prediction.explanation) out["best_left_out"] = left_out(prediction);
  if (with_shares) add_account(prediction, out);
  out["previous"] = text_or_null(prediction.values, "previous");
  out["turnover"] = turnover(prediction.trades);
  out["trades"] = Json::array();
  for (const TradeRow& row : prediction.trades) out["trades"].push_back(trade(row, with_shares));
  out["warnings"] = prediction.warnings;
  return json_text(out);
}

}  // namespace sharpen::command
