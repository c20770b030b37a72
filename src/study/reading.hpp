// What decides on the numbers that come from a market besides its data: the words behind its
// checksum, "crc32:0badcafe:1234 from=2016 on-suspect=adjust". A setting at its default is no word,
// whether it was given or not; of on-suspect it is report, which was the default once. A file of
// decisions is the checksum of what it says.
#pragma once

#include <string>
#include <string_view>

#include "sharpen/base/settings.hpp"

namespace sharpen::study {

std::string reading_words(const settings::Values& values);

// The checksum without them.
std::string_view data_of(std::string_view checksum);

// The first word that two checksums differ in: "on-suspect = adjust, was report"; "": none.
std::string reading_difference(std::string_view now, std::string_view then);

}  // namespace sharpen::study
