// What a run is compared with: a column of the panel, or a file.
#pragma once

#include <string>
#include <vector>

#include "sharpen/backtest/walk_forward.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::backtest {

struct Benchmark {
  std::string name;             // ticker, or title of the file's column; "": none
  std::vector<double> returns;  // (rows of the panel), NaN where it has none
  std::vector<std::string> warnings = {};

  // Over the periods of a run. Throws InputError for one that it lacks.
  std::vector<double> over(const Run& run) const;
};

// `asked`: a ticker, which leaves the panel; else a file, or its text (anything with a line break),
// of one column: returns if many of them are not positive or all are small, gross returns if they
// jump about 1, else prices, which must be positive. Its rows are matched by
// date, and what lies between two dates of the panel is compounded. Throws InputError for what is
// neither.
Benchmark take_benchmark(const std::string& asked, market::Panel& returns);

}  // namespace sharpen::backtest
