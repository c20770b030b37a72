// By which the data of a market is known again.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "sharpen/market/panel.hpp"

namespace sharpen::study {

// CRC-32 and length of a file's bytes, as text; InputError if it cannot be read.
std::string checksum_of_file(const std::filesystem::path& file);
std::string checksum_of_text(std::string_view text);
// Of a panel that is no file: its dates, tickers and the bits of its values, and the words that
// describe it. It begins with kPanelChecksum.
std::string checksum_of_panel(const market::Panel& panel, std::string_view words);
constexpr std::string_view kPanelChecksum = "panel:";

}  // namespace sharpen::study
