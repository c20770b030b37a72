// The tables that limits refer to: groups, coefficients and holdings, as CSV.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/layer/limit_rules.hpp"

namespace sharpen::layer {

// A finite number, or a percentage: "0.05" or "5%".
std::optional<double> parse_share(std::string_view text);

// asset,group or asset,group,date; columns in any order. A line without a group, which needs a
// date, takes its asset out of all groups.
std::vector<GroupMember> parse_groups(std::string_view text, std::string_view name);
std::string write_groups(const std::vector<GroupMember>& groups);

// asset,name,... and perhaps date; columns in any order. An empty field says nothing.
CoefficientTable parse_coefficients(std::string_view text, std::string_view name);
std::string write_coefficients(const CoefficientTable& table);

// asset,weight.
std::map<std::string, double> parse_holdings(std::string_view text, std::string_view name);

}  // namespace sharpen::layer
