// The answers of `sharpen study` and `sharpen merge` on a terminal.
#include <fmt/format.h>

#include "commands.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/command/output_folder.hpp"

namespace sharpen::app {

namespace {

std::string duration(double seconds) {
  if (seconds < 90.0) return fmt::format("{:.3g} s", seconds);
  if (seconds < 5400.0) return fmt::format("{:.3g} minutes", seconds / 60.0);
  return fmt::format("{:.3g} hours", seconds / 3600.0);
}

std::string cell_name(const study::Results& results, const study::Cell& cell) {
  const auto& market = results.markets[at(cell.market)];
  const auto& method = results.methods[at(cell.method)];
  return fmt::format("{}, k = {}, {}{}", printable(market.name), printable(cell.k_given),
                     printable(method.name), cell.seed ? fmt::format(", seed {}", *cell.seed) : "");
}

std::string run_text(const study::Tally& tally, const std::filesystem::path& file) {
  std::string out =
      line("cells", fmt::format("{} of {} done{}", tally.done, tally.cells,
                                tally.failed > 0 ? fmt::format(", {} failed", tally.failed) : ""));
  out +=
      line("now", tally.computed == 0
                      ? std::string("nothing was left to do")
                      : fmt::format("{} and {} in {}", counted(tally.computed, "cell"),
                                    counted(tally.trained, "training"), duration(tally.seconds)));
  out += line("written", command::shown(file));
  return out;
}

std::string estimate_text(const study::Estimate& estimate, int threads) {
  std::string out = line("cells", fmt::format("{}: {} done, {} failed, {} to do", estimate.cells,
                                              estimate.done, estimate.failed, estimate.missing));
  out += line("trainings", fmt::format("{}", estimate.trainings));
  out += line("time", fmt::format("about {} on {}", duration(60.0 * estimate.minutes),
                                  counted(threads, "thread")));
  out += line("memory", fmt::format("about {:.2g} GB", estimate.gigabytes));
  return out;
}

std::string list_text(const command::StudyAnswer& answer) {
  const study::Results& results = answer.results;
  std::string rows;
  for (const study::Cell& cell : results.cells) {
    rows += fmt::format("{:<8} {}", study::name(cell.state), cell_name(results, cell));
    if (cell.state == study::CellState::done) rows += fmt::format(" ({})", duration(cell.seconds));
    if (cell.state == study::CellState::failed) rows += ": " + printable(cell.reason, 400);
    rows += "\n";
  }
  const auto [cells, done, failed, missing] = answer.counts();
  const std::string part =
      results.shard.whole() ? ""
                            : fmt::format(", part {} of {} with {}", results.shard.part,
                                          results.shard.of, counted(results.shard_cells, "cell"));
  return fmt::format("{}: {}{}, {}: {} done, {} failed, {} missing\n{}",
                     command::shown(answer.file), printable(results.name), part,
                     counted(cells, "cell"), done, failed, missing, rows);
}

}  // namespace

std::string study_text(const command::StudyAnswer& answer) {
  using Action = command::StudyAnswer::Action;
  switch (answer.action) {
    case Action::config: return answer.config;
    case Action::list: return list_text(answer);
    case Action::dry_run: return estimate_text(answer.estimate, answer.threads);
    case Action::run: break;
  }
  return run_text(answer.tally, answer.file);
}

std::string merge_text(const command::MergeAnswer& answer) {
  const study::Merged& merged = answer.merged;
  std::string out = line("parts", fmt::format("{}", merged.parts));
  out += line("cells",
              fmt::format("{} of {} done{}{}", merged.done, merged.cells,
                          merged.failed > 0 ? fmt::format(", {} failed", merged.failed) : "",
                          merged.missing > 0 ? fmt::format(", {} missing", merged.missing) : ""));
  out += line("written", command::shown(answer.file));
  return out;
}

}  // namespace sharpen::app
