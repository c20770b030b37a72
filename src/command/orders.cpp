// From settings, a panel and an account to today's orders.
#include "sharpen/command/orders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/csv.hpp"
#include "command/orders_settings.hpp"
#include "command/orders_today.hpp"
#include "command/predict_input.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::command {

namespace {

using settings::Origin;
using settings::Values;

// Why a name is traded, and why not (and orders_account.hpp).
constexpr std::string_view kDecided = "decided", kPays = "pays", kMakesRoom = "makes room",
                           kStranger = "not in the universe", kBelowLot = "less than a lot",
                           kNoCash = "not enough cash", kWouldNotPay = "would not pay",
                           kInBand = "within the band", kNoRoom = "no room";

const std::vector<std::string>& folder_names() {
  static const std::vector<std::string> names = {"orders.csv", "positions.csv", "metrics.json"};
  return names;
}

void sell_strangers(const Today& today, OrdersAnswer& out) {
  const AccountToday& account = today.account;
  for (const Stranger& stranger : account.strangers) {
    const double weight = stranger.value / account.wealth;
    if (!stranger.kept.empty()) {
      if (today.next.decides())
        out.not_traded.push_back(
            {.asset = stranger.asset, .from = weight, .reason = stranger.kept});
      out.positions.holdings.push_back(
          {.asset = stranger.asset, .amount = account.in_shares ? stranger.amount : weight});
      out.weights.push_back({stranger.asset, weight});
      continue;
    }
    const double unit = account.in_shares ? 1.0 : account.wealth;
    Order order{.asset = stranger.asset,
                .from = weight,
                .value = -stranger.value / unit,
                .cost = stranger.cost / unit,
                .reason = kStranger};
    if (account.in_shares) {
      order.shares = -stranger.amount;
      order.price = stranger.price;
    }
    out.orders.push_back(std::move(order));
  }
}

const trade::TradeReason* reason_of(const backtest::Run& run, Index asset) {
  const auto found = std::ranges::find(run.reasons, asset, &trade::TradeReason::asset);
  return found == run.reasons.end() ? nullptr : &*found;
}

trade::Rule rule_of(const Today& today) {
  return backtest::ruling_of(today.job->answer.settings).rule;
}

// What is held of each name after the orders, and the orders.
void trade_names(const Today& today, const backtest::Run& run, OrdersAnswer& out) {
  const AccountToday& account = today.account;
  const std::vector<std::string>& tickers = today.next.returns().tickers;
  const std::vector<double> costs = today.next.costs();
  std::vector<double> weights(tickers.size());
  for (const backtest::Position& held : run.weights_of(0)) weights[at(held.asset)] = held.weight;
  const double unit = account.in_shares ? account.wealth : 1.0;
  for (std::size_t j = 0; j < tickers.size(); ++j) {
    const double from = account.weight(j);
    double amount = account.amounts[j], value = 0.0;
    if (weights[j] != from && account.in_shares) {
      const bool counted_already = !run.last_shares.empty();
      amount = counted_already     ? run.last_shares[j]
               : weights[j] == 0.0 ? 0.0
                                   : amount + (weights[j] - from) * unit / account.prices[j];
      value = (amount - account.amounts[j]) * account.prices[j];
    } else if (!account.in_shares) {
      amount = weights[j];
      value = weights[j] - from;
    }
    if (weights[j] != 0.0) out.weights.push_back({tickers[j], weights[j]});
    if (amount != 0.0) out.positions.holdings.push_back({.asset = tickers[j], .amount = amount});
    if (value == 0.0) continue;
    Order order{.asset = tickers[j],
                .from = from,
                .to = weights[j],
                .value = value,
                .cost = costs[j] * std::abs(value),
                .reason = kDecided};
    if (account.in_shares) {
      order.shares = amount - account.amounts[j];
      order.price = account.prices[j];
    }
    if (const trade::TradeReason* reason = reason_of(run, static_cast<Index>(j))) {
      order.gain = reason->gain;
      if (rule_of(today) == trade::Rule::cost)
        order.reason = reason->gain > reason->cost ? kPays : kMakesRoom;
    }
    out.orders.push_back(std::move(order));
  }
}

std::string_view why_curbed(trade::Curb curb) {
  switch (curb) {
    case trade::Curb::lot: return kBelowLot;
    case trade::Curb::minimum: return kBelowMinimum;
    case trade::Curb::cash: return kNoCash;
    case trade::Curb::none: break;
  }
  return {};
}

std::string_view why_left(trade::Rule rule, const trade::TradeReason& reason) {
  if (rule == trade::Rule::band) return kInBand;
  return rule == trade::Rule::none || reason.gain > reason.cost ? kNoRoom : kWouldNotPay;
}

// Names that stay as they are, or short of what was decided, and why.
void list_not_traded(const Today& today, const backtest::Run& run, OrdersAnswer& out) {
  const AccountToday& account = today.account;
  const std::vector<std::string>& tickers = today.next.returns().tickers;
  for (std::size_t j = 0; j < tickers.size(); ++j) {
    const trade::TradeReason* reason = reason_of(run, static_cast<Index>(j));
    NotTraded row{.asset = tickers[j], .from = account.weight(j)};
    const std::string_view held_fast = account.priceless[j] != 0 ? kNoPrice : kHalted;
    if (account.fixed[j] != 0 && account.amounts[j] != 0.0)
      row.reason = held_fast;
    else if (!run.curbs.empty() && run.curbs[j] != trade::Curb::none)
      row.reason = why_curbed(run.curbs[j]);
    else if (reason != nullptr && !reason->done)
      row.reason = account.fixed[j] != 0 ? held_fast : why_left(rule_of(today), *reason);
    if (row.reason.empty()) continue;
    if (reason != nullptr) {
      row.wanted = reason->done ? reason->to : reason->ideal;
      row.gain = reason->gain;
      row.cost = reason->cost;
    }
    out.not_traded.push_back(std::move(row));
  }
}

void add_up(const AccountToday& account, OrdersAnswer& out) {
  out.in_money = account.in_shares;
  out.wealth = account.in_shares ? account.wealth : 1.0;
  out.cash_before = account.in_shares ? account.cash : account.cash / account.wealth;
  out.cash = out.cash_before;
  for (const Order& order : out.orders) {
    out.cash -= order.value + order.cost;
    out.cost += order.cost;
    out.turnover += std::abs(order.value) / out.wealth;
  }
  for (const backtest::NamedWeight& held : out.weights) {
    out.gross += std::abs(held.weight);
    out.net += held.weight;
  }
  out.positions.in_shares = account.in_shares;
  out.positions.cash = out.cash;
  out.positions.cost = out.cost;
  out.positions.date = out.date;
}

// Flags that a model's portfolio listens to, and orders do not.
void warn_of_idle(const Values& values, bool model, OrdersAnswer& out) {
  const auto idle = [&](std::string_view flag, std::string_view since) {
    if (values.origin(flag) == Origin::flag)
      out.warnings.push_back(fmt::format("‹--{}› has no effect here: {}", flag, since));
  };
  idle("explain", "every order has its reason");
  idle("time-limit", "orders are the same however fast they are made; ‹--node-limit› bounds them");
  if (!model) idle("max-model-age", "there is no model");
}

void warn_of_account(const Values& values, const Today& today, OrdersAnswer& out) {
  std::vector<std::string>& warnings = out.warnings;
  std::vector<std::string> sold, kept, unvalued, later;
  for (const Stranger& stranger : today.account.strangers) {
    (stranger.kept.empty()          ? sold
     : stranger.kept == kNoDecision ? later
                                    : kept)
        .push_back(stranger.asset);
    if (today.account.in_shares && !(stranger.price > 0.0)) unvalued.push_back(stranger.asset);
  }
  const auto say = [&](const std::vector<std::string>& names, std::string_view what) {
    if (!names.empty())
      warnings.push_back(fmt::format("{}: held now, not among the assets to decide on, and {}",
                                     some_names(names, kMostNames), what));
  };
  say(sold, "sold");
  say(kept, "kept: see why under what is not traded");
  say(later, "sold when the next decision is made");
  if (!unvalued.empty())
    warnings.push_back(fmt::format("{}: no price at all; the account is counted without it",
                                   some_names(unvalued, kMostNames)));
  if (values.origin("capital") == Origin::flag && today.account.in_shares &&
      std::abs(today.account.wealth - values.real("capital")) > 0.2 * today.account.wealth)
    warnings.push_back(fmt::format(
        "the account is worth {:.2f}, and orders go by that; ‹--capital› is what an account starts "
        "with",
        today.account.wealth));
  if (out.settings.account.delay != 0)
    warnings.push_back(fmt::format(
        "orders are taken for filled today; the delay of {} of the backtest is left out",
        counted(static_cast<Index>(out.settings.account.delay), "period")));
  warn_of_idle(values, today.job->model.has_value(), out);
  const bool share =
      out.settings.split.empty() || out.settings.split.find('-') == std::string::npos;
  if (learn::info(out.settings.framework).training_mean && share)
    warnings.push_back(
        "the training part is a share of the rows, and moves with every new one; give ‹--split "
        "DATE›");
}

std::string label_of_orders(const backtest::BacktestSettings& settings) {
  return fmt::format(
      "{} {}", learn::name(settings.framework),
      settings.decision == backtest::DecisionKind::soft ? "soft" : settings.optimizer);
}

void write_orders(const OrdersAnswer& answer, const std::optional<OutputFolder>& folder,
                  const Log& log, const Stop& stop) {
  const Values& values = answer.values;
  if (values.has("out")) {
    std::string text = "asset,weight\n";
    for (const backtest::NamedWeight& held : answer.weights)
      text += fmt::format("{},{}\n", csv_field(held.asset), shortest(held.weight));
    write_file(values.text("out"), text);
  }
  // Last, so that positions are never those of a run that failed.
  if (folder)
    folder->write({{"orders.csv", orders_csv(answer)},
                   {"positions.csv", trade::positions_csv(answer.positions)},
                   {"metrics.json", orders_json(answer)}},
                  log, stop);
}

}  // namespace

bool asks_for_orders(const Values& values) {
  for (const char* name : {"positions", "continue", "out-dir"})
    if (values.has(name)) return true;
  for (const char* name : {"min-order", "signal", "historic-risk", "split", "min-history",
                           "lookback", "rebalance", "risk-free", "short-fee", "financing"})
    if (values.origin(name) == Origin::flag) return true;
  return values.has("framework") && !learn::framework_named(values.text("framework")).learns;
}

OrdersAnswer orders_answer(const Values& given, OrdersInputs inputs, const Log& log,
                           const Control& control) {
  const Values values = without_output_of_backtest(given);
  check_order_settings(values, inputs);
  keep_inputs(values, {"out"});
  std::optional<OutputFolder> folder;
  if (values.has("out-dir")) {
    keep_inputs(values, "out-dir", values.text("out-dir"), folder_names());
    folder.emplace(values.text("out-dir"), values.flag("force"), "predict", folder_names(),
                   "out-dir");
  }
  if (values.has("out")) check_writable(values.text("out"));
  const Threads threads(static_cast<int>(values.integer("threads")));
  OrdersAnswer out(values);
  const Today today = read_today(values, std::move(inputs), log, out);
  const market::PanelInput& input = today.job->answer.input;
  out.settings = today.job->answer.settings;
  out.file = input.file;
  out.label = label_of_orders(out.settings);
  out.date = today.next.returns().dates.back();
  out.wait = today.next.wait();
  out.warnings.insert(out.warnings.begin(), input.warnings.begin(), input.warnings.end());
  for (const std::string& warning : today.next.warnings()) out.warnings.push_back(warning);
  const backtest::Run run = today.next.decide(today.account.now(), threads, control);
  if (today.next.decides()) out.status = run.status.front();
  trade_names(today, run, out);
  sell_strangers(today, out);
  if (today.next.decides()) list_not_traded(today, run, out);
  add_up(today.account, out);
  warn_of_account(values, today, out);
  control.ask();
  if (!out.refused()) write_orders(out, folder, log, control.stop);
  return out;
}

std::string orders_csv(const OrdersAnswer& answer) {
  std::string out = "asset,side,shares,price,value,cost,reason\n";
  for (const Order& order : answer.orders)
    out += fmt::format("{},{},{},{},{},{},{}\n", csv_field(order.asset), order.side(),
                       order.shares ? trade::plain_number(std::abs(*order.shares)) : "",
                       order.price ? shortest(*order.price) : "",
                       trade::plain_number(std::abs(order.value)), trade::plain_number(order.cost),
                       order.reason);
  return out;
}

}  // namespace sharpen::command
