#include "backtest/plan.hpp"

#include <algorithm>
#include <cmath>

namespace sharpen::backtest {

namespace {

// The last row before the decision in which each asset has no return; -1 if there is none.
class Gaps {
 public:
  explicit Gaps(ConstMat returns) : returns_(returns), last_(at(returns.cols), -1) {}

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

std::vector<Index> assets_of(const Gaps& gaps, const Policy& policy, const WalkSettings& settings,
                             Index n, Index start, Index end) {
  std::vector<Index> assets;
  for (Index j = 0; j < n; ++j)
    if (gaps.complete(j, start, end) && policy.usable(end - 1, j) &&
        settings.is_member(end - 1, j, n))
      assets.push_back(j);
  return assets;
}

// Windows may lie apart: what is between them must be complete too, as a batch promises.
bool complete_since(const Gaps& gaps, const PlannedBatch& batch, const std::vector<Index>& ends,
                    Index end) {
  const Index start = ends[at(batch.first)] - batch.lookback;
  return std::all_of(batch.assets->begin(), batch.assets->end(),
                     [&](Index asset) { return gaps.complete(asset, start, end); });
}

std::vector<double> gathered(ConstMat rows, const std::vector<Index>& assets) {
  std::vector<double> some;
  some.reserve(at(rows.rows) * assets.size());
  for (Index t = 0; t < rows.rows; ++t)
    for (const Index j : assets) some.push_back(rows(t, j));
  return some;
}

}  // namespace

WalkPlan plan_decisions(ConstMat returns, const Policy& policy, const WalkSettings& settings,
                        std::vector<Index> ends) {
  WalkPlan plan{.ends = std::move(ends), .batches = {}};
  const auto decisions = static_cast<Index>(plan.ends.size());
  const Index fair_share = std::max<Index>(1, decisions / 16);  // so that threads find work

  Gaps gaps(returns);
  for (Index i = 0; i < decisions; ++i) {
    const Index end = plan.ends[at(i)];
    const Index T = window_length(policy, settings, end);
    gaps.advance_to(end);
    std::vector<Index> assets = assets_of(gaps, policy, settings, returns.cols, end - T, end);
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

LiveBatch::LiveBatch(ConstMat returns, const WalkPlan& plan, const PlannedBatch& planned, Stop stop)
    : assets_(planned.assets) {
  const auto first = plan.ends.begin() + planned.first;
  const Index first_row = *first - planned.lookback;
  ends_.assign(first, first + planned.count);
  for (Index& end : ends_) end -= first_row;
  windows_.lookback = planned.lookback;
  windows_.ends = ends_;
  windows_.first_row = first_row;
  windows_.assets = *assets_;
  windows_.stop = std::move(stop);
  windows_.returns = returns.middle_rows(first_row, ends_.back());
  const auto m = static_cast<Index>(assets_->size());
  if (m == returns.cols) return;
  some_ = gathered(windows_.returns, *assets_);
  windows_.returns = {some_.data(), windows_.returns.rows, m};
}

}  // namespace sharpen::backtest
