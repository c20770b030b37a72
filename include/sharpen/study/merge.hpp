// Puts the parts of a study (shard.hpp) together into the file that it would have been in one
// piece.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sharpen/base/control.hpp"
#include "sharpen/base/log.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen::study {

struct MergeSettings {
  bool partial = false;  // parts may be missing, and cells of those that are there
  bool force = false;    // a study that is at the target gets another name
};

struct Merged {
  std::string name;  // of the study
  Index parts = 0;   // that were read, each file once
  Index cells = 0, done = 0, failed = 0, missing = 0;
  std::vector<std::string> missing_parts;  // "2/3"
  std::vector<std::string> warnings;       // logged, too
};

// `parts`: files of studies, in any order, which may come from anyone and are only read. A cell
// that several of them have must be the same bits in all; one that failed in some and is done in
// another is done. InputError, with nothing written, for parts of other settings, data or programs,
// with the difference; for parts and cells that are missing, with their names, unless they may; and
// for a target that is there, or the journal of one that was. The target is there whole or not at
// all, and no study can be begun there meanwhile.
Merged merge(const std::vector<std::filesystem::path>& parts, const std::filesystem::path& target,
             const MergeSettings& settings, const Log& log, const Stop& stop = {});

}  // namespace sharpen::study
