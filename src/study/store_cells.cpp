// What a plan and a file from anyone have in common: every cell once, and a grid that a report can
// lay out.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "sharpen/base/text.hpp"
#include "study/store_schema.hpp"

namespace sharpen::study {

void check_cells(const Results& results) {
  using Group = std::pair<Index, std::string_view>;  // market, k as given
  const std::size_t methods = results.methods.size();
  if (methods > kMostMethods)
    throw Misfit(fmt::format("it has {} methods, more than {}", methods, kMostMethods));
  std::map<Group, Index> names;
  std::set<std::tuple<Group, Index, std::optional<std::uint64_t>>> seen;
  std::vector<bool> has_cells(methods, false);
  for (const Cell& cell : results.cells) {
    const Group group(cell.market, cell.k_given);
    const std::string& market = results.markets[static_cast<std::size_t>(cell.market)].name;
    const auto method = static_cast<std::size_t>(cell.method);
    has_cells[method] = true;
    if (!seen.emplace(group, cell.method, cell.seed).second)
      throw Misfit(fmt::format(
          "it has the same cell twice (market \"{}\", method \"{}\", k = {}{})", printable(market),
          printable(results.methods[method].name), printable(cell.k_given),
          cell.seed ? fmt::format(", seed {}", *cell.seed) : ""));
    const auto [found, fresh] = names.try_emplace(group, cell.k);
    if (!fresh && found->second != cell.k)
      throw Misfit(fmt::format("k = {} of market \"{}\" is {} names in one cell and {} in another",
                               printable(cell.k_given), printable(market), found->second, cell.k));
    if (fresh && names.size() * methods > kMostCells)
      throw Misfit(
          fmt::format("its markets, numbers of names and {} methods make more than {} "
                      "entries of a table",
                      methods, kMostCells));
  }
  for (std::size_t method = 0; method < methods; ++method)
    if (!has_cells[method])
      throw Misfit(
          fmt::format("method \"{}\" has no cell", printable(results.methods[method].name)));
}

}  // namespace sharpen::study
