// sharpen report: the tables and the page of a study.
#pragma once

#include "sharpen/base/settings.hpp"

namespace sharpen::app {

void run_report(const settings::Values& values);

}  // namespace sharpen::app
