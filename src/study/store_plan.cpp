// The plan of a study: what it is in a file, and how it meets the one that a file already holds.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "sharpen/base/error.hpp"
#include "study/store_schema.hpp"

namespace sharpen::study {

static void fields(Bytes& bytes, Market& market) {
  bytes(market.name, market.source, market.checksum, market.reading, market.tickers, market.dates,
        market.first_date, market.training_rows, market.periods_per_year, market.risk_free,
        market.warnings);
}

static void fields(Bytes& bytes, Method& method) {
  bytes(method.name, method.label, method.role, method.framework, method.optimizer, method.training,
        method.alpha, method.ensemble, method.cost_bps, method.settings);
}

static void fields(Bytes& bytes, Cell& cell) {
  bytes(cell.market, cell.method, cell.k_given, cell.k, cell.seed);
}

static void fields(Bytes& bytes, Stored& plan) {
  Results& results = plan.results;
  bytes(results.name, results.settings, results.versions, results.markets, results.methods,
        results.cells, plan.ids, results.shard.part, results.shard.of, results.shard_cells);
}

namespace {

constexpr FileKind kPlanBytes = {"SHRPPLAN", 1, "plan of a study", kRemedy};

std::string lines(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, "\n"));
}

std::string part_words(const Shard& shard) {
  return shard.whole() ? "a whole study" : fmt::format("part {} of {}", shard.part, shard.of);
}

}  // namespace

Results checked_plan(const Results& plan) {
  try {
    const std::string bytes = to_bytes(kPlanBytes, Stored{plan, {}});
    Results checked = from_bytes<Stored>(kPlanBytes, bytes, plan.name).results;
    check_results(checked);
    return checked;
  } catch (const Misfit& misfit) {
    throw InputError(fmt::format("the study cannot be kept: {}; describe it anew", misfit.what()));
  }
}

void check_same_study(const Results& plan, const Results& stored, const std::string& file) {
  Difference found;
  if (plan.shard != stored.shard)
    found.what = fmt::format("holds {}, and {} is asked for", part_words(stored.shard),
                             part_words(plan.shard));
  else if (found = difference_of(plan, stored); !found)
    return;
  // Settings that leave out what the file holds would not describe it any more.
  else if (found.less)
    found.what = fmt::format(
        "holds {}, which is not in what is asked for now; a study may grow, "
        "not shrink: ask for all it holds",
        found.what);
  else
    found.what += "; results of the two are not mixed";
  throw InputError(
      fmt::format("{}: {}: give another ‹--out›, or ‹--force›, which sets {} aside and begins anew",
                  file, found.what, file.substr(file.rfind('/') + 1)));
}

Stored joined(const Results& plan, const Stored& stored) {
  const Results& then = stored.results;
  std::map<CellKey, std::size_t> places;
  for (std::size_t i = 0; i < then.cells.size(); ++i)
    places.emplace(key_of(then, then.cells[i]), i);
  Id last = stored.ids.empty() ? 0 : *std::ranges::max_element(stored.ids);
  Stored out = {plan, {}};
  for (Cell& cell : out.results.cells) {
    const auto found = places.find(key_of(plan, cell));
    out.ids.push_back(found == places.end() ? ++last : stored.ids[found->second]);
    if (found == places.end()) continue;
    const Cell& before = then.cells[found->second];
    cell.state = before.state;
    cell.reason = before.reason;
    cell.seconds = before.seconds;
  }
  out.results.versions = then.versions;
  for (const auto& version : plan.versions)
    if (std::ranges::find(then.versions, version) == then.versions.end())
      out.results.versions.push_back(version);
  return out;
}

void write_plan(Connection& connection, const Stored& plan) {
  const Results& results = plan.results;
  const std::string bytes = to_bytes(kPlanBytes, plan);
  connection.run(
      "DELETE FROM study; DELETE FROM versions; DELETE FROM markets; DELETE FROM readings;"
      "DELETE FROM methods; DELETE FROM cells");
  Statement(connection, "INSERT INTO study VALUES (?, ?, ?)")
      .run(results.name, results.settings, Blob{bytes});
  Statement version(connection, "INSERT INTO versions VALUES (?, ?)");
  for (const auto& [what, which] : results.versions) version.run(what, which);
  Statement market(connection, "INSERT INTO markets VALUES (?, ?, ?, ?, ?, ?)");
  Statement reading(connection, "INSERT INTO readings VALUES (?, ?, ?)");
  Id id = 0;
  for (const Market& each : results.markets) {
    market.run(++id, each.name, each.source, each.checksum, lines(each.tickers), lines(each.dates));
    for (const auto& [setting, value] : each.reading) reading.run(id, setting, value);
  }
  Statement method(connection, "INSERT INTO methods VALUES (?, ?, ?, ?, ?, ?)");
  id = 0;
  for (const Method& each : results.methods)
    method.run(++id, each.name, each.label, each.framework, each.optimizer, each.settings);
  Statement cell(connection, "INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (std::size_t i = 0; i < plan.ids.size(); ++i) {
    const Cell& each = results.cells[i];
    const auto seed = each.seed ? std::optional(static_cast<Id>(*each.seed)) : std::nullopt;
    cell.run(plan.ids[i], static_cast<Id>(i), Id{each.market + 1}, Id{each.method + 1},
             each.k_given, Id{each.k}, seed, name(each.state), each.reason, each.seconds);
  }
}

Stored read_plan(Connection& connection, const std::string& name) {
  Statement study(connection, "SELECT plan FROM study");
  require(study.step(), "its plan is missing");
  Stored stored = from_bytes<Stored>(kPlanBytes, study.blob(0), name);
  check_results(stored.results);
  require(stored.ids.size() == stored.results.cells.size(), "its cells are not those of its plan");
  std::unordered_map<Id, std::size_t> places;
  for (const Id each : stored.ids) places.emplace(each, places.size());
  Statement rows(connection, "SELECT cell, state, reason, seconds FROM cells");
  while (rows.step()) {
    const auto place = places.extract(rows.integer(0));
    require(!place.empty(), "its cells are not those of its plan");
    Cell& cell = stored.results.cells[place.mapped()];
    const auto state = value_named<CellState>(rows.text(1));
    require(state.has_value(), "the state of a cell is unknown");
    cell.state = *state;
    cell.reason = rows.text(2);
    cell.seconds = rows.real(3);
    require(std::isfinite(cell.seconds) && cell.seconds >= 0.0, "a cell took less than no time");
  }
  require(places.empty(), "its cells are not those of its plan");
  return stored;
}

}  // namespace sharpen::study
