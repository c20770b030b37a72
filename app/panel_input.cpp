#include "panel_input.hpp"

#include <fmt/format.h>

#include <optional>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::app {

namespace {

using settings::Values;

std::optional<std::string> optional_text(const Values& values, std::string_view name) {
  if (!values.has(name)) return std::nullopt;
  return values.text(name);
}

market::PanelKind kind_of(const Values& values) {
  using enum market::PanelKind;
  if (values.has("prices") && values.has("returns"))
    throw InputError(
        fmt::format("{} and {} cannot go together; give one of --prices FILE and "
                    "--returns FILE",
                    values.given_as("prices"), values.given_as("returns")));
  if (!values.has("prices") && !values.has("returns"))
    throw InputError("no panel given; give --prices FILE or --returns FILE");
  if (values.has("returns")) return values.flag("gross") ? gross_returns : returns;
  if (values.flag("gross"))
    throw InputError(
        fmt::format("{} has no meaning here; it goes with --returns", values.given_as("gross")));
  return prices;
}

market::OnSuspect mode_of(const std::string& text) {
  using enum market::OnSuspect;
  for (const market::OnSuspect mode : {report, adjust, drop_asset, drop_day, error})
    if (market::name(mode) == text) return mode;
  return report;
}

void refuse_empty(const PanelInput& input) {
  const market::Panel& panel = input.cleaning.panel;
  if (panel.n() > 0 && panel.rows() > 0) return;
  const auto& dropped = input.cleaning.dropped;
  const std::string example =
      dropped.empty() ? std::string()
                      : fmt::format(" (for example {}: {})", printable(dropped.front().ticker, 24),
                                    dropped.front().reason);
  throw InputError(fmt::format(
      "cleaning leaves no {}{}; give other dates, --universe available, a larger --max-gap or "
      "another --on-suspect: sharpen doctor shows what each does",
      panel.n() == 0 ? "asset" : "row", example));
}

// What is wrong with a panel is wrong with its file.
template <class Work>
auto in_file(const std::string& file, const Work& work) {
  try {
    return work();
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", printable(file, 4 * file.size()), error.what()));
  }
}

}  // namespace

RawPanel read_raw_panel(const Values& values, const Log& log) {
  RawPanel raw;
  raw.kind = kind_of(values);
  raw.file = values.text(raw.kind == market::PanelKind::prices ? "prices" : "returns");
  raw.panel = market::read_panel(raw.file, raw.kind, market::Cells::raw);
  log.info(fmt::format("panel of {} rows and {} assets, {} to {}", raw.panel.rows(), raw.panel.n(),
                       raw.panel.dates.front(), raw.panel.dates.back()));
  if (values.has("from") || values.has("to"))
    raw.panel =
        market::select_dates(raw.panel, optional_text(values, "from"), optional_text(values, "to"));
  if (values.has("tickers")) raw.panel = market::select_tickers(raw.panel, values.list("tickers"));
  return raw;
}

market::CleaningSettings cleaning_settings(const Values& values, market::PanelKind kind) {
  const bool available = values.text("universe") == "available";
  return {.kind = kind,
          .universe = available ? market::Universe::available : market::Universe::complete,
          .max_gap = static_cast<Index>(values.integer("max-gap")),
          .on_suspect = mode_of(values.text("on-suspect"))};
}

market::Cleaned cleaned(const RawPanel& raw, const market::CleaningSettings& settings) {
  return in_file(raw.file, [&] { return market::clean(raw.panel, settings); });
}

PanelInput read_panel_input(const Values& values, const Log& log) {
  RawPanel raw = read_raw_panel(values, log);
  PanelInput input;
  input.file = raw.file;
  input.settings = cleaning_settings(values, raw.kind);
  input.cleaning = cleaned(raw, input.settings);
  raw.panel = {};
  input.warnings = market::summary(input.cleaning, input.settings);
  input.returns = in_file(input.file, [&] {
    refuse_empty(input);
    return market::simple_returns(input.cleaning.panel, input.settings.kind);
  });
  return input;
}

}  // namespace sharpen::app
