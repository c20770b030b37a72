// sharpen doctor: what is wrong with a panel, and what each way of cleaning would do about it.
#pragma once

#include <optional>
#include <string>
#include <vector>

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
  market::Cleaned cleaned;
  std::string out;  // where the cleaned panel was written; "" for nowhere
  std::vector<std::string> warnings;
};

// Of a panel that is cut already. Throws InputError for settings that do not fit it.
Diagnosis diagnose(const settings::Values& values, const market::RawPanel& raw);

std::string diagnosis_json(const Diagnosis& diagnosis);

}  // namespace sharpen::command
