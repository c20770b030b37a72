// What a study keeps of the files beside its markets.
#pragma once

#include <string>
#include <string_view>

#include "sharpen/base/settings.hpp"

namespace sharpen::study {

// What a setting that names such a file says, and not where it is: the study keeps it, for the file
// may be another one tomorrow. The text of any other setting is left as it is. Throws InputError
// for a file that cannot be read.
std::string kept_text(std::string_view setting, const std::string& text);
// The same for all of a study's own settings that are given.
settings::Values with_market_files(settings::Values values);

}  // namespace sharpen::study
