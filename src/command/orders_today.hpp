// What orders are made from: settings, panel, model and account, on the day of the decision.
#pragma once

#include <memory>

#include "command/backtest_job.hpp"
#include "command/orders_account.hpp"
#include "sharpen/backtest/next_period.hpp"
#include "sharpen/command/orders.hpp"

namespace sharpen::command {

struct Today {
  std::unique_ptr<const BacktestJob> job;  // the next period refers to it
  backtest::NextPeriod next;
  AccountToday account;
};

// Throws InputError for what contradicts itself whatever the files hold.
void check_order_settings(const settings::Values& values, const OrdersInputs& inputs);

// Reads everything. `out` gets ages and warnings.
Today read_today(const settings::Values& values, OrdersInputs inputs, const Log& log,
                 OrdersAnswer& out);

}  // namespace sharpen::command
