// Files that are there whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

namespace sharpen {

// Writes the text under a temporary name in the same folder and renames it to `file`, replacing
// what was there. A device or pipe is written to directly. A place that cannot be written to is an
// InputError; a write that fails halfway (a full disk) is a std::runtime_error. Either way nothing
// half-written is left, and what was there before stays; where the file system has files without a
// name, as Linux's own have, so it is when the program is killed while it writes.
void write_file(const std::filesystem::path& file, std::string_view text);

// Where links to `file`, there or not yet, lead; in the folder's one true name, if it has one.
std::filesystem::path link_target(const std::filesystem::path& file);

}  // namespace sharpen
