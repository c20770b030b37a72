// The diagnosis of a panel, from a file or from memory.
#include <cmath>

#include "sharpen/command/doctor.hpp"

namespace sharpen::command {

namespace {

void count_missing(const market::Panel& panel, Diagnosis& diagnosis) {
  std::vector<char> whole(panel.tickers.size(), 1);
  for (Index t = 0; t < panel.rows(); ++t)
    for (Index j = 0; j < panel.n(); ++j)
      if (std::isnan(panel.matrix()(t, j))) {
        ++diagnosis.missing_cells;
        whole[static_cast<std::size_t>(j)] = 0;
      }
  for (const char asset : whole) diagnosis.complete_assets += asset;
}

}  // namespace

Diagnosis diagnose(const settings::Values& values, const market::RawPanel& raw) {
  Diagnosis diagnosis;
  diagnosis.file = raw.file;
  diagnosis.settings = market::cleaning_settings(values, raw.kind);
  diagnosis.assets = raw.panel.n();
  diagnosis.rows = raw.panel.rows();
  diagnosis.from = raw.panel.dates.front();
  diagnosis.to = raw.panel.dates.back();
  count_missing(raw.panel, diagnosis);
  if (const std::string doubt = market::doubt_of_kind(raw); !doubt.empty())
    diagnosis.warnings.push_back(doubt);
  diagnosis.cleaned = market::cleaned(raw, diagnosis.settings);
  return diagnosis;
}

}  // namespace sharpen::command
