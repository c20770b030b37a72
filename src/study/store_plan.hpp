// How a plan meets the study that a file already holds.
#pragma once

#include <string>
#include <vector>

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
// The first such thing in words, whatever part of the study each of them is; "": none.
std::string difference_of(const Results& plan, const Results& stored);

// The plan's cells in the file, in the order of the plan.
struct PlannedCells {
  std::vector<std::int64_t> ids;
  std::vector<CellState> states;
};

// Writes a plan of the same study into the tables: rows that are new are added, positions, labels
// and the study's settings become the plan's.
PlannedCells write_plan(Connection& connection, const Results& plan, const Stored& stored);

// Rows (owner, 0, text), (owner, 1, text), ... by an INSERT with these parameters.
void write_texts(Connection& connection, std::string_view sql, std::int64_t owner,
                 const std::vector<std::string>& texts);

}  // namespace sharpen::study
