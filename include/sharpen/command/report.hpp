// The answer of `sharpen report --json` (docs/json.md).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sharpen/report/report.hpp"
#include "sharpen/study/results.hpp"

namespace sharpen::command {

struct WrittenReport {
  std::string study;  // the file read
  report::Format format = report::Format::text;
  std::string out;        // the file written; "": none
  std::size_t bytes = 0;  // of it
  std::vector<std::string> findings;
  std::vector<report::Table> tables;
};

std::string report_json(const WrittenReport& written, const study::Results& results);

}  // namespace sharpen::command
