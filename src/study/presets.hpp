// The studies that are described already (docs/study.md).
#pragma once

#include <string_view>
#include <vector>

#include "sharpen/study/grid.hpp"

namespace sharpen::study {

// The paper's seven methods, and ours beside them.
std::vector<MethodGrid> paper_methods();
// The same, with networks and trainings small enough to be looked at within a minute.
std::vector<MethodGrid> demo_methods();
// One method per alpha, "0.5"; 0 is prediction only.
std::vector<MethodGrid> alpha_methods(const std::vector<std::string>& alphas);

MarketGrid demo_market();

}  // namespace sharpen::study
