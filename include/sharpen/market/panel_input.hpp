// From flags to a panel of returns: --prices FILE or --returns FILE [--gross], cut by --from, --to,
// --tickers and --exclude, then cleaned by --decisions, --on-suspect, --max-gap and --universe,
// then simple returns. The cut comes first, so that nothing outside it can drop an asset or raise a
// suspect.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sharpen/base/log.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/market/cleaning.hpp"
#include "sharpen/market/decisions.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::market {

struct PanelSettings {
  std::string prices, returns;  // files, one of them; "": not given
  bool gross = false;           // the returns are 1 + r
  std::optional<std::string> from, to;
  std::vector<std::string> tickers;  // in this order; none: all
  std::vector<std::string> exclude;  // of these none
};

struct PanelInput {
  std::string file;
  CleaningSettings settings;
  Panel returns;                      // simple; NaN only with universe available
  Halts halts;                        // by the rows and columns of `returns`
  Cleaned cleaning;                   // its panel: what the returns come from, in settings.kind
  std::vector<std::string> warnings;  // what cleaning found, for the command's own warnings
};

// Throws InputError unless exactly one of --prices and --returns is given, if --gross has nothing
// to say, for a file that cannot be read, and when cleaning leaves no asset or fewer than two rows
// of prices.
PanelInput read_panel_input(const settings::Values& values, const Log& log);

// Throws InputError for what contradicts itself whatever the file holds: two panels, --gross
// without --returns, dates that are none or the wrong way round.
void check_panel_settings(const settings::Values& values);

// The steps of it. The raw panel, already cut:
struct RawPanel {
  std::string file;
  PanelKind kind = PanelKind::prices;
  Panel panel;
  Decisions decisions = {};  // known to speak of this panel
};
// Why a file given as prices may hold something else; "" if nothing speaks for it.
std::string doubt_of_kind(const RawPanel& raw);
RawPanel read_raw_panel(const settings::Values& values, const Log& log);
// As it is in the file, with nothing cut.
RawPanel read_whole_panel(const settings::Values& values, const Log& log);
CleaningSettings cleaning_settings(const settings::Values& values, PanelKind kind);
Cleaned cleaned(const RawPanel& raw, const CleaningSettings& settings);
Examined examined(const RawPanel& raw, const CleaningSettings& settings);
// Keeps what --from, --to, --tickers and --exclude ask for; reads --decisions.
void cut_panel(const settings::Values& values, RawPanel& raw);
// The rest of it, for a panel from wherever: cleaned, then simple returns. An empty name of a file
// stands for a panel from memory.
PanelInput clean_panel_input(const settings::Values& values, RawPanel raw);

// A panel that the caller has in memory, in the place of the file that settings name.
struct MemoryPanel {
  RawPanel raw;       // its file is what messages call it
  bool dated = true;  // whether the labels of its rows are dates, which tell periods a year
};

// Cut by the settings, and for the first also cleaned, its cells checked as those of a file are;
// read from a file without a panel.
PanelInput panel_input(const settings::Values& values, std::optional<MemoryPanel> panel,
                       const Log& log);
RawPanel raw_panel(const settings::Values& values, std::optional<MemoryPanel> panel,
                   const Log& log);

}  // namespace sharpen::market
