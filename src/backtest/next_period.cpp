#include "sharpen/backtest/next_period.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "backtest/ready.hpp"
#include "backtest/tradable.hpp"
#include "base/csv.hpp"
#include "base/vec.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::backtest {

namespace {

// The weekday or the month after the last one; of labels that are no dates, one that comes later.
std::string date_after(const std::string& last) {
  using namespace std::chrono;
  const auto number = [&](std::size_t from, std::size_t size) {
    return number_from<unsigned>(std::string_view(last).substr(from, size));
  };
  const bool day = last.size() == 10 && last[4] == '-' && last[7] == '-';
  const bool month_only = last.size() == 7 && last[4] == '-';
  if (!day && !month_only) return last + "+";
  const auto y = number(0, 4), m = number(5, 2), d = day ? number(8, 2) : 1u;
  if (!y || !m || !d) return last + "+";
  const year_month_day date(year(static_cast<int>(*y)), month(*m), std::chrono::day(*d));
  if (!date.ok()) return last + "+";
  if (month_only) {
    const year_month next = year_month(date.year(), date.month()) + months(1);
    return fmt::format("{:04}-{:02}", static_cast<int>(next.year()),
                       static_cast<unsigned>(next.month()));
  }
  sys_days next = sys_days(date) + days(1);
  while (weekday(next) == Saturday || weekday(next) == Sunday) next += days(1);
  const year_month_day found(next);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(found.year()),
                     static_cast<unsigned>(found.month()), static_cast<unsigned>(found.day()));
}

// The panel with the period to come, of which nothing is known.
market::Panel with_next_row(market::Panel panel) {
  panel.dates.push_back(date_after(panel.dates.back()));
  panel.values.resize(panel.values.size() + at(panel.n()), kNaN);
  return panel;
}

}  // namespace

ShareSettings share_settings(const BacktestSettings& settings, const market::Panel& returns) {
  const market::Panel& prices = *settings.prices;
  std::unordered_map<std::string_view, Index> columns;
  for (Index j = 0; j < prices.n(); ++j) columns.emplace(prices.tickers[at(j)], j);
  ShareSettings out{
      .lots = {.lot = trade::lot_size(settings.account), .min_order = settings.account.min_order},
      .wealth = settings.account.capital.value_or(1.0)};
  // A row to come has no prices after it.
  const Index rows = returns.rows() + 1;
  for (Index t = 0; t < rows; ++t)
    for (const std::string& ticker : returns.tickers)
      out.prices.push_back(t < prices.rows() ? prices.matrix()(t, columns.at(ticker)) : kNaN);
  return out;
}

NextPeriod::NextPeriod(const market::Panel& returns, BacktestSettings settings,
                       const market::Panel* signal, const learn::Model* model)
    : settings_(std::move(settings)), signal_(signal), model_(model) {
  settings_.ahead = true;
  settings_.stats_from.clear();
  if (learn::learns(settings_.framework) && model == nullptr)
    throw InputError(fmt::format(
        "framework = {} trains networks, and today needs one that is trained; give ‹--model FILE›, "
        "as ‹sharpen train› wrote it",
        learn::name(settings_.framework)));
  BacktestResult known;
  ready_ = std::make_shared<const Ready>(
      ready(with_next_row(returns), settings_, signal_, model_, known));
  warnings_ = std::move(known.warnings);
  returns_ = ready_->returns;
  const WalkSettings& walk = ready_->walk;
  const Index since = returns_.rows() - 1 - walk.first_traded();
  wait_ = (walk.rebalance - since % walk.rebalance) % walk.rebalance;
  returns_.dates.pop_back();
  returns_.values.resize(returns_.values.size() - at(returns_.n()));
}

std::vector<char> NextPeriod::frozen() const {
  const std::vector<char>& frozen = ready_->walk.frozen;
  if (frozen.empty()) return {};
  const auto today = frozen.begin() + (returns_.rows() - 1) * returns_.n();
  return {today, today + returns_.n()};
}

std::vector<char> NextPeriod::frozen_others(std::span<const std::string> assets) const {
  if (settings_.account.tradable.empty() || assets.empty())
    return std::vector<char>(assets.size(), 0);
  return backtest::frozen_others(settings_.account.tradable, assets, returns_.dates.back());
}

std::vector<double> NextPeriod::costs() const {
  std::vector<double> out(at(returns_.n()));
  if (const auto& book = ready_->walk.costs)
    std::ranges::copy(book->at(returns_.dates.back()), out.begin());
  return out;
}

double NextPeriod::cost_of_other(const std::string& asset) const {
  const std::string& today = returns_.dates.back();
  return ready_->costs->of_other(asset, today)
      .value_or(1e-4 * ready_->costs->mean_bps(std::span(&today, 1)));
}

trade::Rates NextPeriod::rates() const {
  const WalkSettings& walk = ready_->walk;
  return {.trading = {},
          .short_fee = walk.short_fee,
          .financing = walk.financing,
          .risk_free = walk.risk_free};
}

Run NextPeriod::decide(const AccountNow& account, const Threads& threads,
                       const Control& control) const {
  Ready now = *ready_;
  now.walk.weights = account.weights;
  now.walk.delay = 0;
  now.walk.outside = account.outside;
  if (now.walk.shares) {
    now.walk.shares->shares = account.shares;
    now.walk.shares->wealth = account.wealth;
    now.walk.shares->elsewhere = account.elsewhere;
    now.walk.shares->owed = account.owed;
  }
  if (account.outside.names > 0 ||
      std::ranges::any_of(account.fixed, [](char each) { return each != 0; })) {
    now.walk.frozen.resize(at(now.returns.rows() * now.returns.n()), 0);
    std::ranges::copy(account.fixed,
                      now.walk.frozen.begin() + (returns_.rows() - 1) * returns_.n());
  }
  std::vector<TrainingRecord> unused;
  auto source = source_of(now, settings_, signal_, model_, threads, control, unused);
  const auto policy = trading_policy(now, settings_, std::move(source), threads, control);
  return walk_forward(now.returns, *policy, now.walk, threads, control);
}

}  // namespace sharpen::backtest
