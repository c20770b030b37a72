// Unpacking of gzip, bounded: a small file that unpacks to an absurd size is refused.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace sharpen {

// Unpacks all members of a gzip file in memory and hands the text over piece by piece. More than
// `most` bytes in all, or more than 64 MiB at over 200 times the packed size, is an InputError in
// the name of the file; so is text that is damaged, cut off or not gzip at all.
void gunzip(std::string_view packed, std::string_view name, std::size_t most,
            const std::function<void(std::string_view)>& take);

}  // namespace sharpen
