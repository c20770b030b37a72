// How a plan meets the study that a file already holds.
#pragma once

#include <string>

#include "sharpen/study/results.hpp"
#include "study/store_schema.hpp"

namespace sharpen::study {

// The plan as it can be stored: text that is not UTF-8 with its odd bytes written as \xNN. Throws
// InputError for a plan that contradicts itself.
Results checked_plan(const Results& plan);

// Throws InputError that names the first thing that is not as it was when the file's study began:
// its name, a market's data, a method's settings; or that the file holds and the plan does not, as
// the plan's settings would not describe the file. What only the plan has is no conflict.
void check_same_study(const Results& plan, const Results& stored, const std::string& file);

// Writes the plan into the tables, beside what is there: rows that are new are added, positions,
// labels and the study's settings become the plan's. Returns the plan's cells in the file, ids and
// states, in the order of the plan.
struct Planned {
  std::vector<std::int64_t> cells;
  std::vector<CellState> states;
};
Planned write_plan(Connection& connection, const Results& plan, const Stored& stored);

}  // namespace sharpen::study
