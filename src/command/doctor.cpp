// The diagnosis of a panel, from a file or from memory.
#include "sharpen/command/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

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
  diagnosis.tickers = raw.panel.tickers;
  market::Examined examined = market::examined(raw, diagnosis.settings);
  diagnosis.cleaned = std::move(examined.cleaned);
  diagnosis.choices = std::move(examined.choices);
  diagnosis.ranges = std::move(examined.ranges);
  diagnosis.details = values.flag("details");
  return diagnosis;
}

// A file that is there may hold what somebody has decided: it is only added to.
void check_decide(const settings::Values& values) {
  const std::string& file = values.text("decide");
  const bool adds = values.has("decisions") && is_same_file(values.text("decisions"), file);
  std::error_code ignored;
  const auto plain = [](const std::string& name) {
    return std::filesystem::path(name).lexically_normal();
  };
  if (values.has("out") && plain(values.text("out")) == plain(file))
    throw InputError(fmt::format("{} and {} are the same file; give one another name",
                                 values.given_as("out"), values.given_as("decide")));
  if (!adds && std::filesystem::is_regular_file(file, ignored))
    throw InputError(fmt::format(
        "{} = {} is there already, and may hold decisions of yours; give it as ‹--decisions› too, "
        "which keeps them and adds what is new, or choose another name",
        values.given_as("decide"), shown_file(file)));
  check_writable(file);
}

void write_decisions(const settings::Values& values, const market::RawPanel& raw,
                     Diagnosis& diagnosis) {
  const std::string before = diagnosis.settings.decisions.empty()
                                 ? std::string()
                                 : market::decisions_text(diagnosis.settings.decisions);
  const market::Proposal proposal =
      market::propose(raw.panel, raw.file, diagnosis.cleaned, diagnosis.settings, before);
  diagnosis.decide = values.text("decide");
  diagnosis.proposed = proposal.decisions;
  write_file(diagnosis.decide, proposal.text);
}

void write_cleaned(const std::string& file, Diagnosis& diagnosis) {
  const market::Panel& panel = diagnosis.cleaned.panel;
  if (panel.n() == 0 || panel.rows() == 0)
    throw InputError(
        fmt::format("there is nothing to write to {}: cleaning leaves no {}; give "
                    "‹--universe available›, a larger ‹--max-gap› or other dates",
                    file, panel.n() == 0 ? "asset" : "row"));
  market::refuse_loss(diagnosis.cleaned, diagnosis.settings);
  market::refuse_nonpositive(diagnosis.cleaned, diagnosis.settings);
  market::write_panel(market::as_written(diagnosis.cleaned), file);
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
      {"how",
       "only for suspects: `report`, `adjust`, `missing`, `halt`, `drop-asset`, `drop-day`, and "
       "whether a decision says so",
       [](auto& f) { return is_suspect(f) ? Json(market::name(f.finding->how)) : absent(); }},
      {"decided", "", [](auto& f) { return is_suspect(f) ? Json(f.finding->decided) : absent(); }},
      group<Found>("modes", "only for suspects: what each `--on-suspect` would do, in words",
                   {{"report", "one text for each", mode(report)},
                    {"adjust", "", mode(adjust)},
                    {"missing", "", mode(missing)},
                    {"halt", "", mode(halt)},
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
      {"lost_rows_percent",
       "what was taken out: of the rows, and of the names that the universe keeps; beyond "
       "`allow_loss` other commands refuse the panel",
       [](auto& d) { return d.cleaned.lost_rows(); }},
      {"lost_names_percent", "", [](auto& d) { return d.cleaned.lost_names(); }},
      {"halts", "stretches in which an asset cannot be traded, of all assets together",
       [](auto& d) { return d.cleaned.halts.runs.size(); }},
  };
}

struct RuleFound {
  market::Rule rule;
  const market::RuleCount* count;
};

std::vector<RuleFound> rules_found(const Diagnosis& diagnosis) {
  std::vector<RuleFound> out;
  for (std::size_t i = 0; i < market::kRules; ++i)
    if (diagnosis.cleaned.found[i].found > 0)
      out.push_back({static_cast<market::Rule>(i), &diagnosis.cleaned.found[i]});
  return out;
}

Keys<RuleFound> found_rule_keys() {
  return {
      {"rule", "of each rule that found something", [](auto& r) { return market::name(r.rule); }},
      {"found", "findings, assets that have some, and rows of all assets together",
       [](auto& r) { return r.count->found; }},
      {"assets", "",
       [](auto& r) { return r.rule == market::Rule::holiday ? Index{0} : r.count->assets; }},
      {"rows", "", [](auto& r) { return r.count->rows; }},
      {"worst_ticker", "the largest move, or the longest run",
       [](auto& r) { return text_or_null(r.count->worst.ticker); }},
      {"worst_date", "", [](auto& r) { return r.count->worst.first_date; }},
      {"worst_size", "", [](auto& r) { return r.count->worst.size; }},
      {"handled", "how many are handled in which way, of assets that stay",
       [](auto& r) {
         std::vector<std::pair<std::string_view, Index>> ways;
         for (std::size_t how = 0; how < r.count->handled.size(); ++how)
           if (r.count->handled[how] > 0)
             ways.emplace_back(market::name(static_cast<market::OnSuspect>(how)),
                               r.count->handled[how]);
         return object_of(ways);
       }},
      {"undecided", "with `--decisions`: how many have none",
       [](auto& r) { return r.count->undecided; }},
  };
}

struct AssetSuspects {
  std::string ticker;
  Index suspects;
};

std::vector<AssetSuspects> most_suspects(const Diagnosis& diagnosis) {
  std::vector<AssetSuspects> out;
  for (const auto& [column, count] : diagnosis.worst_assets(10))
    out.push_back({diagnosis.tickers[at(column)], count});
  return out;
}

Keys<Diagnosis> diagnosis_summary_keys() {
  const Keys<AssetSuspects> assets = {{"ticker", "which, and how many", &AssetSuspects::ticker},
                                      {"suspects", "", &AssetSuspects::suspects}};
  const Keys<market::Choice> choices = {
      {"on_suspect", "which, and how many names and rows", &market::Choice::on_suspect},
      {"names", "", &market::Choice::names},
      {"rows", "", &market::Choice::rows}};
  const Keys<market::DateRange> ranges = {
      {"from", "first and last date, and how many names and rows", &market::DateRange::from},
      {"to", "", &market::DateRange::to},
      {"names", "", &market::DateRange::names},
      {"rows", "", &market::DateRange::rows}};
  return {list<Diagnosis>("rules", "what there is of each rule", found_rule_keys(), rules_found),
          list<Diagnosis>("worst_assets", "assets with the most suspects, ten at most", assets,
                          most_suspects),
          list<Diagnosis>("choices", "what each `--on-suspect` would leave", choices,
                          &Diagnosis::choices),
          list<Diagnosis>("date_ranges",
                          "all dates, then those that keep more names complete: with the most "
                          "prices, and with the most names on at least half of the rows",
                          ranges, &Diagnosis::ranges)};
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
        group<Diagnosis>("summary", "", diagnosis_summary_keys(), kNoTable),
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
        {"allow_loss", "", [](auto& d) { return d.settings.allow_loss.percent; }},
        {"unused_decisions", "decisions that found nothing to act on, from 0",
         [](auto& d) { return d.cleaned.unused; }},
        {"decide",
         "the file that decisions were proposed in, and how many are new there; `null` "
         "if none",
         [](auto& d) { return text_or_null(d.decide); }},
        {"proposed", "", [](auto& d) { return d.proposed; }},
        group<Diagnosis>("cleaned", "", cleaned_keys(), kNoTable),
        {"out", "the file the cleaned panel was written to; `null` if none",
         [](auto& d) { return text_or_null(d.out); }},
        {"warnings", kWarningsMeaning, [](auto& d) {
           std::vector<std::string> all = d.warnings;
           for (const std::string& line : market::decision_notes(d.cleaned))
             all.push_back(plain(line));
           return all;
         }}}});
}

}  // namespace

std::vector<std::pair<Index, Index>> Diagnosis::worst_assets(std::size_t most) const {
  std::vector<std::pair<Index, Index>> all;
  for (std::size_t j = 0; j < cleaned.suspects_of.size(); ++j)
    if (cleaned.suspects_of[j] > 0) all.emplace_back(static_cast<Index>(j), cleaned.suspects_of[j]);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (all.size() > most) all.resize(most);
  return all;
}

Diagnosis doctor_answer(const settings::Values& values, std::optional<market::MemoryPanel> panel,
                        const Log& log) {
  market::check_panel_settings(values);
  keep_inputs(values, {"out"});
  if (values.has("out")) check_writable(values.text("out"));
  if (values.has("decide")) check_decide(values);
  if (panel) check(panel->raw);
  const market::RawPanel raw = market::raw_panel(values, std::move(panel), log);
  Diagnosis diagnosis = diagnose(values, raw);
  if (values.has("out")) write_cleaned(values.text("out"), diagnosis);
  if (values.has("decide")) write_decisions(values, raw, diagnosis);
  return diagnosis;
}

std::string doctor_json(const Diagnosis& diagnosis) { return json_text<doctor_keys>(diagnosis); }

Section doctor_section() { return {"doctor", {""}, listed(doctor_keys())}; }

}  // namespace sharpen::command
