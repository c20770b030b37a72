// Orders on a terminal: the answer of sharpen predict with an account.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "commands.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::app {

namespace {

using command::NotTraded;
using command::Order;
using command::OrdersAnswer;

// Money to the cent, or a share of the wealth.
std::string amount(const OrdersAnswer& answer, double value) {
  return answer.in_money ? fmt::format("{:.2f}", value) : fmt::format("{:.6f}", value);
}

std::string bp_text(std::optional<double> share) {
  return share ? fmt::format("{:.2f}", 1e4 * *share) : "-";
}

// Four digits, or what there is where these are all zero.
std::string weight_text(double weight) {
  return weight != 0.0 && std::abs(weight) < 5e-5 ? fmt::format("{:.1e}", weight)
                                                  : fmt::format("{:.4f}", weight);
}

std::string order_table(const OrdersAnswer& answer) {
  std::vector<std::string> header = {"asset", "side"};
  if (answer.in_money) header.insert(header.end(), {"shares", "price"});
  header.insert(header.end(), {"value", "cost", "weight", "gain bp", "reason"});
  std::vector<std::vector<std::string>> rows;
  for (const Order& order : answer.orders) {
    rows.push_back({printable(order.asset, kWidestName), std::string(order.side())});
    if (answer.in_money)
      rows.back().insert(rows.back().end(),
                         {trade::plain_number(std::abs(*order.shares)), shortest(*order.price)});
    rows.back().insert(rows.back().end(),
                       {amount(answer, std::abs(order.value)), amount(answer, order.cost),
                        weight_text(order.to), bp_text(order.gain), std::string(order.reason)});
  }
  return render_table(header, rows);
}

std::string not_traded_table(const OrdersAnswer& answer) {
  std::vector<std::vector<std::string>> rows;
  for (const NotTraded& name : answer.not_traded)
    rows.push_back({printable(name.asset, kWidestName), weight_text(name.from),
                    name.wanted ? weight_text(*name.wanted) : "-", bp_text(name.gain),
                    bp_text(name.cost), std::string(name.reason)});
  return render_table({"not traded", "weight", "wanted", "gain bp", "cost bp", "because"}, rows);
}

}  // namespace

std::string ages_text(std::optional<long> prices, std::optional<long> model,
                      const std::string& trained_to) {
  const auto days = [](std::optional<long> age) {
    return age ? counted(static_cast<Index>(*age), "day") : std::string("unknown");
  };
  std::string out = "prices " + days(prices);
  if (!trained_to.empty())
    out += fmt::format(", model {} (trained to {})", days(model), printable(trained_to));
  return out;
}

std::string orders_text(const OrdersAnswer& answer) {
  std::string out = fmt::format("{}: {} after {}\n\n", printable(answer.label, 80),
                                counted(std::ssize(answer.orders), "order"), answer.date);
  if (!answer.orders.empty()) out += order_table(answer) + "\n";
  if (!answer.not_traded.empty()) out += not_traded_table(answer) + "\n";
  if (!answer.decides())
    out += line("decision",
                fmt::format("none today: the next one is in {}", counted(answer.wait, "period")));
  out +=
      line("account", fmt::format("worth {}, cash {} before the orders and {} after",
                                  amount(answer, answer.wealth), amount(answer, answer.cash_before),
                                  amount(answer, answer.cash)));
  out += line("exposure", fmt::format("gross {:.4f}, net {:.4f}, {}", answer.gross, answer.net,
                                      counted(std::ssize(answer.weights), "name")));
  out += line("costs", fmt::format("{}, {:.2f} basis points of the wealth; turnover {:.4f}",
                                   amount(answer, answer.cost), 1e4 * answer.cost / answer.wealth,
                                   answer.turnover));
  std::string ages = ages_text(answer.age, answer.model_age, answer.trained_to);
  if (answer.positions_age)
    ages += fmt::format(", positions {} ({})",
                        counted(static_cast<Index>(*answer.positions_age), "day"),
                        answer.positions_date);
  out += line("age", ages);
  out += line("status", std::string(name(answer.status)));
  for (const std::string& warning : answer.warnings) out += line("warning", warning);
  if (!answer.refused())
    for (const char* name : {"out-dir", "out"})
      if (answer.values.has(name)) out += line("written", printable(answer.values.text(name), 400));
  return out;
}

}  // namespace sharpen::app
