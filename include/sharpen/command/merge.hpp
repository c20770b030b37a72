// sharpen merge: the parts of a study into the file that it would have been in one piece.
#pragma once

#include <filesystem>
#include <string>

#include "sharpen/base/control.hpp"
#include "sharpen/base/log.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/study/merge.hpp"

namespace sharpen::command {

struct MergeAnswer {
  std::filesystem::path file;  // the whole
  study::Merged merged;
};

// Parts are folders of studies, or their files. Throws InputError, StoreFailure, Interrupted.
MergeAnswer merge_answer(const settings::Values& values, const Log& log, const Stop& stop = {});

std::string merge_json(const MergeAnswer& answer);

}  // namespace sharpen::command
