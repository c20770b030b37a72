// The keys of an answer about trades, of solve and predict alike.
#pragma once

#include "command/json_keys.hpp"
#include "sharpen/command/trades.hpp"

namespace sharpen::command {

// What a trade gains and costs.
template <class Item>
Keys<Item> reason_of_trade_keys(const std::function<const TradeRow&(const Item&)>& row) {
  return {{"gain",
           "what it gains over `holding_horizon` periods and what it costs, shares of the wealth "
           "([trading.md](trading.md)); `null` where that is not known",
           [row](const Item& item) { return value_or_null(row(item).gain); }},
          {"cost", "", [row](const Item& item) { return value_or_null(row(item).cost); }}};
}

// `trading(answer)`: null where it has none.
template <class Answer>
Keys<Answer> rule_keys(int part, const std::function<const Trading*(const Answer&)>& trading) {
  const auto of = [trading](auto value) {
    return [trading, value](const Answer& answer) {
      const Trading* found = trading(answer);
      return found == nullptr ? absent() : Json(value(*found));
    };
  };
  Keys<TradeRow> undone = {
      {"asset", "ticker, weight held and kept, weight if trading were free",
       [](const TradeRow& row) { return row.asset; }},
      {"from", "", [](const TradeRow& row) { return row.from; }},
      {"to", "", [](const TradeRow& row) { return row.to; }},
      {"reason",
       "`cost`: it would cost more than it gains; `room`: there is none for it among `k` names or "
       "under the limits",
       [](const TradeRow& row) { return row.pays() ? "room" : "cost"; }}};
  append(undone, reason_of_trade_keys<TradeRow>(
                     [](const TradeRow& row) -> const TradeRow& { return row; }));
  return in_part<Answer>(
      part,
      {{"rule", "`cost`, `band` or `none`: what the decision makes of what is held",
        of([](const Trading& t) { return name_of(t.ruling.rule); })},
       {"memory", "periods that the signal is averaged over",
        of([](const Trading& t) { return t.ruling.memory; })},
       {"expected_sharpe",
        "Sharpe ratio a year that the signal is believed to have, and periods that a position is "
        "expected to last",
        of([](const Trading& t) { return t.ruling.expected_sharpe; })},
       {"holding_horizon", "", of([](const Trading& t) { return t.ruling.holding_horizon; })},
       {"cost_bps", "what trading costs, in basis points: the mean over the assets",
        of([](const Trading& t) { return t.cost_bps; })},
       {"trading_cost", "what the trades cost together, a share of the wealth",
        of([](const Trading& t) { return t.cost; })},
       {"left_undone", "trades that would be made if trading were free, and are not",
        of([undone](const Trading& t) {
          Json out = Json::array();
          for (const TradeRow& row : t.left_undone) out.push_back(json_of(undone, row));
          return out;
        }),
        part, listed(undone, "left_undone[].")}});
}

}  // namespace sharpen::command
