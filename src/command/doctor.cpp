// The diagnosis of a panel, from a file or from memory.
#include "sharpen/command/doctor.hpp"

#include <fmt/format.h>

#include <cmath>

#include "command/json_keys.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
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

// A finding, and the settings that say what is done about it.
struct Found {
  const market::Finding* finding;
  const market::CleaningSettings* settings;
};

std::vector<Found> found(const Diagnosis& diagnosis) {
  std::vector<Found> out;
  for (const market::Finding& finding : diagnosis.cleaned.findings)
    out.push_back({&finding, &diagnosis.settings});
  return out;
}

bool is_suspect(const Found& found) { return market::is_suspect(found.finding->rule); }

Keys<Found> finding_keys() {
  const auto mode = [](market::OnSuspect handling) {
    return [handling](const Found& found) {
      return market::would_do(*found.finding, handling, *found.settings);
    };
  };
  using enum market::OnSuspect;
  return {
      {"rule",
       "suspects: `nonpositive`, `print`, `split`, `jump`, `frozen`, `holiday`; missing values: "
       "`gap`, `starts`, `ends`, `no-value` ([cleaning.md](cleaning.md))",
       [](auto& f) { return market::name(f.finding->rule); }},
      {"suspect", "whether `--on-suspect` handles it; else `--universe` and `--max-gap` do",
       is_suspect},
      {"ticker", "the asset; `null` for a row of the whole panel",
       [](auto& f) { return text_or_null(f.finding->ticker); }},
      {"date", "first and last date; the same for one row",
       [](auto& f) { return f.finding->first_date; }},
      {"last_date", "", [](auto& f) { return f.finding->last_date; }},
      {"size",
       "`print`, `split`, `jump`: the price divided by the one before; `nonpositive`: the value; "
       "`holiday`: the share of assets that move; `frozen` and missing values: the number of rows",
       [](auto& f) { return f.finding->size; }},
      {"ratio",
       "`split`: the whole ratio m, of prices divided (`size` < 1) or multiplied by it; else "
       "`null`",
       [](auto& f) { return f.finding->ratio > 0 ? Json(f.finding->ratio) : Json(nullptr); }},
      {"may_be_real",
       "whether the asset or the market was restless around that row, so that it may be a real "
       "move",
       [](auto& f) { return f.finding->may_be_real; }},
      {"question", "what a suspect may be, in words; `null` for missing values",
       [](auto& f) { return text_or_null(f.finding->question); }},
      {"done", "what was done about it", [](auto& f) { return f.finding->done; }},
      group<Found>("modes", "only for suspects: what each `--on-suspect` would do, in words",
                   {{"report", "one text for each", mode(report)},
                    {"adjust", "", mode(adjust)},
                    {"drop-asset", "", mode(drop_asset)},
                    {"drop-day", "", mode(drop_day)},
                    {"error", "", mode(error)}},
                   0, is_suspect),
  };
}

Keys<Diagnosis> cleaned_keys() {
  const auto end = [](auto date) {
    return [date](const Diagnosis& d) {
      const auto& dates = d.cleaned.panel.dates;
      return dates.empty() ? Json(nullptr) : Json(date(dates));
    };
  };
  const Keys<market::Dropped> dropped = {{"ticker", "which, and why", &market::Dropped::ticker},
                                         {"reason", "", &market::Dropped::reason}};
  return {
      {"assets", "size of the cleaned panel", [](auto& d) { return d.cleaned.panel.n(); }},
      {"rows", "", [](auto& d) { return d.cleaned.panel.rows(); }},
      {"from", "its first and last date; `null` if it has no rows",
       end([](auto& dates) { return dates.front(); })},
      {"to", "", end([](auto& dates) { return dates.back(); })},
      list<Diagnosis>(
          "dropped", "assets left out, in the order of the columns", dropped,
          [](auto& d) -> auto& { return d.cleaned.dropped; }),
      {"dropped_days", "dates left out", [](auto& d) { return d.cleaned.dropped_days; }},
  };
}

Keys<Diagnosis> doctor_keys() {
  return answer_keys<Diagnosis>(
      "doctor", "`doctor`",
      {{{"file", "the panel's file", &Diagnosis::file},
        {"kind", "`prices`, `returns` or `gross returns`",
         [](auto& d) { return market::name(d.settings.kind); }},
        {"assets", "size of the panel, after `--from`, `--to` and `--tickers`", &Diagnosis::assets},
        {"rows", "", &Diagnosis::rows},
        {"from", "its first and last date", &Diagnosis::from},
        {"to", "", &Diagnosis::to},
        {"complete_assets", "assets without a missing cell", &Diagnosis::complete_assets},
        {"missing_cells", "cells without a value", &Diagnosis::missing_cells},
        {"suspects", "number of findings that are suspects",
         [](auto& d) { return d.cleaned.suspects(); }},
        {"decided_with_hindsight", "`true`: cleaning looks at the whole panel at once",
         [](auto&) { return true; }},
        list<Diagnosis>("findings",
                        "what was found: by asset, in the order of the columns, then rows of the "
                        "whole panel",
                        finding_keys(), found),
        {"findings_left_out", kLeftOutMeaning,
         [](auto& d) { return object_of(d.cleaned.left_out()); }},
        {"universe", "the settings used",
         [](auto& d) { return market::name(d.settings.universe); }},
        {"max_gap", "", [](auto& d) { return d.settings.max_gap; }},
        {"on_suspect", "", [](auto& d) { return market::name(d.settings.on_suspect); }},
        group<Diagnosis>("cleaned", "", cleaned_keys(), kNoTable),
        {"out", "the file the cleaned panel was written to; `null` if none",
         [](auto& d) { return text_or_null(d.out); }},
        {"warnings", kWarningsMeaning, &Diagnosis::warnings}}});
}

}  // namespace

Diagnosis doctor_answer(const settings::Values& values, std::optional<market::MemoryPanel> panel,
                        const Log& log) {
  market::check_panel_settings(values);
  keep_inputs(values, {"out"});
  if (values.has("out")) check_writable(values.text("out"));
  if (panel) check(panel->raw);
  Diagnosis diagnosis = diagnose(values, market::raw_panel(values, std::move(panel), log));
  if (values.has("out")) write_cleaned(values.text("out"), diagnosis);
  return diagnosis;
}

std::string doctor_json(const Diagnosis& diagnosis) { return json_text<doctor_keys>(diagnosis); }

Section doctor_section() { return {"doctor", {""}, listed(doctor_keys())}; }

}  // namespace sharpen::command
