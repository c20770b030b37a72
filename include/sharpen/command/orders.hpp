// sharpen predict with an account: from what is held to today's orders (docs/orders.md).
//
// The account is brought to the day of the decision, the last step of a backtest with the same
// settings is made from it (backtest/next_period.hpp), and what that trades becomes orders.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/backtest/backtest.hpp"
#include "sharpen/backtest/run_files.hpp"
#include "sharpen/base/log.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/command/output_folder.hpp"
#include "sharpen/learn/model.hpp"
#include "sharpen/market/panel_input.hpp"
#include "sharpen/trade/positions.hpp"

namespace sharpen::command {

struct Order {
  std::string asset;
  double from = 0.0, to = 0.0;        // weights, of the wealth before the trade
  std::optional<double> shares = {};  // bought, or below zero sold; none: weights only
  std::optional<double> price = {};
  double value = 0.0;               // bought, or below zero sold: money or a share of wealth
  double cost = 0.0;                // likewise
  std::optional<double> gain = {};  // over the horizon, a share of the wealth
  std::string_view reason = {};

  std::string_view side() const { return value > 0.0 ? "buy" : "sell"; }
};

// A name that is not traded although it is held fast or something else would be wanted.
struct NotTraded {
  std::string asset;
  double from = 0.0;                           // weight
  std::optional<double> wanted = {};           // weight that was wanted; none: nobody asked
  std::optional<double> gain = {}, cost = {};  // of the trade to it, shares of the wealth
  std::string_view reason = {};
};

struct OrdersAnswer {
  explicit OrdersAnswer(const settings::Values& of) : values(of) {}

  settings::Values values;
  backtest::BacktestSettings settings = {};
  std::string file, label;
  std::string date;                              // of the decision
  std::optional<long> age = {}, model_age = {};  // days
  std::optional<long> positions_age = {};  // days from the list to the decision; none: no date
  std::string positions_date = {};         // of the list; "": it has none, or there is none
  std::string trained_to = {};             // of the model; "": there is none
  backtest::PeriodStatus status = backtest::PeriodStatus::held;  // held: no decision today
  Index wait = 0;                        // periods until the next decision, if there is none today
  bool in_money = true;                  // false: shares of the wealth
  double wealth = 1.0;                   // before the orders
  double cash_before = 0.0, cash = 0.0;  // cash: after the orders
  double gross = 0.0, net = 0.0, turnover = 0.0, cost = 0.0;
  std::vector<Order> orders = {};
  std::vector<NotTraded> not_traded = {};
  trade::Positions positions = {};                  // after the orders
  std::vector<backtest::NamedWeight> weights = {};  // likewise, of the wealth before them
  std::vector<std::string> warnings = {};

  bool decides() const { return wait == 0; }
  // Whoever requires a portfolio that is ok does not want another one to take its place.
  bool refused() const {
    return values.flag("require-ok") && decides() && status != backtest::PeriodStatus::ok;
  }
};

// What the caller has in memory: it is not read from the files that settings name.
struct OrdersInputs {
  std::optional<learn::Model> model = {};
  std::optional<market::MemoryPanel> panel = {};
  std::optional<market::Panel> signal = {};
  std::optional<trade::Positions> positions = {};
};

// Whether the settings ask for orders: they name an account, a folder for them, a framework that
// needs no model, or what only a walk knows. Else predict_answer() has the answer of a model.
bool asks_for_orders(const settings::Values& values);

// Writes the folder and the file that --out-dir and --out name, whole or not at all, unless it is
// refused. Throws InputError for settings and input that do not fit, Interrupted.
OrdersAnswer orders_answer(const settings::Values& values, OrdersInputs inputs, const Log& log,
                           const Control& control = {});

std::string orders_json(const OrdersAnswer& answer);
std::string orders_csv(const OrdersAnswer& answer);

}  // namespace sharpen::command
