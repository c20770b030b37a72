# What the page of a report is made of, as bytes in the library, so that an installed Sharpen needs no
# files beside it: our own template, style and scripts, and dygraphs from wherever it is installed.
find_file(DYGRAPHS_SCRIPT dygraph.min.js
  PATHS /usr/share/javascript/dygraphs /usr/share/nodejs/dygraphs/dist
  PATH_SUFFIXES javascript/dygraphs dygraphs/dist
  DOC "dygraphs 2, as one script")
if(NOT DYGRAPHS_SCRIPT)
  message(FATAL_ERROR "dygraph.min.js is missing: install libjs-dygraphs, or set DYGRAPHS_SCRIPT")
endif()

set(report_assets "${PROJECT_SOURCE_DIR}/src/report/assets")
set(report_styles report.css charts.css media.css)
set(report_scripts data.js tables.js lines.js costs.js pictures.js holdings.js main.js)
list(TRANSFORM report_styles PREPEND "${report_assets}/")
list(TRANSFORM report_scripts PREPEND "${report_assets}/")
set(assets_source "${PROJECT_BINARY_DIR}/generated/report_assets.cpp")
# NAME=FILE[+FILE...]: each name becomes a function of src/report/page_parts.hpp.
string(REPLACE ";" "+" joined_styles "${report_styles}")
string(REPLACE ";" "+" joined_scripts "${report_scripts}")
set(asset_list
  "page_template=${report_assets}/report.html"
  "page_style=${joined_styles}"
  "page_script=${joined_scripts}"
  "dygraphs_script=${DYGRAPHS_SCRIPT}")
add_custom_command(OUTPUT "${assets_source}"
  COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${assets_source}" "-DASSETS=${asset_list}"
    -P "${PROJECT_SOURCE_DIR}/cmake/EmbedAssets.cmake"
  DEPENDS "${PROJECT_SOURCE_DIR}/cmake/EmbedAssets.cmake" "${report_assets}/report.html"
    ${report_styles} ${report_scripts} "${DYGRAPHS_SCRIPT}"
  COMMENT "Embedding the assets of the report" VERBATIM)
target_sources(sharpen PRIVATE "${assets_source}")
