// Which decisions a walk needs, and how they are batched: consecutive ones with windows of the
// same length over the same assets. Batches depend on the data and the settings only, never on
// the number of threads.
#pragma once

#include <memory>
#include <vector>

#include "sharpen/backtest/policy.hpp"
#include "sharpen/backtest/walk_forward.hpp"

namespace sharpen::backtest {

using AssetSet = std::shared_ptr<const std::vector<Index>>;

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

WalkPlan plan_decisions(ConstMat returns, const Policy& policy, const WalkSettings& settings);

}  // namespace sharpen::backtest
