// The tables of a study's file, and what its reader and its writer agree on (docs/study-file.md).
//
// Sharpen reads back bytes with a checksum (the plan, what was found for a cell, what cells share)
// and the state of cells. All other columns are there for people.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/study/results.hpp"
#include "sharpen/study/store.hpp"
#include "study/bytes.hpp"
#include "study/results_check.hpp"
#include "study/store_sqlite.hpp"

namespace sharpen::study {

constexpr int kSchemaVersion = 3;  // of the tables

// Makes the tables, and marks the file as a store of this version.
void create_schema(Connection& connection);

// Misfit for a file that is not a store of this version, or whose tables are not exactly those that
// create_schema makes: a view or a trigger is refused before anything is read through it.
void check_schema(Connection& connection);

// A study without what was found for its cells, and the ids that these have in the file.
struct Stored {
  Results results;  // in the order of the last plan
  std::vector<Id> ids;
};

// Misfit, and InputError in the name of the file for bytes that are damaged.
Stored read_plan(Connection& connection, const std::string& name);

// The plan as it can be stored. Throws InputError for one that contradicts itself.
Results checked_plan(const Results& plan);

// Throws InputError with what the plan differs in from the study that the file holds.
void check_same_study(const Results& plan, const Results& stored, const std::string& file);

// The plan with the states, and ids, of the cells that the file has already.
Stored joined(const Results& plan, const Stored& stored);
// In place of the plan that was there.
void write_plan(Connection& connection, const Stored& plan);

constexpr std::string_view kRemedy = "copy the study again, or compute it again";
constexpr FileKind kCellBytes = {"SHRPCELL", 1, "cell of a study", kRemedy};
constexpr FileKind kRunBytes = {"SHRPSRUN", 1, "run of a study", kRemedy};
constexpr FileKind kExpectationBytes = {"SHRPKEPT", 1, "set of expectations", kRemedy};

// A file's name in messages.
std::string shown(const std::filesystem::path& file);

// Before the file is opened. SQLite would act upon what lies beside it: a rollback journal
// (FILE-journal) undoes the write that a killed process was in, but may also name a further file,
// which SQLite then removes. InputError for such a journal, for one that makes a file of holes or
// is a link or a pipe, and for a write-ahead log: studies have none of these.
void check_beside(const std::filesystem::path& file);

// FILE.lock with the writer's process id in it, locked as long as there is a writer: the kernel
// lets go of it however the process ends. Not the file itself, whose locks are SQLite's; and beside
// what a link leads to, so that one file has one lock. Let go with the last copy of what is
// returned. InputError if another process is writing it or it is no file, StoreFailure.
std::shared_ptr<const void> lock_to_write(const std::filesystem::path& file,
                                          const std::string& name);

// Throws what SQLite's error means to whoever reads the file, puts it in order to read it, opens it
// to write, or writes it: an InputError where the file is to blame, else a StoreFailure.
enum class Doing { reading, ordering, opening, writing };
[[noreturn]] void explain(const std::string& file, const SqliteError& error, Doing doing);

}  // namespace sharpen::study
