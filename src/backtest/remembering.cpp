#include "backtest/remembering.hpp"

#include <algorithm>

#include "backtest/plan.hpp"
#include "sharpen/learn/ensemble.hpp"

namespace sharpen::backtest {

namespace {

// q and variances of the windows of a batch.
struct Directions {
  std::vector<double> q, variances;  // (B, m)
};

// Batches whose covariances are computed at the same time, for each thread: enough to keep all of
// them busy.
constexpr Index kBatchesPerThread = 4;

}  // namespace

void Remembering::push(std::span<const Index> assets, ConstVec q, ConstVec variances) {
  const Index most = 4 * rows();
  if (static_cast<Index>(x_.size()) >= most * n_)
    x_.erase(x_.begin(), x_.end() - (rows() - 1) * n_);
  const std::size_t begin = x_.size();
  x_.resize(begin + at(n_), assets.empty() ? kNaN : 0.0);
  for (std::size_t j = 0; j < assets.size(); ++j)
    x_[begin + at(assets[j])] = q[j] / std::sqrt(variances[j]);
}

void Remembering::signal(std::span<const Index> assets, ConstVec variances,
                         std::span<Expectation> out) {
  std::ranges::fill(out, Expectation());
  if (assets.empty()) return;
  std::ranges::fill(full_, 0.0);
  for (std::size_t j = 0; j < assets.size(); ++j) full_[at(assets[j])] = variances[j];
  memory_.signal({x_.data(), static_cast<Index>(x_.size()) / n_, n_}, full_, out_);
  for (const Index asset : assets) out[at(asset)] = Expectation(out_[at(asset)]);
}

std::vector<Index> remembered_rows(std::span<const Index> decisions, Index memory_rows,
                                   Index first) {
  std::vector<Index> rows;
  for (const Index decision : decisions) {
    Index row = std::max(first, decision - (memory_rows - 1));
    if (!rows.empty()) row = std::max(row, rows.back() + 1);
    for (; row <= decision; ++row) rows.push_back(row);
  }
  return rows;
}

void OptimizerPolicy::remember(const market::Panel& returns, const WalkSettings& walk, Index memory,
                               const Threads& threads, const Control& control) {
  Remembering remembering(memory, returns.n());
  const std::vector<Index> decisions = walk.decided_rows(returns.rows());
  const WalkPlan plan = plan_decisions(
      returns.matrix(), *this, walk,
      remembered_rows(decisions, remembering.rows(), std::max<Index>(1, walk.min_history)));
  const auto directions_of = [&](const PlannedBatch& planned) {
    Directions out;
    if (planned.assets->empty()) return out;
    const LiveBatch live(returns.matrix(), plan, planned, control.stop);
    directions(live.windows(), out.q, out.variances);
    return out;
  };

  std::vector<Index> rows;
  std::vector<Expectation> values(decisions.size() * at(returns.n()));
  Index before = -1;
  const auto keep = [&](const PlannedBatch& planned, const Directions& some) {
    const std::size_t m = planned.assets->size();
    for (Index i = 0; i < planned.count; ++i) {
      const Index end = plan.ends[at(planned.first + i)];
      if (end != before + 1) remembering.forget();
      before = end;
      const ConstVec variances = std::span(some.variances).subspan(at(i) * m, m);
      remembering.push(*planned.assets, std::span(some.q).subspan(at(i) * m, m), variances);
      if (end != decisions[rows.size()]) continue;
      remembering.signal(*planned.assets, variances,
                         std::span(values).subspan(rows.size() * at(returns.n()), at(returns.n())));
      rows.push_back(end - 1);
    }
  };
  const Index chunk = kBatchesPerThread * threads.count();
  const auto batches = static_cast<Index>(plan.batches.size());
  std::vector<Directions> some(at(chunk));
  for (Index begin = 0; begin < batches; begin += chunk) {
    control.ask();
    const Index count = std::min(chunk, batches - begin);
    threads.for_each(
        count, [&](Index b, int) { some[at(b)] = directions_of(plan.batches[at(begin + b)]); });
    for (Index b = 0; b < count; ++b) keep(plan.batches[at(begin + b)], some[at(b)]);
  }
  source_ = std::make_unique<GivenSignal>(returns, rows, std::move(values));
}

void OptimizerPolicy::directions(const WindowBatch& batch, std::vector<double>& q,
                                 std::vector<double>& variances) const {
  risk::RiskSettings plain = risk_settings_;
  // One solve of each sample pays for no dense factor: the choice is that of restrictions.
  plain.parts = {.lower = false, .root = false, .restriction = true};
  const BatchRisk own = risk_of(batch, plain);
  const risk::Risk& risk = *own.risk;
  const std::size_t m = batch.assets.size();
  q.assign(at(batch.size()) * m, kNaN);
  variances.assign(q.size(), kNaN);
  learn::Combiner combiner(risk);
  std::vector<double> mu(m);
  for (Index i = 0; i < batch.size(); ++i) {
    const Index sample = own.sample(i);
    if (risk.status(sample) != Status::ok) continue;
    source_->expected_returns(batch, i, mu);
    combiner.run_unscaled(risk, sample, {mu.data(), 1, static_cast<Index>(m)},
                          std::span(q).subspan(at(i) * m, m));
    std::ranges::copy(risk.diagonal(sample), variances.begin() + i * static_cast<Index>(m));
  }
}

}  // namespace sharpen::backtest
