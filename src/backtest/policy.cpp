#include "sharpen/backtest/policy.hpp"

namespace sharpen::backtest {

bool Policy::usable(Index, Index) const { return true; }

Index Policy::batch_size(Index, Index) const { return 32; }

}  // namespace sharpen::backtest
