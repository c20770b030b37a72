#include "backtest/plan.hpp"

#include <algorithm>
#include <cmath>

namespace sharpen::backtest {

namespace {

// The last row before the decision in which each asset has no return; -1 if there is none.
class Gaps {
 public:
  explicit Gaps(ConstMat returns)
      : returns_(returns), last_(static_cast<std::size_t>(returns.cols), -1) {}

  void advance_to(Index end) {
    for (; seen_ < end; ++seen_)
      for (Index j = 0; j < returns_.cols; ++j)
        if (!std::isfinite(returns_(seen_, j))) last_[at(j)] = seen_;
  }

  // Whether rows [start, end) are complete. Before the first row nothing but the price at the
  // start is known: an asset that has one also has a first return.
  bool complete(Index asset, Index start, Index end) const {
    if (end == 0) return std::isfinite(returns_(0, asset));
    return last_[at(asset)] < start;
  }

 private:
  ConstMat returns_;
  std::vector<Index> last_;
  Index seen_ = 0;
};

Index window_length(const Policy& policy, const WalkSettings& settings, Index end) {
  if (policy.least_history() == 0) return std::min(end, std::max<Index>(1, settings.min_history));
  return settings.lookback == WalkSettings::kAllRows ? end : std::min(end, settings.lookback);
}

std::vector<Index> assets_of(const Gaps& gaps, const Policy& policy, Index n, Index start,
                             Index end) {
  std::vector<Index> assets;
  for (Index j = 0; j < n; ++j)
    if (gaps.complete(j, start, end) && policy.usable(end - 1, j)) assets.push_back(j);
  return assets;
}

// Windows may lie apart: what is between them must be complete too, as a batch promises.
bool complete_since(const Gaps& gaps, const PlannedBatch& batch, const std::vector<Index>& ends,
                    Index end) {
  const Index start = ends[at(batch.first)] - batch.lookback;
  return std::all_of(batch.assets->begin(), batch.assets->end(),
                     [&](Index asset) { return gaps.complete(asset, start, end); });
}

}  // namespace

WalkPlan plan_decisions(ConstMat returns, const Policy& policy, const WalkSettings& settings) {
  WalkPlan plan;
  for (Index row = settings.first_traded(); row < returns.rows; row += settings.rebalance)
    plan.ends.push_back(row);
  const auto decisions = static_cast<Index>(plan.ends.size());
  const Index fair_share = std::max<Index>(1, decisions / 16);  // so that threads find work

  Gaps gaps(returns);
  for (Index i = 0; i < decisions; ++i) {
    const Index end = plan.ends[at(i)];
    const Index T = window_length(policy, settings, end);
    gaps.advance_to(end);
    std::vector<Index> assets = assets_of(gaps, policy, returns.cols, end - T, end);
    PlannedBatch* last = plan.batches.empty() ? nullptr : &plan.batches.back();
    const bool same = last != nullptr && *last->assets == assets;
    const Index most =
        std::min(fair_share, policy.batch_size(static_cast<Index>(assets.size()), T));
    if (same && last->lookback == T && last->count < most &&
        complete_since(gaps, *last, plan.ends, end)) {
      ++last->count;
    } else {
      AssetSet set =
          same ? last->assets : std::make_shared<const std::vector<Index>>(std::move(assets));
      plan.batches.push_back({i, 1, T, std::move(set)});
    }
  }
  return plan;
}

}  // namespace sharpen::backtest
