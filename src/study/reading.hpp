// What decides on the numbers that come from a market besides its data: (setting, value), defaults
// included. A text that names a file, or is what it says, is its checksum, for the file may be
// another one tomorrow.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sharpen/base/settings.hpp"

namespace sharpen::study {

using Reading = std::vector<std::pair<std::string, std::string>>;

Reading reading_of(const settings::Values& values);

// The first setting that two differ in: "on-suspect = adjust, was careful"; "": none. One that is
// not there has its default: there are more of them in later versions.
std::string reading_difference(const Reading& now, const Reading& then);

// Those that are not at their defaults: "from = 2016, on-suspect = adjust".
std::string reading_words(const Reading& reading);

}  // namespace sharpen::study
