// JSON of files that may come from anyone.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace sharpen {

// Nothing that Sharpen writes is as long or nested as deep. Reading takes up to thirty times the
// text, and whoever copies or writes a value goes as deep as it is nested.
constexpr std::size_t kLongestJson = 20'000'000;
constexpr int kDeepestJson = 64;

// Discarded (is_discarded) if the text is no JSON, or longer or deeper than that.
nlohmann::json parse_json(std::string_view text);

}  // namespace sharpen
