// The answer of `sharpen predict --json` with an account.
#include "command/json_keys.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/command/orders.hpp"

namespace sharpen::command {

namespace {

Keys<Order> order_keys() {
  return {
      {"asset", "ticker, and `buy` or `sell`", &Order::asset},
      {"side", "", [](auto& o) { return o.side(); }},
      {"shares", "how many, and the last price; absent for an account in weights",
       [](auto& o) { return o.shares ? Json(std::abs(*o.shares)) : absent(); }},
      {"price", "", [](auto& o) { return value_or_absent(o.price); }},
      {"value", "of the order and what it costs, in money or in shares of the wealth",
       [](auto& o) { return std::abs(o.value); }},
      {"cost", "", &Order::cost},
      {"from", "weight before and after it, of the wealth before the orders", &Order::from},
      {"to", "", &Order::to},
      {"gain",
       "what it gains over the holding horizon, a share of the wealth; `null` without a rule",
       [](auto& o) { return value_or_null(o.gain); }},
      {"reason",
       "`decided`; with `--rule cost` `pays`, or `makes room` for what gains more; `not in the "
       "universe`",
       &Order::reason},
  };
}

Keys<NotTraded> not_traded_keys() {
  return {
      {"asset", "ticker, weight held, weight that was wanted (`null`: none)", &NotTraded::asset},
      {"from", "", &NotTraded::from},
      {"wanted", "", [](auto& n) { return value_or_null(n.wanted); }},
      {"gain", "of the trade to it, and what it would cost, in shares of the wealth",
       [](auto& n) { return value_or_null(n.gain); }},
      {"cost", "", [](auto& n) { return value_or_null(n.cost); }},
      {"reason",
       "`halted`, `no price`, `less than a lot`, `below the minimum`, `not enough cash`, `would "
       "not pay`, `within the band`, `no room`",
       &NotTraded::reason},
  };
}

Keys<trade::Holding> position_keys() {
  return {{"asset", "ticker; shares, or a share of the wealth", &trade::Holding::asset},
          {"amount", "", &trade::Holding::amount}};
}

Json number_or_null(const std::optional<long>& value) { return value_or_null(value); }

Keys<OrdersAnswer> orders_keys() {
  return answer_keys<OrdersAnswer>(
      "predict", "`predict`",
      {{{"label", "framework and optimizer", &OrdersAnswer::label},
        {"date", "last row of the panel: the day of the decision", &OrdersAnswer::date},
        {"age_days", "days from there to today, or to `--asof`; `null` where rows have no dates",
         [](auto& a) { return number_or_null(a.age); }},
        {"trained_to", "last date the model was trained on, and days since; `null` without one",
         [](auto& a) { return text_or_null(a.trained_to); }},
        {"model_age_days", "", [](auto& a) { return number_or_null(a.model_age); }},
        {"positions_date",
         "the day that the account is from, and days from there to `date`; `null` without one",
         [](auto& a) { return text_or_null(a.positions_date); }},
        {"positions_age_days", "", [](auto& a) { return number_or_null(a.positions_age); }},
        {"status", "of the decision, as in the files of a backtest; `held`: none today",
         [](auto& a) { return name(a.status); }},
        {"next_decision", "periods to the next decision; 0: it is today", &OrdersAnswer::wait},
        {"in_shares", "whether the account is in shares and money, or in shares of the wealth",
         &OrdersAnswer::in_money},
        {"wealth", "before the orders", &OrdersAnswer::wealth},
        {"cash_before", "cash before and after the orders and their costs",
         &OrdersAnswer::cash_before},
        {"cash", "", &OrdersAnswer::cash},
        {"gross_exposure", "Σ\\|wᵢ\\| and Σwᵢ after the orders", &OrdersAnswer::gross},
        {"net_exposure", "", &OrdersAnswer::net},
        {"turnover", "Σ\\|value\\| of the orders, a share of the wealth", &OrdersAnswer::turnover},
        {"cost", "of the orders together, in money or in shares of the wealth",
         &OrdersAnswer::cost},
        list<OrdersAnswer>("orders", "what to send; as in `orders.csv`", order_keys(),
                           &OrdersAnswer::orders),
        list<OrdersAnswer>("not_traded", "names that are held fast, or short of what was wanted",
                           not_traded_keys(), &OrdersAnswer::not_traded),
        list<OrdersAnswer>("positions", "what is held after the orders; as in `positions.csv`",
                           position_keys(), [](auto& a) { return a.positions.holdings; }),
        {"warnings", kWarningsMeaning, [](auto& a) { return plain(a.warnings); }}}});
}

}  // namespace

std::string orders_json(const OrdersAnswer& answer) { return json_text<orders_keys>(answer); }

Section orders_section() {
  return {"predict --positions",
          {"With an account, or with a framework that needs no model, the answer is another one: "
           "[orders.md](orders.md)."},
          listed(orders_keys())};
}

}  // namespace sharpen::command
