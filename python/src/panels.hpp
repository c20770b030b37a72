// Panels that are in memory, and settings that go with them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "module.hpp"
#include "sharpen/market/panel_input.hpp"

namespace sharpen::python {

// sharpen._core.Panel. What messages call it is the name of the argument.
using market::MemoryPanel;

// A copy; none for none.
inline std::optional<MemoryPanel> copy_of(const MemoryPanel* panel) {
  if (panel == nullptr) return std::nullopt;
  return *panel;
}

// As values_of, and with the defaults of preset = paper where that is given.
settings::Values values_with_preset(settings::Command command, const SettingTexts& given);

}  // namespace sharpen::python
