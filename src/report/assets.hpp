// The files that the page of a report is made of, embedded when the library is built
// (cmake/SharpenAssets.cmake).
#pragma once

#include <string_view>

namespace sharpen::report {

std::string_view page_template();    // src/report/assets/report.html
std::string_view page_style();       // report.css
std::string_view page_script();      // the scripts beside it, one after the other
std::string_view dygraphs_script();  // dygraph.min.js

}  // namespace sharpen::report
