#include "market/close_names.hpp"

#include <algorithm>
#include <numeric>

namespace sharpen::market {

namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kMostNames = 3;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// Insertions, deletions and replacements that turn a into b (Levenshtein), and exchanges of
// neighbours, each counted as one.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::vector<std::string> close_names(std::string_view name, std::span<const std::string> names) {
  if (name.empty() || name.size() > kLongestName) return {};
  const std::string wanted = lower(name);
  const std::size_t most = std::max<std::size_t>(1, wanted.size() / 3);
  std::vector<std::pair<std::size_t, std::size_t>> found;  // distance, position
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].size() > wanted.size() + most || wanted.size() > names[i].size() + most) continue;
    const std::size_t d = distance(wanted, lower(names[i]));
    if (d <= most && d < wanted.size()) found.emplace_back(d, i);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(found.size(), kMostNames); ++i)
    out.push_back(names[found[i].second]);
  return out;
}

}  // namespace sharpen::market
