// What the charts of a page are drawn from, as JSON.
#pragma once

#include <string>

#include "sharpen/report/report.hpp"

namespace sharpen::report {

// Daily returns as float32 in base64, every run's while they are fewer than the page can carry,
// else the average over the seeds of each method. Weights as means over blocks of days, of the
// names most held. Figures of tables are not in here: they are computed in full precision.
std::string page_data(const study::Results& results, const Summary& summary);

}  // namespace sharpen::report
