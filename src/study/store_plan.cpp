#include "study/store_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "study/reading.hpp"
#include "study/store_rows.hpp"

namespace sharpen::study {

namespace {

// What a cell is, whatever its place: the same in a plan and in a file.
using Key = std::tuple<std::string_view, std::string_view, std::string_view, Index,
                       std::optional<std::uint64_t>>;

Key key_of(const Results& results, const Cell& cell) {
  return {results.markets[at(cell.market)].name, results.methods[at(cell.method)].name,
          cell.k_given, cell.k, cell.seed};
}

// For each item of the plan where the file has it, by its key.
using Place = std::optional<std::size_t>;

template <class Key>
std::vector<Place> places_of(const std::vector<Key>& planned, const std::vector<Key>& stored) {
  std::map<Key, std::size_t> known;
  for (const Key& key : stored) known.emplace(key, known.size());
  std::vector<Place> places;
  for (const Key& key : planned) {
    const auto found = known.find(key);
    places.push_back(found == known.end() ? Place() : found->second);
  }
  return places;
}

std::vector<Key> keys_of(const Results& results) {
  std::vector<Key> keys;
  for (const Cell& cell : results.cells) keys.push_back(key_of(results, cell));
  return keys;
}

template <class T>
std::vector<std::string_view> names_of(const std::vector<T>& items) {
  std::vector<std::string_view> names;
  for (const T& item : items) names.push_back(item.name);
  return names;
}

// What two studies differ in, and whether one only lacks what the other has.
struct Different {
  std::string what;
  bool less = false;
};

[[noreturn]] void refuse(const std::string& what) { throw Different{what}; }
[[noreturn]] void refuse_less(const std::string& what) { throw Different{what, true}; }

void check_market(const Market& now, const Market& then) {
  const std::string market = fmt::format("market \"{}\"", printable(now.name));
  if (data_of(now.checksum).starts_with(kPanelChecksum) &&
      !data_of(then.checksum).starts_with(kPanelChecksum))
    refuse(fmt::format(
        "{} is {}, and this study was begun with a file, or by an earlier version, which "
        "kept no checksum of simulated prices: whether they are the same cannot be told",
        market, printable(now.source, 200)));
  if (data_of(now.checksum) != data_of(then.checksum))
    refuse(
        fmt::format("{} has changed since this study began: {} is not the data it was "
                    "(checksum {}, was {})",
                    market, printable(now.source, 200), printable(data_of(now.checksum)),
                    printable(data_of(then.checksum))));
  if (const std::string other = reading_difference(now.checksum, then.checksum); !other.empty())
    refuse(fmt::format("{} is read with other settings than when this study began: {}", market,
                       other));
  const auto differs = [&](std::string_view what) {
    refuse(fmt::format("{} is not read as it was when this study began: {}", market, what));
  };
  if (now.tickers != then.tickers) differs("its tickers differ");
  if (now.dates != then.dates) differs("its test dates differ");
  if (now.first_date != then.first_date || now.training_rows != then.training_rows)
    differs("its training part differs");
  if (now.periods_per_year != then.periods_per_year) differs("its periods per year differ");
  if (now.risk_free != then.risk_free) differs("its risk-free rate differs");
}

// The first line that is in one text and not in the other: what a user has changed.
std::string first_difference(std::string_view now, std::string_view then) {
  const auto line_of = [](std::string_view& text) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
  };
  while (!now.empty() || !then.empty()) {
    const std::string_view a = line_of(now), b = line_of(then);
    if (a != b) return fmt::format("\"{}\", was \"{}\"", printable(a, 200), printable(b, 200));
  }
  return "nothing";
}

void check_method(const Method& now, const Method& then) {
  if (now.settings == then.settings && now.framework == then.framework &&
      now.optimizer == then.optimizer && now.training == then.training && now.alpha == then.alpha &&
      now.ensemble == then.ensemble && now.cost_bps == then.cost_bps)
    return;
  const std::string what =
      now.settings != then.settings ? first_difference(now.settings, then.settings)
      : now.framework != then.framework || now.optimizer != then.optimizer
          ? fmt::format("{} {}, was {} {}", printable(now.framework), printable(now.optimizer),
                        printable(then.framework), printable(then.optimizer))
          : fmt::format("training {}, alpha {}, ensemble {}, cost {}; was {}, {}, {}, {}",
                        printable(now.training), now.alpha, now.ensemble, now.cost_bps,
                        printable(then.training), then.alpha, then.ensemble, then.cost_bps);
  refuse(fmt::format("method \"{}\" has other settings than when this study began: {}",
                     printable(now.name), what));
}

// Every market, method and cell of the file is in the plan.
void check_nothing_left_out(const Results& plan, const Results& stored) {
  const auto check_names = [&](std::string_view what, const auto& then, const auto& now) {
    std::set<std::string_view> names;
    for (const auto& each : now) names.insert(each.name);
    for (const auto& each : then)
      if (!names.contains(each.name))
        refuse_less(fmt::format("{} \"{}\"", what, printable(each.name)));
  };
  check_names("market", stored.markets, plan.markets);
  check_names("method", stored.methods, plan.methods);
  std::set<Key> planned;
  std::set<std::tuple<std::string_view, std::string_view, Index>> planned_ks;
  for (const Key& key : keys_of(plan)) {
    planned.insert(key);
    planned_ks.insert({std::get<0>(key), std::get<2>(key), std::get<3>(key)});
  }
  for (const Key& key : keys_of(stored)) {
    if (planned.contains(key)) continue;
    const auto& [market, method, k_given, k, seed] = key;
    const std::string where =
        fmt::format("market \"{}\", method \"{}\"", printable(market), printable(method));
    if (!planned_ks.contains({market, k_given, k}))
      refuse_less(fmt::format("k = {} ({})", printable(k_given), where));
    if (seed) refuse_less(fmt::format("seed {} ({})", *seed, where));
    refuse_less(fmt::format("a cell of {}, k = {}", where, printable(k_given)));
  }
}

std::string part_words(const Shard& shard) {
  return shard.whole() ? "a whole study" : fmt::format("part {} of {}", shard.part, shard.of);
}

void write_study(Connection& connection, const Results& plan, const Results& stored) {
  Insert row(connection, "study");
  row.run("name", plan.name);
  row.run("settings", plan.settings);
  if (!plan.shard.whole())
    row.run("shard", fmt::format("{} {}", plan.shard.text(), plan.shard_cells));
  Statement version(connection, "INSERT INTO versions (what, version) VALUES (?, ?)");
  for (const auto& each : plan.versions)
    if (std::ranges::find(stored.versions, each) == stored.versions.end())
      version.run(each.first, each.second);
}

// The ids that rows of the plan have in the file, or get there.
std::vector<Id> ids_of(const std::vector<Place>& places, const std::vector<Id>& stored) {
  Id next = stored.empty() ? 1 : *std::ranges::max_element(stored) + 1;
  std::vector<Id> ids;
  for (const Place& place : places) ids.push_back(place ? stored[*place] : next++);
  return ids;
}

std::vector<Id> write_markets(Connection& connection, const Results& plan, const Stored& stored) {
  const auto places = places_of(names_of(plan.markets), names_of(stored.results.markets));
  const std::vector<Id> ids = ids_of(places, stored.markets);
  Insert row(connection, "markets");
  for (std::size_t at = 0; at < ids.size(); ++at) {
    const Market& market = plan.markets[at];
    row.number(ids[at]);
    row.number(static_cast<Id>(at));
    market_columns(row, market);
    row.run();
    if (places[at]) continue;
    write_texts(connection, "INSERT INTO assets VALUES (?, ?, ?)", ids[at], market.tickers);
    write_texts(connection, "INSERT INTO periods VALUES (?, ?, ?)", ids[at], market.dates);
    write_texts(connection, "INSERT INTO warnings VALUES (?, 0, ?, ?)", ids[at],
                plain(market.warnings));
  }
  return ids;
}

std::vector<Id> write_methods(Connection& connection, const Results& plan, const Stored& stored) {
  const std::vector<Id> ids =
      ids_of(places_of(names_of(plan.methods), names_of(stored.results.methods)), stored.methods);
  Insert row(connection, "methods");
  for (std::size_t at = 0; at < ids.size(); ++at) {
    row.number(ids[at]);
    row.number(static_cast<Id>(at));
    method_columns(row, plan.methods[at]);
    row.run();
  }
  return ids;
}

// Leaves a text as it can be stored, and the other columns as they are.
struct MakeStorable {
  void text(std::string& value, std::size_t longest) { value = storable(value, longest); }
  void number(Index, Id, Id) {}
  void finite(double) {}
  template <class Enum>
  void word(Enum, Enum, std::string_view) {}
};

}  // namespace

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
    const std::string& market = results.markets[at(cell.market)].name;
    const auto method = at(cell.method);
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
      throw Misfit(fmt::format(
          "its markets, numbers of names and {} methods make more than {} entries of a table",
          methods, kMostCells));
  }
  for (std::size_t method = 0; method < methods; ++method)
    if (!has_cells[method])
      throw Misfit(
          fmt::format("method \"{}\" has no cell", printable(results.methods[method].name)));
}

Results checked_plan(const Results& plan) {
  MakeStorable storable;
  Results checked = plan;
  storable.text(checked.name, kLongestName);
  storable.text(checked.settings, kLongestText);
  for (auto& [what, version] : checked.versions) {
    storable.text(what, kLongestName);
    storable.text(version, kLongestName);
  }
  for (Market& market : checked.markets) {
    market_columns(storable, market);
    for (std::string& ticker : market.tickers) storable.text(ticker, kLongestName);
    for (std::string& date : market.dates) storable.text(date, kLongestName);
  }
  for (Method& method : checked.methods) method_columns(storable, method);
  if (name_given_twice(checked.markets) != nullptr)
    throw InputError("two markets of the study have the same name; give each its own");
  if (name_given_twice(checked.methods) != nullptr)
    throw InputError("two methods of the study have the same name; give each its own");
  for (const Cell& cell : checked.cells)
    if (cell.market < 0 || at(cell.market) >= checked.markets.size() || cell.method < 0 ||
        at(cell.method) >= checked.methods.size())
      throw InputError("a cell of the study is of no market or no method");
  try {
    check_cells(checked);
  } catch (const Misfit& misfit) {
    throw InputError(fmt::format("the study cannot be kept: {}; describe it anew", misfit.what()));
  }
  return checked;
}

static void find_difference(const Results& plan, const Results& stored) {
  if (plan.name != stored.name)
    refuse(fmt::format("holds the study \"{}\", and not \"{}\"", printable(stored.name),
                       printable(plan.name)));
  const auto markets = places_of(names_of(plan.markets), names_of(stored.markets));
  for (std::size_t i = 0; i < markets.size(); ++i)
    if (markets[i]) check_market(plan.markets[i], stored.markets[*markets[i]]);
  const auto methods = places_of(names_of(plan.methods), names_of(stored.methods));
  for (std::size_t i = 0; i < methods.size(); ++i)
    if (methods[i]) check_method(plan.methods[i], stored.methods[*methods[i]]);
  check_nothing_left_out(plan, stored);
}

std::string difference_of(const Results& plan, const Results& stored) {
  try {
    find_difference(plan, stored);
  } catch (const Different& found) {
    return found.less ? fmt::format("one of them has {}", found.what) : found.what;
  }
  return "";
}

void check_same_study(const Results& plan, const Results& stored, const std::string& file) {
  const std::string aside =
      fmt::format("give another ‹--out›, or ‹--force›, which sets {} aside and begins anew",
                  file.substr(file.rfind('/') + 1));
  if (plan.shard != stored.shard)
    throw InputError(fmt::format("{}: holds {}, and {} is asked for: {}", file,
                                 part_words(stored.shard), part_words(plan.shard), aside));
  try {
    find_difference(plan, stored);
  } catch (const Different& found) {
    // Settings that leave out what the file holds would not describe it any more.
    throw InputError(
        found.less
            ? fmt::format("{}: holds {}, which is not in what is asked for now; a study may "
                          "grow, not shrink: ask for all it holds, {}",
                          file, found.what, aside)
            : fmt::format("{}: {}; results of the two are not mixed: {}", file, found.what, aside));
  }
}

PlannedCells write_plan(Connection& connection, const Results& plan, const Stored& stored) {
  write_study(connection, plan, stored.results);
  const std::vector<Id> markets = write_markets(connection, plan, stored);
  const std::vector<Id> methods = write_methods(connection, plan, stored);
  const std::vector<Place> places = places_of(keys_of(plan), keys_of(stored.results));
  PlannedCells cells = {.ids = ids_of(places, stored.cells), .states = {}};
  Insert row(connection, "cells");
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const Cell& planned = plan.cells[i];
    const Cell& cell = places[i] ? stored.results.cells[*places[i]] : planned;
    row.number(cells.ids[i]);
    row.number(static_cast<Id>(i));
    row.number(markets[at(planned.market)]);
    row.number(methods[at(planned.method)]);
    cell_columns(row, cell, 0);
    row.run();
    cells.states.push_back(cell.state);
  }
  return cells;
}

void write_texts(Connection& connection, std::string_view sql, Id owner,
                 const std::vector<std::string>& texts) {
  Statement row(connection, sql);
  for (std::size_t at = 0; at < texts.size(); ++at)
    row.run(owner, static_cast<Id>(at), storable(texts[at], kLongestText));
}

std::vector<CellState> states_in(const std::filesystem::path& file, const Results& plan,
                                 const Log& log, const Stop& stop) {
  std::vector<CellState> states(plan.cells.size(), CellState::missing);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return states;
  const Results planned = checked_plan(plan);
  const Results stored = read_store(file, Detail::states, log, stop);
  check_same_study(planned, stored, printable(file.string(), 400));
  const std::vector<Place> places = places_of(keys_of(planned), keys_of(stored));
  for (std::size_t at = 0; at < states.size(); ++at)
    if (places[at]) states[at] = stored.cells[*places[at]].state;
  return states;
}

}  // namespace sharpen::study
