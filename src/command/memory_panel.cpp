#include "sharpen/command/memory_panel.hpp"

namespace sharpen::command {

market::PanelInput panel_input(const settings::Values& values, std::optional<MemoryPanel> panel,
                               const Log& log) {
  if (!panel) return market::read_panel_input(values, log);
  return market::memory_panel_input(values, std::move(panel->raw), panel->dated);
}

market::RawPanel raw_panel(const settings::Values& values, std::optional<MemoryPanel> panel,
                           const Log& log) {
  if (!panel) return market::read_raw_panel(values, log);
  market::cut_panel(values, panel->raw);
  return std::move(panel->raw);
}

}  // namespace sharpen::command
