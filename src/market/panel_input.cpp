#include "sharpen/market/panel_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::market {

namespace {

using settings::Values;

PanelSettings panel_settings(const Values& values) {
  PanelSettings panel;
  settings::fill(values, panel);
  return panel;
}

PanelKind kind_of(const PanelSettings& panel) {
  using enum PanelKind;
  if (panel.prices.empty() && panel.returns.empty())
    throw InputError("no panel given; give ‹--prices FILE› or ‹--returns FILE›");
  if (panel.returns.empty()) return prices;
  return panel.gross ? gross_returns : returns;
}

void refuse_empty(const PanelInput& input) {
  const Panel& panel = input.cleaning.panel;
  if (panel.n() > 0 && panel.rows() > 0) return;
  const auto& dropped = input.cleaning.dropped;
  const std::string example =
      dropped.empty() ? std::string()
                      : fmt::format(" (for example {}: {})", printable(dropped.front().ticker, 24),
                                    dropped.front().reason);
  throw InputError(
      fmt::format("cleaning leaves no {}{}; give other dates, ‹--universe available›, a larger "
                  "‹--max-gap› or another ‹--on-suspect›: ‹sharpen doctor› shows what each does",
                  panel.n() == 0 ? "asset" : "row", example));
}

// Prices have a row more than their returns: the first.
Halts halts_of_returns(const Cleaned& cleaning, PanelKind kind) {
  Halts out = cleaning.halts;
  if (kind != PanelKind::prices) return out;
  for (Halt& halt : out.runs) {
    halt.first = std::max<Index>(0, halt.first - 1);
    --halt.last;
  }
  std::erase_if(out.runs, [](const Halt& halt) { return halt.last < 0; });
  return out;
}

constexpr std::string_view kLikeReturns = "the values look like returns";

// Days since 1970 of YYYY-MM-DD or YYYY-MM, as a panel holds them.
double day_of(const std::string& date) {
  const auto part = [&](std::size_t at, std::size_t length) {
    return date.size() < at + length ? 1 : std::atoi(date.substr(at, length).c_str());
  };
  const std::chrono::year_month_day day(std::chrono::year(part(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(part(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(part(8, 2))));
  return static_cast<double>(std::chrono::sys_days(day).time_since_epoch().count());
}

// Months annualised as days make every figure a year wrong by a factor. Twice is more than
// holidays, weekends or a market open on all days of the week explain (365 against 252).
void doubt_periods(const Values& values, const Panel& returns, std::vector<std::string>& warnings) {
  constexpr Index kFewest = 10;
  if (!values.takes("periods-per-year") || returns.rows() < kFewest) return;
  const double days = day_of(returns.dates.back()) - day_of(returns.dates.front());
  const double a_year = 365.25 * static_cast<double>(returns.rows() - 1) / days;
  const double given = values.real("periods-per-year");
  if (!(days > 0.0) || (a_year < 2.0 * given && given < 2.0 * a_year)) return;
  double usual = 252.0;
  for (const double periods : {52.0, 12.0, 4.0, 1.0})
    if (std::abs(std::log(periods / a_year)) < std::abs(std::log(usual / a_year))) usual = periods;
  warnings.push_back(fmt::format(
      "there are about {:.3g} periods a year by the dates, and ‹periods-per-year› is {}: figures a "
      "year are wrong unless that is meant; for such dates give ‹--periods-per-year {}›",
      a_year, shortest(given), shortest(usual)));
}

// Rows of weekends, say, that stay in the panel count as periods of a year.
void doubt_holidays(const Values& values, const Cleaned& cleaning,
                    std::vector<std::string>& warnings) {
  constexpr double kMany = 0.1;
  if (!values.takes("periods-per-year")) return;
  const RuleCount& holidays = cleaning.found[index_of(Rule::holiday)];
  const Index stay =
      holidays.found - holidays.handled[static_cast<std::size_t>(OnSuspect::drop_day)];
  const auto rows = static_cast<double>(cleaning.panel.rows());
  if (!(static_cast<double>(stay) > kMany * rows)) return;
  warnings.push_back(fmt::format(
      "{} of {} rows are days on which hardly anybody trades, such as weekends, and stay: with "
      "‹periods-per-year› = {} figures a year count them as trading days; leave them out "
      "(‹--on-suspect holiday=drop-day› ‹--allow-loss {:.0f}%›, or drop-day as the decision), or "
      "give the rows of a year as ‹--periods-per-year›",
      stay, cleaning.panel.rows(), shortest(values.real("periods-per-year")),
      std::ceil(100.0 * static_cast<double>(holidays.found) /
                (rows + static_cast<double>(cleaning.dropped_days.size())))));
}

// "FILE: ", or nothing for a panel from memory.
std::string file_prefix(const std::string& file) {
  return file.empty() ? std::string() : shown_file(file) + ": ";
}

// What is wrong with a panel is wrong with its file.
template <class Work>
auto in_file(const std::string& file, const Work& work) {
  try {
    return work();
  } catch (const InputError& error) {
    throw InputError(file_prefix(file) + error.marked());
  }
}

// What the reader of a file refuses: no file that we write could hold it.
void check_labels(const RawPanel& raw) {
  const std::vector<std::string>& tickers = raw.panel.tickers;
  for (std::size_t j = 0; j < tickers.size(); ++j)
    if (tickers[j].empty() || !is_plain_text(tickers[j]))
      throw InputError(
          fmt::format("{}: the label {} of column {} is empty, holds control characters or is not "
                      "UTF-8; give the column another name",
                      raw.file, shown(tickers[j]), j));
}

// What a reader refuses cell by cell, and by the whole.
void check_cells(const RawPanel& raw) {
  const ConstMat cells = raw.panel.matrix();
  const double least = least_value(raw.kind, Cells::raw);
  for (Index t = 0; t < cells.rows; ++t)
    for (Index j = 0; j < cells.cols; ++j) {
      const double value = cells(t, j);
      if (std::isnan(value) || (std::isfinite(value) && value >= least)) continue;
      const KindFault fault = std::isinf(value)
                                  ? KindFault{"is not a number", "leave it out, or correct it"}
                                  : below_least(raw.kind);
      throw InputError(fmt::format("{}{} {} ({}, column {}); {}", file_prefix(raw.file),
                                   shortest(value), fault.what, printable(raw.panel.dates[at(t)]),
                                   printable(raw.panel.tickers[at(j)]), fault.remedy));
    }
  check_kind(raw.panel.values, raw.kind, raw.file);
}

}  // namespace

void check_panel_settings(const Values& values) {
  const PanelSettings panel = panel_settings(values);
  cleaning_settings(values, PanelKind::prices).validate();
  if (!panel.prices.empty() && !panel.returns.empty())
    throw InputError(fmt::format(
        "{} and {} cannot go together; give one of ‹--prices FILE› and ‹--returns FILE›",
        values.given_as("prices"), values.given_as("returns")));
  if (panel.returns.empty() && panel.gross)
    throw InputError(
        fmt::format("{} has no meaning here; it goes with ‹--returns›", values.given_as("gross")));
  check_dates(panel.from, panel.to);
}

// Returns pass for prices cell by cell. Simple returns are negative half the time; gross returns
// lie around 1 and jump about there, while prices move little from row to row.
std::string doubt_of_kind(const RawPanel& raw) {
  if (raw.kind != PanelKind::prices) return {};
  double cells = 0, not_positive = 0, near_one = 0, spread = 0, moves = 0;
  const ConstMat values = raw.panel.matrix();
  for (Index t = 1; t < values.rows; ++t)
    for (Index j = 0; j < values.cols; ++j) {
      const double p = values(t, j), before = values(t - 1, j);
      if (std::isnan(p) || std::isnan(before)) continue;
      ++cells;
      not_positive += p <= 0 ? 1 : 0;
      near_one += p > 0.2 && p < 5.0 ? 1 : 0;
      spread += std::abs(p - 1.0);
      moves += std::abs(p - before);
    }
  if (cells < 10) return {};
  if (not_positive > 0.1 * cells) return fmt::format("{}: give ‹--returns FILE›", kLikeReturns);
  if (near_one > 0.99 * cells && moves > spread)
    return "the values look like gross returns 1 + r: give ‹--returns FILE› ‹--gross›";
  return {};
}

void cut_panel(const Values& values, RawPanel& raw) {
  const PanelSettings panel = panel_settings(values);
  // Before the cut: what lies outside it is not unknown.
  raw.decisions = read_decisions(cleaning_settings(values, raw.kind).decisions);
  raw.decisions.absent = check_known(raw.decisions, raw.panel);
  if (panel.from || panel.to)
    raw.panel = in_file(raw.file, [&] { return select_dates(raw.panel, panel.from, panel.to); });
  if (!panel.tickers.empty())
    raw.panel = in_file(raw.file, [&] { return select_tickers(raw.panel, panel.tickers); });
  if (!panel.exclude.empty())
    raw.panel = in_file(raw.file, [&] { return exclude_tickers(raw.panel, panel.exclude); });
}

RawPanel read_whole_panel(const Values& values, const Log& log) {
  check_panel_settings(values);
  const PanelSettings panel = panel_settings(values);
  RawPanel raw;
  raw.kind = kind_of(panel);
  raw.file = raw.kind == PanelKind::prices ? panel.prices : panel.returns;
  raw.panel = read_panel(raw.file, raw.kind, Cells::raw);
  log.info(fmt::format("panel of {} rows and {} assets, {} to {}", raw.panel.rows(), raw.panel.n(),
                       raw.panel.dates.front(), raw.panel.dates.back()));
  return raw;
}

RawPanel read_raw_panel(const Values& values, const Log& log) {
  RawPanel raw = read_whole_panel(values, log);
  cut_panel(values, raw);
  return raw;
}

CleaningSettings cleaning_settings(const Values& values, PanelKind kind) {
  CleaningSettings out;
  settings::fill(values, out);
  out.kind = kind;
  return out;
}

Cleaned cleaned(const RawPanel& raw, const CleaningSettings& settings) {
  return in_file(raw.file, [&] { return clean(raw.panel, settings, raw.decisions); });
}

Examined examined(const RawPanel& raw, const CleaningSettings& settings) {
  return in_file(raw.file, [&] { return examine(raw.panel, settings, raw.decisions); });
}

PanelInput read_panel_input(const Values& values, const Log& log) {
  PanelInput input = clean_panel_input(values, read_raw_panel(values, log));
  doubt_periods(values, input.returns, input.warnings);
  return input;
}

PanelInput panel_input(const Values& values, std::optional<MemoryPanel> panel, const Log& log) {
  if (!panel) return read_panel_input(values, log);
  check_labels(panel->raw);
  check_cells(panel->raw);
  cut_panel(values, panel->raw);
  PanelInput input = clean_panel_input(values, std::move(panel->raw));
  if (panel->dated) doubt_periods(values, input.returns, input.warnings);
  return input;
}

RawPanel raw_panel(const Values& values, std::optional<MemoryPanel> panel, const Log& log) {
  if (!panel) return read_raw_panel(values, log);
  check_labels(panel->raw);
  cut_panel(values, panel->raw);
  return std::move(panel->raw);
}

PanelInput clean_panel_input(const Values& values, RawPanel raw) {
  PanelInput input;
  input.file = raw.file;
  input.settings = cleaning_settings(values, raw.kind);
  const std::string doubt = doubt_of_kind(raw);
  // Prices like these have no returns; the first of them would be refused in less helpful words.
  const std::optional<OnSuspect> negative =
      input.settings.on_suspect.said[index_of(Rule::nonpositive)];
  if (doubt.starts_with(kLikeReturns) && (!negative || negative == OnSuspect::report))
    throw InputError(file_prefix(raw.file) + doubt);
  input.cleaning = cleaned(raw, input.settings);
  raw.panel = {};
  input.warnings = summary(input.cleaning, input.settings);
  if (!doubt.empty()) input.warnings.push_back(doubt);
  doubt_holidays(values, input.cleaning, input.warnings);
  input.returns = in_file(input.file, [&] {
    refuse_empty(input);
    refuse_loss(input.cleaning, input.settings);
    refuse_nonpositive(input.cleaning, input.settings);
    return simple_returns(input.cleaning.panel, input.settings.kind);
  });
  input.halts = halts_of_returns(input.cleaning, input.settings.kind);
  return input;
}

}  // namespace sharpen::market
