// A backtest read back from the folder it was written to, for comparing it with another.
//
//   DIR/returns.csv    a column `date` first, strictly increasing, and a column `return`: raw
//                      returns net of costs; other columns are not looked at
//   DIR/metrics.json   `periods_per_year`, and if it has them `risk_free` (per period), `label`
//                      and `stats_from_date`
// What does not fit is an InputError that says where, and the remedy.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::backtest {

struct SavedRun {
  std::string label;               // the folder's name if the file has none
  std::vector<std::string> dates;  // (T)
  std::vector<double> returns;     // (T)
  double periods_per_year = 252.0;
  double risk_free = 0.0;       // per period
  std::string stats_from_date;  // statistics start here; "": with the first row

  // The first date with a return of -1 or less; "" if there is none.
  std::string ruin_date() const;
};

SavedRun read_run(const std::filesystem::path& folder);
// The two files from memory; the names stand for them in messages.
SavedRun parse_run(std::string_view returns_text, std::string_view returns_name,
                   std::string_view metrics_text, std::string_view metrics_name);

// What two runs have in common: the dates in both from where the statistics of both have started,
// and each run's excess returns on them.
struct CommonPeriods {
  std::vector<std::string> dates;
  std::vector<double> a, b;  // r - risk_free, each by its own rate
  Index left_out_a = 0;      // rows of a without a partner, or before the statistics of either
  Index left_out_b = 0;
};

// Throws InputError if no date is common or the runs count their years differently.
CommonPeriods common_periods(const SavedRun& a, const SavedRun& b);

}  // namespace sharpen::backtest
