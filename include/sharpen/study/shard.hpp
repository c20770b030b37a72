// A study in parts, one for each node of a job array: every node cuts the same plan alike and
// computes its own part.
//
// Cells that share a training or perfect foresight belong together. They are cut apart only where
// they would take much longer than a part should: first between trainings, which costs foresight
// again, and if the cells of one training are too many, among those, which costs the training again
// in every part that has some of them. Parts are balanced by a rough estimate of costs that looks
// at no clock.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sharpen/study/plan.hpp"

namespace sharpen::study {

// "3/100"; "" is the whole. Throws InputError for any other text.
Shard shard_of(std::string_view text);

// The part, from 1 to `parts`, of every cell. A part may be empty.
std::vector<Index> cut(const Plan& plan, Index parts);

// Whether each cell is in the part.
std::vector<bool> cells_in(const Plan& plan, const Shard& shard);

}  // namespace sharpen::study
