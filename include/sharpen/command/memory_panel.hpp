// A panel that the caller has in memory, in the place of the file that settings name.
#pragma once

#include <optional>

#include "sharpen/base/log.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/market/panel_input.hpp"

namespace sharpen::command {

struct MemoryPanel {
  market::RawPanel raw;  // its file is what messages call it
  bool dated = true;     // whether the labels of its rows are dates
};

// Cut by the settings, and for the first also cleaned; read from a file without a panel.
market::PanelInput panel_input(const settings::Values& values, std::optional<MemoryPanel> panel,
                               const Log& log);
market::RawPanel raw_panel(const settings::Values& values, std::optional<MemoryPanel> panel,
                           const Log& log);

}  // namespace sharpen::command
