// The answer of `sharpen doctor --json`; docs/json.md lists every key.
#include "command/json_text.hpp"
#include "sharpen/command/doctor.hpp"

namespace sharpen::command {

namespace {

Json finding_json(const market::Finding& finding, const market::CleaningSettings& settings) {
  using enum market::OnSuspect;
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json() : Json(text);
  };
  Json out;
  out["rule"] = market::name(finding.rule);
  out["suspect"] = market::is_suspect(finding.rule);
  out["ticker"] = text_or_null(finding.ticker);
  out["date"] = finding.first_date;
  out["last_date"] = finding.last_date;
  out["size"] = finding.size;
  out["ratio"] = finding.ratio > 0 ? Json(finding.ratio) : Json();
  out["may_be_real"] = finding.may_be_real;
  out["question"] = text_or_null(finding.question);
  out["done"] = finding.done;
  if (market::is_suspect(finding.rule)) {
    out["modes"]["report"] = market::would_do(finding, report, settings);
    out["modes"]["adjust"] = market::would_do(finding, adjust, settings);
    out["modes"]["drop-asset"] = market::would_do(finding, drop_asset, settings);
    out["modes"]["drop-day"] = market::would_do(finding, drop_day, settings);
    out["modes"]["error"] = market::would_do(finding, error, settings);
  }
  return out;
}

Json cleaned_json(const Diagnosis& diagnosis) {
  const market::Cleaned& cleaned = diagnosis.cleaned;
  Json out;
  out["assets"] = cleaned.panel.n();
  out["rows"] = cleaned.panel.rows();
  out["from"] = cleaned.panel.dates.empty() ? Json() : Json(cleaned.panel.dates.front());
  out["to"] = cleaned.panel.dates.empty() ? Json() : Json(cleaned.panel.dates.back());
  out["dropped"] = Json::array();
  for (const market::Dropped& dropped : cleaned.dropped) {
    Json asset;
    asset["ticker"] = dropped.ticker;
    asset["reason"] = dropped.reason;
    out["dropped"].push_back(std::move(asset));
  }
  out["dropped_days"] = cleaned.dropped_days;
  return out;
}

}  // namespace

std::string diagnosis_json(const Diagnosis& diagnosis) {
  Json out;
  out["schema_version"] = kSchemaVersion;
  out["command"] = "doctor";
  out["file"] = diagnosis.file;
  out["kind"] = market::name(diagnosis.settings.kind);
  out["assets"] = diagnosis.assets;
  out["rows"] = diagnosis.rows;
  out["from"] = diagnosis.from;
  out["to"] = diagnosis.to;
  out["complete_assets"] = diagnosis.complete_assets;
  out["missing_cells"] = diagnosis.missing_cells;
  out["suspects"] = diagnosis.cleaned.suspects();
  out["decided_with_hindsight"] = true;
  out["findings"] = Json::array();
  for (const market::Finding& finding : diagnosis.cleaned.findings)
    out["findings"].push_back(finding_json(finding, diagnosis.settings));
  out["universe"] = market::name(diagnosis.settings.universe);
  out["max_gap"] = diagnosis.settings.max_gap;
  out["on_suspect"] = market::name(diagnosis.settings.on_suspect);
  out["cleaned"] = cleaned_json(diagnosis);
  out["out"] = diagnosis.out.empty() ? Json() : Json(diagnosis.out);
  out["warnings"] = diagnosis.warnings;
  return json_text(out);
}

}  // namespace sharpen::command
