// Which decisions are made together, and the windows that they are made from.
#pragma once

#include <memory>
#include <vector>

#include "sharpen/backtest/walk_forward.hpp"

namespace sharpen::backtest {

using AssetSet = std::shared_ptr<const std::vector<Index>>;

// Consecutive decisions with windows of the same length over the same assets.
struct PlannedBatch {
  Index first = 0;  // decision, from 0
  Index count = 0;  // decisions
  Index lookback = 0;
  AssetSet assets;
};

struct WalkPlan {
  std::vector<Index> ends;  // (decisions): a decision knows rows [0, end) of the panel
  std::vector<PlannedBatch> batches;
};

// Batches depend on the data and the settings only, never on the number of threads.
WalkPlan plan_decisions(ConstMat returns, const Policy& policy, const WalkSettings& settings,
                        std::vector<Index> ends);

// The windows of a batch, for as long as it is needed.
class LiveBatch {
 public:
  LiveBatch(ConstMat returns, const WalkPlan& plan, const PlannedBatch& planned, Stop stop);
  LiveBatch(const LiveBatch&) = delete;
  LiveBatch& operator=(const LiveBatch&) = delete;

  const WindowBatch& windows() const { return windows_; }

 private:
  AssetSet assets_;
  std::vector<Index> ends_;
  std::vector<double> some_;  // columns of the panel, where not all are used
  WindowBatch windows_;
};

}  // namespace sharpen::backtest
