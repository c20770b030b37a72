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

Diagnosis diagnose(const Values& values) {
  const Log log = stderr_log(values.text("log-level"));
  const market::RawPanel raw = market::read_raw_panel(values, log);
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
                    "--universe available, a larger --max-gap or other dates",
                    file, panel.n() == 0 ? "asset" : "row"));
  market::write_panel(panel, file);
  diagnosis.out = file;
}

}  // namespace

void doctor(const Values& values) {
  market::check_panel_settings(values);
  if (values.flag("print-config")) return print(values.to_toml());
  keep_inputs(values, {"out"});
  Diagnosis diagnosis = diagnose(values);
  if (values.has("out")) write_cleaned(values.text("out"), diagnosis);
  print(values.flag("json") ? diagnosis_json(diagnosis) : diagnosis_text(diagnosis));
}

}  // namespace sharpen::app
