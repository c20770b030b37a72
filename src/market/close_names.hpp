// Names a user may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sharpen::market {

// At most three of `names` within a few typing errors of `name`, nearest first; letter case
// counts as no error. Earlier names win ties.
std::vector<std::string> close_names(std::string_view name, std::span<const std::string> names);

}  // namespace sharpen::market
