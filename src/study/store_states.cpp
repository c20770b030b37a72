#include <map>
#include <tuple>

#include "sharpen/base/text.hpp"
#include "sharpen/study/store.hpp"
#include "study/store_plan.hpp"

namespace sharpen::study {

namespace {

// What makes a cell the one it is, in words that the plan and the file share.
auto key(const Results& results, const Cell& cell) {
  return std::tuple(results.markets[static_cast<std::size_t>(cell.market)].name,
                    results.methods[static_cast<std::size_t>(cell.method)].name, cell.k_given,
                    cell.seed);
}

}  // namespace

std::vector<CellState> states_in(const std::filesystem::path& file, const Results& plan) {
  std::vector<CellState> states(plan.cells.size(), CellState::missing);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return states;
  const Results planned = checked_plan(plan);
  const Results stored = read_store(file, Detail::states);
  check_same_study(planned, stored, printable(file.string(), 400));
  std::map<decltype(key(stored, stored.cells.front())), CellState> known;
  for (const Cell& cell : stored.cells) known[key(stored, cell)] = cell.state;
  for (std::size_t i = 0; i < states.size(); ++i)
    if (const auto found = known.find(key(planned, planned.cells[i])); found != known.end())
      states[i] = found->second;
  return states;
}

}  // namespace sharpen::study
