#include "market/close_names.hpp"

#include <algorithm>
#include <utility>

#include "sharpen/base/text.hpp"

namespace sharpen::market {

namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kMostNames = 3;

}  // namespace

std::vector<std::string> close_names(std::string_view name, std::span<const std::string> names) {
  if (name.empty() || name.size() > kLongestName) return {};
  const std::size_t most = std::max<std::size_t>(1, name.size() / 3);
  std::vector<std::pair<std::size_t, std::size_t>> found;  // distance, position
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].size() > name.size() + most || name.size() > names[i].size() + most) continue;
    const std::size_t d = edit_distance(name, names[i]);
    if (d <= most && (d == 0 || d < name.size())) found.emplace_back(d, i);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(found.size(), kMostNames); ++i)
    out.push_back(names[found[i].second]);
  return out;
}

}  // namespace sharpen::market
