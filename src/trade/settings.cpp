#include "sharpen/trade/settings.hpp"

#include <fmt/format.h>

#include "sharpen/base/error.hpp"

namespace sharpen::trade {

Ruling ruling(const RuleSettings& settings, const solve::OptimizerInfo& optimizer) {
  settings::check(settings);
  const bool listens = !optimizer.published && optimizer.keeps_limits;
  Ruling out{.rule = settings.rule.value_or(listens ? Rule::cost : Rule::none),
             .expected_sharpe = settings.expected_sharpe,
             .holding_horizon = settings.holding_horizon};
  if (out.rule == Rule::cost && !optimizer.keeps_limits)
    throw InputError(fmt::format(
        "rule = cost cannot go with optimizer = {}, which knows of no costs; use ‹--rule band› or "
        "none",
        optimizer.name));
  out.memory = settings.memory          ? static_cast<Index>(*settings.memory)
               : out.rule == Rule::none ? 1
                                        : kMemory;
  return out;
}

}  // namespace sharpen::trade
