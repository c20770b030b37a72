#include "study/store_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "study/reading.hpp"

namespace sharpen::study {

namespace {

using Id = std::int64_t;

void make_storable(std::string& text, std::size_t longest) { text = storable(text, longest); }

// What a cell is, whatever its place in a plan.
using Key = std::tuple<Index, Index, std::string, Index, std::optional<std::uint64_t>>;

Key key_of(const Cell& cell, Index market, Index method) {
  return {market, method, cell.k_given, cell.k, cell.seed};
}

template <class T>
std::map<std::string_view, std::size_t> by_name(const std::vector<T>& items) {
  std::map<std::string_view, std::size_t> found;
  for (std::size_t at = 0; at < items.size(); ++at) found.emplace(items[at].name, at);
  return found;
}

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw InputError(
      fmt::format("{}: {}; results of the two are not mixed: give another --out, or --force, which "
                  "sets {} aside and begins anew",
                  file, what, file.substr(file.rfind('/') + 1)));
}

// Settings that leave out what the file holds would not describe it any more.
[[noreturn]] void refuse_less(const std::string& file, const std::string& what) {
  throw InputError(
      fmt::format("{}: holds {}, which is not in what is asked for now; a study may grow, not "
                  "shrink: ask for all it holds, give another --out, or --force, which sets {} "
                  "aside and begins anew",
                  file, what, file.substr(file.rfind('/') + 1)));
}

void check_market(const Market& now, const Market& then, const std::string& file) {
  const std::string market = fmt::format("market \"{}\"", printable(now.name));
  if (data_of(now.checksum).starts_with(kPanelChecksum) &&
      !data_of(then.checksum).starts_with(kPanelChecksum))
    refuse(file, fmt::format("{} is {}, and this study was begun with a file, or by an earlier "
                             "version, which kept no checksum of simulated prices: whether they "
                             "are the same cannot be told",
                             market, printable(now.source, 200)));
  if (data_of(now.checksum) != data_of(then.checksum))
    refuse(file, fmt::format("{} has changed since this study began: {} is not the data it was "
                             "(checksum {}, was {})",
                             market, printable(now.source, 200), printable(data_of(now.checksum)),
                             printable(data_of(then.checksum))));
  if (const std::string other = reading_difference(now.checksum, then.checksum); !other.empty())
    refuse(file, fmt::format("{} is read with other settings than when this study began: {}",
                             market, other));
  const auto differs = [&](std::string_view what) {
    refuse(file, fmt::format("{} is not read as it was when this study began: {}", market, what));
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

void check_method(const Method& now, const Method& then, const std::string& file) {
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
  refuse(file, fmt::format("method \"{}\" has other settings than when this study began: {}",
                           printable(now.name), what));
}

// Every market, method and cell of the file is in the plan.
void check_nothing_left_out(const Results& plan, const Results& stored, const std::string& file) {
  const auto markets = by_name(plan.markets);
  const auto methods = by_name(plan.methods);
  for (const Market& market : stored.markets)
    if (!markets.contains(market.name))
      refuse_less(file, fmt::format("market \"{}\"", printable(market.name)));
  for (const Method& method : stored.methods)
    if (!methods.contains(method.name))
      refuse_less(file, fmt::format("method \"{}\"", printable(method.name)));
  std::set<Key> planned;
  std::set<std::tuple<Index, std::string, Index>> planned_ks;
  for (const Cell& cell : plan.cells) {
    planned.insert(key_of(cell, cell.market, cell.method));
    planned_ks.insert({cell.market, cell.k_given, cell.k});
  }
  for (const Cell& cell : stored.cells) {
    const Market& market = stored.markets[static_cast<std::size_t>(cell.market)];
    const Method& method = stored.methods[static_cast<std::size_t>(cell.method)];
    const auto m = static_cast<Index>(markets.at(market.name));
    if (planned.contains(key_of(cell, m, static_cast<Index>(methods.at(method.name))))) continue;
    const std::string where =
        fmt::format("market \"{}\", method \"{}\"", printable(market.name), printable(method.name));
    if (!planned_ks.contains({m, cell.k_given, cell.k}))
      refuse_less(file, fmt::format("k = {} ({})", printable(cell.k_given), where));
    if (cell.seed) refuse_less(file, fmt::format("seed {} ({})", *cell.seed, where));
    refuse_less(file, fmt::format("a cell of {}, k = {}", where, printable(cell.k_given)));
  }
}

void write_list(Connection& connection, const char* sql, Id owner,
                const std::vector<std::string>& texts) {
  Statement row(connection, sql);
  for (std::size_t at = 0; at < texts.size(); ++at) {
    row.bind(1, owner);
    row.bind(2, static_cast<Id>(at));
    row.bind(3, texts[at]);
    row.run();
  }
}

void add_market(Connection& connection, Id id, const Market& market) {
  Statement row(connection, "INSERT INTO markets VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?)");
  row.bind(1, id);
  row.bind(2, market.name);
  row.bind(3, market.source);
  row.bind(4, market.checksum);
  row.bind(5, market.first_date);
  row.bind(6, static_cast<Id>(market.training_rows));
  row.bind(7, market.periods_per_year);
  row.bind(8, market.risk_free);
  row.run();
  write_list(connection, "INSERT INTO assets VALUES (?, ?, ?)", id, market.tickers);
  write_list(connection, "INSERT INTO periods VALUES (?, ?, ?)", id, market.dates);
  write_list(connection, "INSERT INTO warnings VALUES (?, 0, ?, ?)", id, market.warnings);
}

void add_method(Connection& connection, Id id, const Method& method) {
  Statement row(connection,
                "INSERT INTO methods VALUES (?, 0, ?, '', 'paper', ?, ?, ?, ?, ?, ?, ?)");
  row.bind(1, id);
  row.bind(2, method.name);
  row.bind(3, method.framework);
  row.bind(4, method.optimizer);
  row.bind(5, method.training);
  row.bind(6, method.alpha);
  row.bind(7, static_cast<Id>(method.ensemble));
  row.bind(8, method.cost_bps);
  row.bind(9, method.settings);
  row.run();
}

void add_cell(Connection& connection, Id id, Id market, Id method, const Cell& cell) {
  Statement row(connection, "INSERT INTO cells VALUES (?, 0, ?, ?, ?, ?, ?, 'missing', '', 0.0)");
  row.bind(1, id);
  row.bind(2, market);
  row.bind(3, method);
  row.bind(4, cell.k_given);
  row.bind(5, static_cast<Id>(cell.k));
  if (cell.seed)
    row.bind(6, static_cast<Id>(*cell.seed));
  else
    row.bind_null(6);
  row.run();
}

// Rows in the plan's order, and behind them those that the plan no longer has.
void write_positions(Connection& connection, std::string_view table, std::string_view id_column,
                     const std::vector<Id>& planned, const std::vector<Id>& stored) {
  Statement row(connection,
                fmt::format("UPDATE {} SET position = ? WHERE {} = ?", table, id_column));
  const std::set<Id> in_plan(planned.begin(), planned.end());
  Id position = 0;
  const auto place = [&](Id id) {
    row.bind(1, position++);
    row.bind(2, id);
    row.run();
  };
  for (const Id id : planned) place(id);
  for (const Id id : stored)
    if (!in_plan.contains(id)) place(id);
}

void write_study(Connection& connection, const Results& plan, const Results& stored) {
  Statement row(connection, "INSERT OR REPLACE INTO study VALUES (?, ?)");
  for (const auto& [key, value] : {std::pair<std::string_view, std::string_view>("name", plan.name),
                                   {"settings", plan.settings}}) {
    row.bind(1, key);
    row.bind(2, value);
    row.run();
  }
  Statement version(connection, "INSERT INTO versions (what, version) VALUES (?, ?)");
  for (const auto& each : plan.versions) {
    if (std::find(stored.versions.begin(), stored.versions.end(), each) != stored.versions.end())
      continue;
    version.bind(1, each.first);
    version.bind(2, each.second);
    version.run();
  }
}

Id next_after(const std::vector<Id>& ids) {
  return ids.empty() ? 1 : *std::max_element(ids.begin(), ids.end()) + 1;
}

// The ids of named rows, made where there are none.
template <class T, class Add>
std::vector<Id> ids_of(const std::vector<T>& planned, const std::vector<T>& stored,
                       const std::vector<Id>& stored_ids, const Add& add) {
  const auto known = by_name(stored);
  std::vector<Id> ids;
  Id next = next_after(stored_ids);
  for (const T& item : planned) {
    const auto found = known.find(item.name);
    if (found != known.end()) {
      ids.push_back(stored_ids[found->second]);
    } else {
      add(next, item);
      ids.push_back(next++);
    }
  }
  return ids;
}

Planned write_cells(Connection& connection, const Results& plan, const Stored& stored,
                    const std::vector<Id>& markets, const std::vector<Id>& methods) {
  std::map<Key, std::size_t> known;
  for (std::size_t at = 0; at < stored.cells.size(); ++at) {
    const Cell& cell = stored.results.cells[at];
    known.emplace(key_of(cell, stored.markets[static_cast<std::size_t>(cell.market)],
                         stored.methods[static_cast<std::size_t>(cell.method)]),
                  at);
  }
  Planned planned;
  Id next = next_after(stored.cells);
  for (const Cell& cell : plan.cells) {
    const Id market = markets[static_cast<std::size_t>(cell.market)];
    const Id method = methods[static_cast<std::size_t>(cell.method)];
    const auto found = known.find(key_of(cell, market, method));
    if (found != known.end()) {
      planned.cells.push_back(stored.cells[found->second]);
      planned.states.push_back(stored.results.cells[found->second].state);
    } else {
      add_cell(connection, next, market, method, cell);
      planned.cells.push_back(next++);
      planned.states.push_back(CellState::missing);
    }
  }
  return planned;
}

}  // namespace

Results checked_plan(const Results& plan) {
  Results checked = plan;
  make_storable(checked.name, kLongestName);
  make_storable(checked.settings, kLongestText);
  for (auto& [what, version] : checked.versions) {
    make_storable(what, kLongestName);
    make_storable(version, kLongestName);
  }
  for (Market& market : checked.markets) {
    make_storable(market.source, kLongestText);
    for (std::string* text : {&market.name, &market.checksum, &market.first_date})
      make_storable(*text, kLongestName);
    for (std::string& ticker : market.tickers) make_storable(ticker, kLongestName);
    for (std::string& date : market.dates) make_storable(date, kLongestName);
    for (std::string& warning : market.warnings) make_storable(warning, kLongestText);
  }
  for (Method& method : checked.methods) {
    make_storable(method.settings, kLongestText);
    for (std::string* text :
         {&method.name, &method.label, &method.framework, &method.optimizer, &method.training})
      make_storable(*text, kLongestName);
  }
  if (by_name(checked.markets).size() != checked.markets.size())
    throw InputError("two markets of the study have the same name; give each its own");
  if (by_name(checked.methods).size() != checked.methods.size())
    throw InputError("two methods of the study have the same name; give each its own");
  for (const Cell& cell : checked.cells)
    if (cell.market < 0 || static_cast<std::size_t>(cell.market) >= checked.markets.size() ||
        cell.method < 0 || static_cast<std::size_t>(cell.method) >= checked.methods.size())
      throw InputError("a cell of the study is of no market or no method");
  try {
    check_cells(checked);
  } catch (const Misfit& misfit) {
    throw InputError(fmt::format("the study cannot be kept: {}; describe it anew", misfit.what()));
  }
  return checked;
}

void check_same_study(const Results& plan, const Results& stored, const std::string& file) {
  if (plan.name != stored.name)
    refuse(file, fmt::format("holds the study \"{}\", and not \"{}\"", printable(stored.name),
                             printable(plan.name)));
  const auto markets = by_name(stored.markets);
  for (const Market& market : plan.markets)
    if (const auto found = markets.find(market.name); found != markets.end())
      check_market(market, stored.markets[found->second], file);
  const auto methods = by_name(stored.methods);
  for (const Method& method : plan.methods)
    if (const auto found = methods.find(method.name); found != methods.end())
      check_method(method, stored.methods[found->second], file);
  check_nothing_left_out(plan, stored, file);
}

Planned write_plan(Connection& connection, const Results& plan, const Stored& stored) {
  write_study(connection, plan, stored.results);
  const std::vector<Id> markets =
      ids_of(plan.markets, stored.results.markets, stored.markets,
             [&](Id id, const Market& market) { add_market(connection, id, market); });
  const std::vector<Id> methods =
      ids_of(plan.methods, stored.results.methods, stored.methods,
             [&](Id id, const Method& method) { add_method(connection, id, method); });
  Statement source(connection, "UPDATE markets SET source = ? WHERE market = ?");
  for (std::size_t at = 0; at < markets.size(); ++at) {
    source.bind(1, plan.markets[at].source);
    source.bind(2, markets[at]);
    source.run();
  }
  Statement shown(connection, "UPDATE methods SET label = ?, role = ? WHERE method = ?");
  for (std::size_t at = 0; at < methods.size(); ++at) {
    shown.bind(1, plan.methods[at].label);
    shown.bind(2, name(plan.methods[at].role));
    shown.bind(3, methods[at]);
    shown.run();
  }
  Planned planned = write_cells(connection, plan, stored, markets, methods);
  write_positions(connection, "markets", "market", markets, stored.markets);
  write_positions(connection, "methods", "method", methods, stored.methods);
  write_positions(connection, "cells", "cell", planned.cells, stored.cells);
  return planned;
}

}  // namespace sharpen::study
