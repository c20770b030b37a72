// What the page of a report is made of: embedded files, the data of its charts, and bytes as a page
// holds them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sharpen/report/report.hpp"

namespace sharpen::report {

// Embedded when the library is built (cmake/SharpenAssets.cmake).
std::string_view page_template();    // src/report/assets/report.html
std::string_view page_style();       // the style sheets beside it, one after the other
std::string_view page_script();      // the scripts beside it, one after the other
std::string_view dygraphs_script();  // dygraph.min.js

// What the charts are drawn from, as JSON. Daily returns as float32 in base64, every run's while
// they are fewer than the page can carry, else the average over the seeds of each method. Weights
// as means over blocks of days, of the names most held. Figures of tables are not in here: they are
// computed in full precision.
std::string page_data(const study::Results& results, const Summary& summary);

// RFC 4648, with padding.
std::string base64(std::string_view bytes);

// FIPS 180-4.
std::array<std::uint8_t, 32> sha256(std::string_view bytes);

// "'sha256-...'": how a Content-Security-Policy names an inline script or style.
std::string policy_hash(std::string_view text);

// JSON that may stand inside <script>: <, > and &, and the two line ends that JavaScript knows and
// JSON does not, are spelled as \uXXXX.
std::string script_safe(std::string_view json);

}  // namespace sharpen::report
