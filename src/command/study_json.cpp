// The answers of `sharpen study --json` (docs/json.md).
#include "command/json_text.hpp"
#include "sharpen/command/study.hpp"

namespace sharpen::command {

namespace {

Json head(std::string_view action, const std::filesystem::path& file) {
  Json out;
  out["schema_version"] = kSchemaVersion;
  out["command"] = "study";
  out["action"] = action;
  out["db"] = file.string();
  return out;
}

std::string_view name(study::CellState state) {
  switch (state) {
    case study::CellState::done: return "done";
    case study::CellState::failed: return "failed";
    case study::CellState::missing: break;
  }
  return "missing";
}

Json cell_json(const study::Results& results, const study::Cell& cell) {
  const study::Method& method = results.methods[static_cast<std::size_t>(cell.method)];
  Json out;
  out["market"] = results.markets[static_cast<std::size_t>(cell.market)].name;
  out["method"] = method.name;
  out["framework"] = method.framework;
  out["optimizer"] = method.optimizer;
  out["k_given"] = cell.k_given;
  out["k"] = cell.k;
  out["seed"] = cell.seed ? Json(*cell.seed) : Json(nullptr);
  out["state"] = name(cell.state);
  if (cell.state == study::CellState::failed) out["reason"] = cell.reason;
  if (cell.state != study::CellState::missing) out["seconds"] = cell.seconds;
  return out;
}

Json failures(const study::Results& results) {
  Json out = Json::array();
  for (const study::Cell& cell : results.cells)
    if (cell.state == study::CellState::failed) out.push_back(cell_json(results, cell));
  return out;
}

}  // namespace

std::string study_json(const study::Tally& tally, const std::filesystem::path& file,
                       const study::Results& results, const std::vector<std::string>& warnings) {
  Json out = head("run", file);
  out["name"] = results.name;
  out["cells"] = tally.cells;
  out["done"] = tally.done;
  out["failed"] = tally.failed;
  out["missing"] = tally.cells - tally.done - tally.failed;
  out["computed"] = tally.computed;
  out["trainings"] = tally.trained;
  out["interrupted"] = tally.interrupted;
  out["seconds"] = tally.seconds;
  out["failures"] = failures(results);
  out["warnings"] = warnings;
  return json_text(out);
}

std::string estimate_json(const study::Estimate& estimate, int threads,
                          const std::filesystem::path& file,
                          const std::vector<std::string>& warnings) {
  Json out = head("dry-run", file);
  out["cells"] = estimate.cells;
  out["done"] = estimate.done;
  out["failed"] = estimate.failed;
  out["missing"] = estimate.missing;
  out["trainings"] = estimate.trainings;
  out["minutes"] = estimate.minutes;
  out["gigabytes"] = estimate.gigabytes;
  out["threads"] = threads;
  out["warnings"] = warnings;
  return json_text(out);
}

std::string list_json(const study::Results& results, const std::filesystem::path& file) {
  Json out = head("list", file);
  out["name"] = results.name;
  Index done = 0, failed = 0;
  Json cells = Json::array();
  for (const study::Cell& cell : results.cells) {
    done += cell.state == study::CellState::done ? 1 : 0;
    failed += cell.state == study::CellState::failed ? 1 : 0;
    cells.push_back(cell_json(results, cell));
  }
  out["cells"] = results.cells.size();
  out["done"] = done;
  out["failed"] = failed;
  out["missing"] = static_cast<Index>(results.cells.size()) - done - failed;
  out["list"] = std::move(cells);
  return json_text(out);
}

}  // namespace sharpen::command
