#include "doctor.hpp"

#include <fmt/format.h>

#include <cmath>

#include "output.hpp"
#include "sharpen/base/error.hpp"
#include "stderr_log.hpp"

namespace sharpen::app {

namespace {

using settings::Values;

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

// Returns pass for prices cell by cell. Simple returns are negative half the time; gross returns
// lie around 1 and jump about there, while prices move little from row to row.
void suspect_returns(const market::Panel& panel, Diagnosis& diagnosis) {
  double cells = 0, not_positive = 0, near_one = 0, spread = 0, moves = 0;
  for (Index t = 1; t < panel.rows(); ++t)
    for (Index j = 0; j < panel.n(); ++j) {
      const double p = panel.matrix()(t, j), before = panel.matrix()(t - 1, j);
      if (std::isnan(p) || std::isnan(before)) continue;
      ++cells;
      not_positive += p <= 0 ? 1 : 0;
      near_one += p > 0.2 && p < 5.0 ? 1 : 0;
      spread += std::abs(p - 1.0);
      moves += std::abs(p - before);
    }
  if (cells < 10) return;
  if (not_positive > 0.1 * cells)
    diagnosis.warnings.emplace_back("the values look like returns: give --returns FILE");
  else if (near_one > 0.99 * cells && moves > spread)
    diagnosis.warnings.emplace_back(
        "the values look like gross returns 1 + r: give --returns FILE --gross");
}

Diagnosis diagnose(const Values& values) {
  const Log log = stderr_log(values.text("log-level"));
  const RawPanel raw = read_raw_panel(values, log);
  Diagnosis diagnosis;
  diagnosis.file = raw.file;
  diagnosis.settings = cleaning_settings(values, raw.kind);
  diagnosis.assets = raw.panel.n();
  diagnosis.rows = raw.panel.rows();
  diagnosis.from = raw.panel.dates.front();
  diagnosis.to = raw.panel.dates.back();
  count_missing(raw.panel, diagnosis);
  if (raw.kind == market::PanelKind::prices) suspect_returns(raw.panel, diagnosis);
  diagnosis.cleaned = cleaned(raw, diagnosis.settings);
  return diagnosis;
}

void write_cleaned(const std::string& file, Diagnosis& diagnosis) {
  const market::Panel& panel = diagnosis.cleaned.panel;
  if (panel.n() == 0 || panel.rows() == 0)
    throw InputError(
        fmt::format("there is nothing to write to {}: cleaning leaves no {}; give "
                    "--universe available, a larger --max-gap or other dates",
                    file, panel.n() == 0 ? "asset" : "row"));
  market::write_panel(panel, file);
  diagnosis.out = file;
}

}  // namespace

void doctor(const Values& values) {
  if (values.flag("print-config")) return print(values.to_toml());
  Diagnosis diagnosis = diagnose(values);
  if (values.has("out")) write_cleaned(values.text("out"), diagnosis);
  print(values.flag("json") ? diagnosis_json(diagnosis) : diagnosis_text(diagnosis));
}

}  // namespace sharpen::app
