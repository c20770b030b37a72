#include "backtest/journey.hpp"

#include <algorithm>
#include <cmath>

#include "sharpen/trade/costs.hpp"

namespace sharpen::backtest {

namespace {

PeriodStatus period_status(Status status) {
  switch (status) {
    case Status::ok: return PeriodStatus::ok;
    case Status::neutral_face: return PeriodStatus::neutral_face;
    case Status::no_signal: return PeriodStatus::no_signal;
    case Status::not_converged: return PeriodStatus::not_converged;
    case Status::invalid_input: return PeriodStatus::invalid_input;
    case Status::infeasible: return PeriodStatus::infeasible;
  }
  return PeriodStatus::invalid_input;
}

// Of a trade at the end of the row before `row`.
ConstVec costs_before(const trade::CostBook* book, const market::Panel& panel, Index row) {
  if (book == nullptr) return {};
  return book->at(row == 0 ? kBeforeAllDates : std::string_view(panel.dates[at(row - 1)]));
}

// Whatever was decided, names that cannot be traded stay as they are.
void keep_fixed(const Standing& standing, Decision& decision) {
  if (standing.fixed.empty()) return;
  std::erase_if(decision.positions,
                [&](const Position& p) { return standing.fixed[at(p.asset)] != 0; });
  for (std::size_t j = 0; j < standing.fixed.size(); ++j)
    if (standing.fixed[j] != 0 && standing.holdings[j] != 0.0)
      decision.positions.push_back({static_cast<Index>(j), standing.holdings[j]});
  std::ranges::sort(decision.positions, {}, &Position::asset);
}

}  // namespace

void Journey::Order::fill(Vec weights) const {
  std::vector<double> kept;
  for (const Index asset : unchanged) kept.push_back(weights[at(asset)]);
  std::ranges::fill(weights, 0.0);
  for (const Position& p : decision.positions) weights[at(p.asset)] = p.weight;
  for (std::size_t i = 0; i < kept.size(); ++i) weights[at(unchanged[i])] = kept[i];
}

Journey::Journey(const market::Panel& returns, const WalkSettings& settings, Index first_row,
                 Index delay, Decide decide, Run* run)
    : panel_(returns),
      settings_(settings),
      row_(first_row),
      delay_(delay),
      decide_(std::move(decide)),
      run_(run),
      account_(returns.n()),
      target_(at(returns.n())),
      expected_(at(returns.n())),
      wealth_(settings.shares ? settings.shares->wealth : 1.0) {
  if (!settings.weights.empty()) account_.hold(settings.weights);
  if (settings.shares) {
    rounder_.emplace(settings.shares->lots, returns.n());
    shares_ = settings.shares->shares;
    shares_.resize(at(returns.n()), 0.0);
    prices_.assign(at(returns.n()), kNotComputed);
    // Prices of names that have none any more.
    for (Index row = 0; row < row_; ++row) note_prices(row);
  }
  if (run_ == nullptr) return;
  run_->weights_begin.push_back(0);
  run_->trades_begin.push_back(0);
}

void Journey::advance_to(Index end) {
  for (; row_ < end && !ruined_; ++row_) {
    if (rounder_) value_shares(row_);
    const Index since = row_ - settings_.first_traded();
    if (since >= 0 && since % settings_.rebalance == 0) decide(row_, next_++);
    live(row_);
  }
  if (run_ == nullptr) return;
  run_->last_weights.assign(account_.weights().begin(), account_.weights().end());
  run_->last_wealth = wealth_;
  if (!rounder_ || row_ == 0) return;
  note_prices(row_);
  run_->last_shares = shares_;
  run_->last_cash = cash();
}

void Journey::note_prices(Index row) {
  const ConstMat all(settings_.shares->prices.data(), panel_.rows() + 1, panel_.n());
  for (std::size_t j = 0; j < prices_.size(); ++j)
    if (const double price = all(row, static_cast<Index>(j)); price > 0.0) prices_[j] = price;
}

void Journey::value_shares(Index row) {
  note_prices(row);
  for (std::size_t j = 0; j < shares_.size(); ++j)
    target_[j] = shares_[j] == 0.0 ? 0.0 : shares_[j] * prices_[j] / wealth_;
  account_.hold(target_);
}

double Journey::cash() const {
  double rest = wealth_ - settings_.shares->elsewhere;
  for (std::size_t j = 0; j < shares_.size(); ++j)
    if (shares_[j] != 0.0) rest -= shares_[j] * prices_[j];
  return rest;
}

void Journey::round_target(Index row) {
  const ConstVec held = account_.weights();
  rounder_->run({.shares = shares_,
                 .prices = prices_,
                 .wealth = wealth_,
                 .cash = cash(),
                 .owed = settings_.shares->owed},
                held, target_, costs_before(settings_.costs.get(), panel_, row));
  for (std::size_t j = 0; j < shares_.size(); ++j) {
    const double shares = rounder_->shares()[j];
    target_[j] = shares == shares_[j] ? held[j] : shares * prices_[j] / wealth_;
  }
}

// Before shares_ are those that will be held.
void Journey::note_trades() {
  const ConstVec held = account_.weights();
  for (std::size_t j = 0; j < target_.size(); ++j) {
    if (target_[j] == held[j]) continue;
    run_->trades.push_back({static_cast<Index>(j), held[j], target_[j]});
    if (!rounder_) continue;
    run_->traded_shares.push_back(rounder_->shares()[j] - shares_[j]);
    run_->traded_prices.push_back(prices_[j]);
  }
}

std::span<const char> Journey::fixed_before(Index row) const {
  if (settings_.frozen.empty() || row == 0) return {};
  return std::span(settings_.frozen).subspan(at((row - 1) * panel_.n()), at(panel_.n()));
}

void Journey::decide(Index row, Index i) {
  Standing standing{.holdings = account_.weights(),
                    .costs = {},
                    .fixed = fixed_before(row),
                    .outside = settings_.outside};
  const trade::CostBook* believed =
      settings_.decision_costs ? settings_.decision_costs.get() : settings_.costs.get();
  standing.costs = costs_before(believed, panel_, row);
  if (!orders_.empty()) {
    std::ranges::copy(account_.weights(), expected_.begin());
    for (const Order& order : orders_) order.fill(expected_);
    standing.holdings = expected_;
  }
  Order order{.row = row + delay_, .decision = {}, .unchanged = {}};
  decide_(i, standing, order.decision);
  keep_fixed(standing, order.decision);
  if (order.decision.keeps_unchanged)
    for (const Position& p : order.decision.positions)
      if (p.weight == standing.holdings[at(p.asset)]) order.unchanged.push_back(p.asset);
  orders_.push_back(std::move(order));
}

bool Journey::set_target(Index row, const Order* filled) {
  const ConstVec held = account_.weights();
  std::ranges::copy(held, target_.begin());
  if (filled != nullptr) filled->fill(target_);
  const std::span<const char> fixed = fixed_before(row);
  bool sold = false;
  for (std::size_t j = 0; row > 0 && j < target_.size(); ++j) {
    if (!fixed.empty() && fixed[j] != 0) {
      target_[j] = held[j];
    } else if (filled != nullptr &&
               !settings_.is_member(row - 1, static_cast<Index>(j), panel_.n())) {
      target_[j] = 0.0;  // it was one when the decision was made, and has left since
    } else if (target_[j] != 0.0 &&
               !std::isfinite(panel_.matrix()(row - 1, static_cast<Index>(j)))) {
      target_[j] = 0.0;
      sold = sold || held[j] != 0.0;
    }
  }
  return sold;
}

void Journey::live(Index row) {
  const bool fills = !orders_.empty() && orders_.front().row == row;
  const Order* filled = fills ? &orders_.front() : nullptr;
  filled_any_ = filled_any_ || fills;
  const bool sold = set_target(row, filled);
  PeriodStatus status = filled_any_ ? PeriodStatus::held : PeriodStatus::idle;
  if (fills) status = period_status(filled->decision.outcome.status);
  if (rounder_) round_target(row);
  if (run_ != nullptr) note_trades();
  if (rounder_) std::ranges::copy(rounder_->shares(), shares_.begin());
  const trade::Period period =
      account_.live(target_, panel_.matrix().row(row),
                    {.trading = costs_before(settings_.costs.get(), panel_, row),
                     .short_fee = settings_.short_fee,
                     .financing = settings_.financing,
                     .risk_free = settings_.risk_free});
  ruined_ = period.ruined;
  wealth_ *= std::max(0.0, 1.0 + period.net());
  net_.push_back(period.net());
  if (run_ != nullptr) {
    if (fills) count(filled->decision);
    record(row, period, fills || sold, ruined_ ? PeriodStatus::ruin : status);
  }
  if (fills) orders_.pop_front();
}

void Journey::count(const Decision& filled) {
  ++run_->n_decisions;
  run_->n_jittered += filled.outcome.jittered();
  run_->n_certified += filled.certified;
  run_->iterations += filled.iterations;
  run_->reasons = filled.reasons;
}

void Journey::record(Index row, const trade::Period& period, bool traded, PeriodStatus status) {
  Run& run = *run_;
  run.dates.push_back(panel_.dates[at(row)]);
  run.returns.push_back(period.net());
  run.gross_returns.push_back(period.gross);
  run.costs.push_back(period.costs.total());
  run.trading_costs.push_back(period.costs.trading);
  run.short_fees.push_back(period.costs.short_fee);
  run.financing.push_back(period.costs.financing);
  run.turnover.push_back(traded ? period.turnover : kNotComputed);
  const WeightSummary e = summarize(target_);
  run.net.push_back(e.net);
  run.gross.push_back(e.gross);
  run.holdings.push_back(e.holdings);
  run.effective_names.push_back(e.effective_names);
  run.largest.push_back(e.largest);
  run.status.push_back(status);
  for (std::size_t j = 0; j < target_.size(); ++j)
    if (target_[j] != 0.0) {
      run.weights.push_back({static_cast<Index>(j), target_[j]});
      if (rounder_) run.shares.push_back(shares_[j]);
    }
  run.curbs.resize(rounder_ ? target_.size() : 0);
  for (std::size_t j = 0; j < run.curbs.size(); ++j)
    run.curbs[j] = rounder_->curb(static_cast<Index>(j));
  run.weights_begin.push_back(static_cast<Index>(run.weights.size()));
  run.trades_begin.push_back(static_cast<Index>(run.trades.size()));
}

}  // namespace sharpen::backtest
