// sharpen doctor: what is wrong with a panel, and what each way of cleaning would do about it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sharpen/base/log.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/market/panel_input.hpp"

namespace sharpen::command {

// The diagnosis, ready to be shown.
struct Diagnosis {
  std::string file;
  market::CleaningSettings settings;
  Index assets = 0, rows = 0;  // of the file, after --from, --to and --tickers
  std::string from, to;
  Index complete_assets = 0;
  Index missing_cells = 0;
  std::vector<std::string> tickers;  // of the file, by its columns
  market::Cleaned cleaned;
  std::vector<market::Choice> choices;    // what each would leave
  std::vector<market::DateRange> ranges;  // that keep more names
  std::string out;                        // where the cleaned panel was written; "" for nowhere
  std::string decide;                     // where decisions were proposed; "" for nowhere
  Index proposed = 0;                     // decisions that are new there
  bool details = false;                   // whether people want to see every finding
  std::vector<std::string> warnings;

  // Columns of the assets with the most suspects, and how many each has.
  std::vector<std::pair<Index, Index>> worst_assets(std::size_t most) const;
};

// Writes the cleaned panel where --out says, and proposed decisions where --decide says, if they
// do. `panel`: what the caller has in memory, none: what the settings name is read. Throws
// InputError for settings that do not fit it.
Diagnosis doctor_answer(const settings::Values& values, std::optional<market::MemoryPanel> panel,
                        const Log& log);

std::string doctor_json(const Diagnosis& diagnosis);

}  // namespace sharpen::command
