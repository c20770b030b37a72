// The diagnosis of a panel, from a file or from memory.
#include "sharpen/command/doctor.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/command/output_folder.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::command {

namespace {

void count_missing(const market::Panel& panel, Diagnosis& diagnosis) {
  std::vector<char> whole(panel.tickers.size(), 1);
  for (Index t = 0; t < panel.rows(); ++t)
    for (Index j = 0; j < panel.n(); ++j)
      if (std::isnan(panel.matrix()(t, j))) {
        ++diagnosis.missing_cells;
        whole[at(j)] = 0;
      }
  for (const char asset : whole) diagnosis.complete_assets += asset;
}

// What the reader of a file refuses, of a panel in memory.
void check(const market::RawPanel& raw) {
  const double least = market::least_value(raw.kind, market::Cells::raw);
  for (const double value : raw.panel.values)
    if (value < least) {
      const market::KindFault fault = market::below_least(raw.kind);
      throw InputError(
          fmt::format("{}: {} {}; {}", raw.file, shortest(value), fault.what, fault.remedy));
    }
  market::check_kind(raw.panel.values, raw.kind, raw.file);
}

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

void write_cleaned(const std::string& file, Diagnosis& diagnosis) {
  const market::Panel& panel = diagnosis.cleaned.panel;
  if (panel.n() == 0 || panel.rows() == 0)
    throw InputError(
        fmt::format("there is nothing to write to {}: cleaning leaves no {}; give "
                    "‹--universe available›, a larger ‹--max-gap› or other dates",
                    file, panel.n() == 0 ? "asset" : "row"));
  market::write_panel(panel, file);
  diagnosis.out = file;
}

}  // namespace

Diagnosis doctor_answer(const settings::Values& values, std::optional<market::MemoryPanel> panel,
                        const Log& log) {
  market::check_panel_settings(values);
  keep_inputs(values, {"out"});
  if (panel) check(panel->raw);
  Diagnosis diagnosis = diagnose(values, market::raw_panel(values, std::move(panel), log));
  if (values.has("out")) write_cleaned(values.text("out"), diagnosis);
  return diagnosis;
}

}  // namespace sharpen::command
