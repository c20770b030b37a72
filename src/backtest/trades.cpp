// Decisions of an optimizer, with and without an account.
#include <algorithm>
#include <cmath>

#include "sharpen/backtest/policies.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/trade/trader.hpp"

namespace sharpen::backtest {

// Everything of a batch that does not depend on what is held.
struct OptimizerPolicy::Batch : PreparedBatch {
  BatchRisk risk;
  std::vector<double> mu;             // (B, m)
  std::vector<layer::Limits> limits;  // (B), if there are any; not about turnover
  std::vector<char> bound;            // (B) whether they could be had that day
  std::vector<solve::Answer> ideals;  // (B) what would be held if trading were free
};

namespace {

// Weights that could not be computed, or are out of the range of numbers, are cash. assets (m):
// columns of the panel.
void take(const solve::Answer& answer, std::span<const Index> assets, Decision& out) {
  const select::Portfolio& portfolio = answer.portfolio;
  out.outcome = portfolio.outcome;
  out.iterations = answer.iterations.value_or(0);
  out.certified = answer.certified.value_or(false);
  out.positions.clear();
  for (const Index i : portfolio.support) {
    const double weight = portfolio.weights[at(i)];
    if (!std::isfinite(weight)) {
      out.outcome.status = Status::invalid_input;
      out.positions.clear();
      return;
    }
    if (weight != 0.0) out.positions.push_back({assets[at(i)], weight});
  }
}

void pick(std::span<const Index> assets, ConstVec from, std::vector<double>& out) {
  out.clear();
  if (from.empty()) return;
  for (const Index asset : assets) out.push_back(from[at(asset)]);
}

}  // namespace

// One account's decisions.
class OptimizerPolicy::Trades : public Settler {
 public:
  explicit Trades(const OptimizerPolicy& policy)
      : policy_(policy),
        trader_(policy.trading_.ruling, *policy.trading_.optimizer, policy.settings_,
                policy.trading_.periods_per_year) {
    if (policy_.decides_anew()) optimizer_ = policy_.decider_.make();
  }

  void settle(const WindowBatch& batch, const PreparedBatch& prepared, Index i,
              const Standing& standing, Decision& out) override {
    const auto& ready = static_cast<const Batch&>(prepared);
    solve::Problem problem = policy_.problem(batch, i, ready.risk);
    if (!ready.mu.empty())
      problem.mu = std::span(ready.mu).subspan(at(i) * batch.assets.size(), batch.assets.size());
    if (!ready.bound.empty() && ready.bound[at(i)] == 0) return hold(batch, standing, out);
    if (!ready.limits.empty()) problem.limits = &ready.limits[at(i)];
    if (policy_.limits_.about_holdings) {
      limits_ = policy_.limits_.at_decision(batch, i, standing.holdings);
      problem.limits = &limits_;
    }
    const solve::Answer* ideal = &ready.ideals[at(i)];
    if (optimizer_) {
      optimizer_->decide(problem, anew_);
      ideal = &anew_;
    }
    pick(batch.assets, standing.holdings, holdings_);
    pick(batch.assets, standing.costs, costs_);
    fixed_.clear();
    if (!standing.fixed.empty())
      for (const Index asset : batch.assets) fixed_.push_back(standing.fixed[at(asset)]);
    trader_.decide(problem, *ideal,
                   {.holdings = holdings_,
                    .costs = costs_,
                    .fixed = fixed_,
                    .outside = outside(batch, standing)},
                   answer_);
    take(answer_, batch.assets, out);
    out.keeps_unchanged = policy_.trading_.ruling.rule != trade::Rule::none;
    out.reasons.clear();
    if (!policy_.trading_.reasons) return;
    out.reasons = trader_.reasons(
        problem, *ideal, {.holdings = holdings_, .costs = costs_, .fixed = fixed_}, answer_);
    for (trade::TradeReason& reason : out.reasons) reason.asset = batch.assets[at(reason.asset)];
  }

 private:
  // Names without a price, say, that cannot be traded.
  static trade::Standing::Outside outside(const WindowBatch& batch, const Standing& standing) {
    trade::Standing::Outside out = standing.outside;
    for (std::size_t j = 0; j < standing.fixed.size(); ++j) {
      const double weight = standing.holdings[j];
      if (standing.fixed[j] == 0 || weight == 0.0 ||
          std::ranges::binary_search(batch.assets, static_cast<Index>(j)))
        continue;
      ++out.names;
      out.net += weight;
      out.gross += std::abs(weight);
    }
    return out;
  }

  // What is held and could be held on, where nothing can be decided.
  void hold(const WindowBatch& batch, const Standing& standing, Decision& out) const {
    out = {};
    if (policy_.trading_.ruling.rule == trade::Rule::none) return;
    out.keeps_unchanged = true;
    for (const Index asset : batch.assets)
      if (const double weight = standing.holdings[at(asset)]; weight != 0.0)
        out.positions.push_back({asset, weight});
  }

  const OptimizerPolicy& policy_;
  trade::Trader trader_;
  std::unique_ptr<solve::Optimizer> optimizer_;  // null: the ideals are what it says
  layer::Limits limits_;
  solve::Answer anew_, answer_;
  std::vector<double> holdings_, costs_;
  std::vector<char> fixed_;
};

void OptimizerPolicy::trade_by(const Trading& trading) { trading_ = trading; }

bool OptimizerPolicy::sees_account() const {
  return trading_.optimizer != nullptr &&
         (trading_.ruling.rule != trade::Rule::none || limits_.about_holdings || trading_.frozen);
}

bool OptimizerPolicy::decides_anew() const {
  return limits_.about_holdings && trading_.ruling.rule == trade::Rule::none;
}

std::unique_ptr<Settler> OptimizerPolicy::settler() const {
  return std::make_unique<Trades>(*this);
}

std::unique_ptr<PreparedBatch> OptimizerPolicy::prepare(const WindowBatch& batch) const {
  auto out = std::make_unique<Batch>();
  out->risk = risk_of(batch, risk_settings_);
  std::unique_ptr<solve::Optimizer> fresh;
  if (!remembering_) fresh = decider_.make();
  solve::Optimizer& optimizer = remembering_ ? *remembering_ : *fresh;
  const std::size_t m = batch.assets.size();
  if (decider_.needs.signal) out->mu.resize(at(batch.size()) * m);
  if (limits_.book) {
    out->limits.resize(at(batch.size()));
    out->bound.resize(at(batch.size()), 1);
  }
  out->ideals.resize(at(batch.size()));
  for (Index i = 0; i < batch.size(); ++i) {
    ask(batch.stop);
    solve::Problem problem = this->problem(batch, i, out->risk);
    if (decider_.needs.signal) {
      const Vec mu = std::span(out->mu).subspan(at(i) * m, m);
      source_->expected_returns(batch, i, mu);
      problem.mu = mu;
    }
    if (limits_.book) {
      try {
        out->limits[at(i)] = limits_.at_decision(batch, i);
      } catch (const InputError&) {  // no beta or no coefficient that day
        out->bound[at(i)] = 0;
        continue;
      }
      problem.limits = &out->limits[at(i)];
    }
    if (!decides_anew()) optimizer.decide(problem, out->ideals[at(i)]);
  }
  return out;
}

void OptimizerPolicy::decide(const WindowBatch& batch, std::span<Decision> out) const {
  const std::unique_ptr<PreparedBatch> prepared = prepare(batch);
  const auto& ready = static_cast<const Batch&>(*prepared);
  for (std::size_t i = 0; i < out.size(); ++i) take(ready.ideals[i], batch.assets, out[i]);
}

}  // namespace sharpen::backtest
