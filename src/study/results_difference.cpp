// What two plans of a study differ in: one that goes on and the one before, or two parts of a
// whole.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sharpen/base/text.hpp"
#include "study/reading.hpp"
#include "study/results_check.hpp"

namespace sharpen::study {

namespace {

// "": nothing.
std::string difference_of(const Market& now, const Market& then) {
  const std::string market = fmt::format("market \"{}\"", printable(now.name));
  if (now.checksum != then.checksum)
    return fmt::format(
        "{} has changed since this study began: {} is not the data it was (checksum {}, was {})",
        market, printable(now.source, 200), printable(now.checksum), printable(then.checksum));
  if (const std::string other = reading_difference(now.reading, then.reading); !other.empty())
    return fmt::format("{} is read with other settings than when this study began: {}", market,
                       other);
  const std::initializer_list<std::pair<bool, const char*>> rest = {
      {now.tickers == then.tickers, "tickers differ"},
      {now.dates == then.dates, "test dates differ"},
      {now.first_date == then.first_date && now.training_rows == then.training_rows,
       "training part differs"},
      {now.periods_per_year == then.periods_per_year, "periods per year differ"},
      {now.risk_free == then.risk_free, "risk-free rate differs"}};
  for (const auto& [same, what] : rest)
    if (!same)
      return fmt::format("{} is not read as it was when this study began: its {}", market, what);
  return "";
}

// One setting to a line: those that are in the table, then what a user has written.
std::string lines_of(const Method& method) {
  return fmt::format(
      "framework = {}\noptimizer = {}\ntraining = {}\nalpha = {}\nensemble = {}\ncost = {}\n{}",
      method.framework, method.optimizer, method.training, method.alpha, method.ensemble,
      method.cost_bps, method.settings);
}

std::string difference_of(const Method& now, const Method& then) {
  const std::string mine = lines_of(now), theirs = lines_of(then);
  if (mine == theirs) return "";
  // The line with the first difference.
  const std::ptrdiff_t place = std::ranges::mismatch(mine, theirs).in1 - mine.begin();
  const auto line = [&](std::string_view text) {
    const auto begin = text.rfind('\n', at(place) - 1) + 1;
    return printable(text.substr(begin, text.find('\n', begin) - begin), 200);
  };
  return fmt::format(
      "method \"{}\" has other settings than when this study began: \"{}\", was \"{}\"",
      printable(now.name), line(mine), line(theirs));
}

// Of markets or methods, by name.
template <class T>
Difference difference_of(std::string_view what, const std::vector<T>& now,
                         const std::vector<T>& then) {
  for (const T& each : then) {
    const auto found = std::ranges::find(now, each.name, &T::name);
    if (found == now.end()) return {fmt::format("{} \"{}\"", what, printable(each.name)), true};
    if (std::string other = difference_of(*found, each); !other.empty()) return {std::move(other)};
  }
  return {};
}

}  // namespace

Difference difference_of(const Results& now, const Results& then) {
  if (now.name != then.name)
    return {fmt::format("holds the study \"{}\", and not \"{}\"", printable(then.name),
                        printable(now.name))};
  if (Difference found = difference_of("market", now.markets, then.markets); found) return found;
  if (Difference found = difference_of("method", now.methods, then.methods); found) return found;
  std::set<CellKey> cells;
  for (const Cell& cell : now.cells) cells.insert(key_of(now, cell));
  for (const Cell& cell : then.cells)
    if (const CellKey key = key_of(then, cell); !cells.contains(key))
      return {fmt::format("the cell of {}", spelled(key)), true};
  return {};
}

}  // namespace sharpen::study
