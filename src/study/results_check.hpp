// What a study's results promise, whoever hands them over: a plan, a file or another machine.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>

#include "sharpen/study/results.hpp"

namespace sharpen::study {

// Something that whoever makes results would not have put there.
class Misfit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void require(bool holds, const char* what) {
  if (!holds) throw Misfit(what);
}

// What a cell is, whatever its place: market, method, k as given, names, seed.
using CellKey = std::tuple<std::string_view, std::string_view, std::string_view, Index,
                           std::optional<std::uint64_t>>;
CellKey key_of(const Results& results, const Cell& cell);
std::string spelled(const CellKey& key);

// Of a program or library that has written results: each once.
std::set<std::string> versions_of(const Results& results, std::string_view what);

// Misfit for markets, methods and cells that no grid has: two of a name, the same cell twice, a k
// of a market that is now so many names and now others, a method without cells, or more groups
// (market x k) x methods than a study may have cells, which a report would lay out in full.
void check_results(const Results& results);

// Misfit for a done cell that no reader would accept.
void check_run(const Market& market, const Cell& cell);

// The first thing of a study that is not as it was then: its name, a market's data, a method's
// settings; or that it had and has no more. What it did not have then is no difference.
struct Difference {
  std::string what;
  bool less = false;  // `what` is no more there

  explicit operator bool() const { return !what.empty(); }
};
Difference difference_of(const Results& now, const Results& then);

}  // namespace sharpen::study
