// The answer of `sharpen predict --json`.
#include <cmath>

#include "command/explained_keys.hpp"
#include "command/json_keys.hpp"
#include "command/limit_keys.hpp"
#include "command/proof_keys.hpp"
#include "command/trade_keys.hpp"
#include "sharpen/command/predict.hpp"

namespace sharpen::command {

namespace {

// Parts of the section: the portfolio, what --explain adds in words, and the account.
enum PredictPart { kWeights, kWords, kAccount };

constexpr std::string_view kAsSolve = "as for `sharpen solve`";

// A count of shares as a whole number; null where it is not known.
Json share_count(std::optional<double> shares) {
  return shares ? Json(static_cast<std::int64_t>(*shares)) : Json(nullptr);
}

Json setting_or_null(const settings::Values& values, std::string_view name) {
  return values.has(name) ? Json(values.text(name)) : Json(nullptr);
}

// A name of the model.
struct Name {
  const Prediction* prediction;
  Index index;
  const select::Reason* reason;

  const std::string& asset() const { return prediction->ticker(index); }
  double weight() const { return prediction->weight(index); }
};

std::vector<Name> named(const Prediction& prediction, const std::vector<Index>& assets) {
  std::vector<Name> out;
  for (const Index asset : assets) out.push_back({&prediction, asset, prediction.reason(asset)});
  return out;
}

// What the members hold of a name, each by itself.
Keys<Name> spread_keys(std::string_view held_by, std::string_view spread) {
  const auto of = [](auto member) {
    return [member](const Name& name) { return (name.prediction->spread.*member)[at(name.index)]; };
  };
  return {{"held_by", held_by, of(&learn::MemberSpread::held)},
          {"member_mean", spread, of(&learn::MemberSpread::mean)},
          {"member_sd", "", of(&learn::MemberSpread::sd)}};
}

Keys<Name> holding_keys() {
  Keys<Name> keys = {
      {"asset", "ticker, place in the model, weight", &Name::asset},
      {"index", "", &Name::index},
      {"weight", "", &Name::weight},
      {"price", "last price",
       [](auto& name) {
         const auto& sizes = name.prediction->sizes;
         return sizes ? value_or_null(sizes->price(name.asset())) : absent();
       },
       kAccount},
      {"shares", "shares wanted: `weight` × `capital` / `price`, rounded to whole lots",
       [](auto& name) {
         const auto& sizes = name.prediction->sizes;
         return sizes ? share_count(sizes->shares(name.asset(), name.weight())) : absent();
       },
       kAccount}};
  append(keys,
         spread_keys("share of the members whose own portfolio, with the same settings, holds the "
                     "name",
                     "mean and standard deviation of the members' own weights; `member_sd` is "
                     "`null` for one member"));
  append(keys, reason_keys<Name>(kNoTable));
  return keys;
}

Keys<Name> left_alone_keys() {
  Keys<Name> keys = {{"asset", "as for `holdings`", &Name::asset}, {"index", "", &Name::index}};
  append(keys, spread_keys("", ""));
  return keys;
}

// A trade, in shares where there is an account.
struct Traded {
  const TradeRow* row;
  bool with_shares;
};

std::vector<Traded> traded(const Prediction& prediction) {
  std::vector<Traded> out;
  for (const TradeRow& row : prediction.trading.trades)
    out.push_back({&row, prediction.sizes.has_value()});
  return out;
}

Keys<Traded> trade_keys() {
  const auto in_shares = [](auto value) {
    return [value](const Traded& trade) {
      if (!trade.with_shares) return absent();
      return trade.row->shares ? Json(value(*trade.row->shares)) : Json(nullptr);
    };
  };
  Keys<Traded> keys = {
      {"asset", "weight held, weight wanted, their difference",
       [](auto& trade) { return trade.row->asset; }},
      {"from", "", [](auto& trade) { return trade.row->from; }},
      {"to", "", [](auto& trade) { return trade.row->to; }},
      {"trade", "", [](auto& trade) { return trade.row->trade(); }},
      {"price", "last price; `null` where the file has none",
       in_shares([](auto& shares) { return shares.price; }), kAccount},
      {"shares_from", "the two weights in shares, each rounded to whole lots",
       in_shares([](auto& shares) { return share_count(shares.from); }), kAccount},
      {"shares_to", "", in_shares([](auto& shares) { return share_count(shares.to); }), kAccount},
      {"shares", "their difference: what to buy, or to sell if it is negative",
       in_shares([](auto& shares) { return share_count(shares.trade()); }), kAccount},
  };
  append(keys,
         reason_of_trade_keys<Traded>([](const Traded& t) -> const TradeRow& { return *t.row; }));
  return keys;
}

Keys<Prediction> figure_keys() {
  return {
      {"status", "as for `sharpen solve`",
       [](auto& p) { return name(p.portfolio.outcome.status); }},
      {"status_text", "", &Prediction::status_text},
      {"sharpe",
       "Sharpe ratio that the model expects of the weights, per period and × √`periods_per_year`; "
       "0 for cash",
       [](auto& p) { return p.portfolio.sharpe; }},
      {"sharpe_annualized", "", [](auto& p) { return p.annualized(p.portfolio.sharpe); }},
      {"full_sharpe", "the same without a bound on the number of names", &Prediction::full_sharpe},
      {"full_sharpe_annualized", "", [](auto& p) { return p.annualized(p.full_sharpe); }},
      {"share_of_full", "`sharpe` / `full_sharpe`; `null` where there is none to keep",
       [](auto& p) { return value_or_null(p.share_of(p.full_sharpe)); }},
      {"gross_exposure", "Σ\\|wᵢ\\| and Σwᵢ", [](auto& p) { return p.exposure.gross; }},
      {"net_exposure", "", [](auto& p) { return p.exposure.net; }},
      {"expected_return", "μᵀw per period", [](auto& p) { return p.exposure.expected_return; }},
      {"volatility", "√(wᵀΣw) per period, and a year",
       [](auto& p) { return p.exposure.volatility; }},
      {"volatility_annualized", "", [](auto& p) { return p.annualized(p.exposure.volatility); }},
      {"cardinality", "number of names held", [](auto& p) { return p.held().size(); }},
      {"k", "most names that could be held, and the model's assets",
       [](auto& p) { return p.settings.k; }},
      {"n", "", &Prediction::n},
      {"optimizer", kAsSolve, [](auto& p) { return p.optimizer; }},
      {"sizing", "", &sizing_or_null<Prediction>},
      {"net", "", [](auto& p) { return name_of(p.settings.net); }},
      {"form", "", [](auto& p) { return name_of(p.risk->form()); }},
      {"shrinkage", "", &Prediction::shrinkage},
      {"jitter", "", [](auto& p) { return p.portfolio.outcome.jitter; }},
      {"neutral_first", "", [](auto& p) { return p.portfolio.outcome.neutral_first; }},
      {"periods_per_year", "", &Prediction::periods_per_year},
  };
}

Keys<Prediction> window_keys() {
  return {
      group<Prediction>(
          "window", "",
          {{"from", "the returns the model saw", [](auto& p) { return p.input.window.from; }},
           {"to", "", [](auto& p) { return p.input.window.to; }},
           {"rows", "", [](auto& p) { return p.input.window.rows; }}},
          kNoTable),
      {"trained_to",
       "last date the model was trained on, and days from there to today, or to `--asof`",
       [](auto& p) { return p.input.model.last_date; }},
      {"model_age_days", "", [](auto& p) { return value_or_null(p.input.model_age); }},
      {"members", "number of networks in the model", &Prediction::members},
      {"agreement",
       "risk of the mean of the members' unit-risk directions: 1 if they say the same, about "
       "1/√`members` if they have nothing in common; 0 if none has a direction",
       &Prediction::agreement},
      list<Prediction>("holdings", "the names held, in the order of the model; empty for cash",
                       holding_keys(), [](auto& p) { return named(p, p.held()); }),
      list<Prediction>("held_by_members_only",
                       "names that some member would hold and the portfolio does not, with the "
                       "same keys but no `weight`",
                       left_alone_keys(),
                       [](auto& p) { return named(p, p.held_by_members_only()); }),
      left_out_key<Prediction>(
          kNoTable, [](auto& p) -> auto& { return p.input.today.tickers; }),
      binding_key<Prediction>(
          kNoTable, [](auto& p) -> auto& { return p.input.today.tickers; }),
  };
}

Keys<backtest::NamedWeight> kept_keys() {
  return {{"asset", "", &backtest::NamedWeight::asset},
          {"weight", "", &backtest::NamedWeight::weight}};
}

Json untraded(const Prediction& p) {
  Json out = Json::array();
  for (const std::string& ticker : p.input.model.tickers)
    if (std::ranges::find(p.input.frozen, ticker) != p.input.frozen.end()) out.push_back(ticker);
  return out;
}

Json against(const Prediction& p) {
  const auto found = p.against();
  if (!found) return absent();
  return {{"ticker", p.input.benchmark.ticker},
          {"beta", found->beta},
          {"correlation", found->correlation},
          {"periods", found->periods}};
}

Keys<Prediction> account_keys() {
  const auto of = [](auto value) {
    return [value](const Prediction& p) { return p.sizes ? value(p) : absent(); };
  };
  return in_part<Prediction>(
      kAccount, {{"capital", "as given", of([](auto& p) { return Json(p.sizes->capital); })},
                 {"lot", "", of([](auto& p) { return share_count(p.sizes->lot); })},
                 {"cash", "`capital` less the value of the shares wanted; shorts add to it",
                  of([](auto& p) { return Json(p.cash()); })}});
}

Keys<Prediction> predict_keys() {
  return answer_keys<Prediction>(
      "predict", "`predict`",
      {{{"model", "the model's file", [](auto& p) { return setting_or_null(p.values, "model"); }},
        {"date", "last row of the panel that was used; the portfolio is for the period after it",
         [](auto& p) { return p.input.window.to; }},
        {"age_days", "days from there to today, or to `--asof`; `null` where rows have no dates",
         [](auto& p) { return value_or_null(p.input.age); }}},
       figure_keys(),
       window_keys(),
       limit_keys<Prediction>(kNoTable),
       bound_keys<Prediction>(kNoTable),
       proof_keys<Prediction>(kNoTable),
       account_keys(),
       {{"previous", "file of the weights held now; `null` for all cash",
         [](auto& p) { return setting_or_null(p.values, "previous"); }},
        {"turnover", "Σ\\|trade\\|", [](auto& p) { return turnover(p.trading.trades); }},
        list<Prediction>("trades",
                         "the names whose weight changes: those wanted, in the order of the model, "
                         "then those only held now",
                         trade_keys(), traded)},
       {list<Prediction>(
            "kept",
            "names that are held, cannot be traded on `date` and cannot be held "
            "otherwise: `asset`, `weight`",
            kept_keys(), [](auto& p) -> auto& { return p.kept; }),
        {"not_tradable", "names of the model that cannot be traded on `date`",
         [](auto& p) { return untraded(p); }},
        {"benchmark",
         "with `--benchmark`: `ticker`, and of the portfolio over the window `beta`, `correlation` "
         "and `periods`",
         against}},
       rule_keys<Prediction>(kWeights, [](const Prediction& p) { return &p.trading; }),
       {{"warnings", kWarningsMeaning, &Prediction::warnings}}});
}

}  // namespace

std::string predict_json(const Prediction& prediction) {
  return json_text<predict_keys>(prediction);
}

Section predict_section() {
  return {
      "predict",
      {"What the answer means: [predict.md](predict.md). For `exact` there are the keys of what "
       "it proved, as for\n`sharpen solve`, from `sharpe_upper_bound` to `bound_leaves_out`. With "
       "`--require-ok` and another "
       "status the answer\nis printed all the same, and the exit code is 1.",
       "With `--explain` there are also `holdings[].mu`, `holdings[].score`, "
       "`holdings[].score_rank`,\n`holdings[].risk_contribution`, "
       "`holdings[].sharpe_lost_if_removed`, `best_left_out`,\n`best_left_out.asset`, "
       "`best_left_out.index` and `best_left_out.sharpe_gain`, as for `sharpen solve`.",
       "With `--capital` there is also:"},
      listed(predict_keys())};
}

}  // namespace sharpen::command
