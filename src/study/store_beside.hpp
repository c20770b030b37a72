// What lies beside a study's file: the lock of its writer, and what SQLite would act upon.
//
// A rollback journal (FILE-journal) undoes the write that a killed process was in. But it may also
// name a further file, which SQLite then removes: any file of the user's, if the journal comes from
// elsewhere. Studies have no such journals, and no write-ahead logs.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "sharpen/base/control.hpp"

namespace sharpen::study {

// FILE.lock with the writer's process id in it, locked as long as there is a writer: the kernel
// lets go of it however the process ends. Not the file itself, whose locks are SQLite's; and beside
// what a link leads to, so that one file has one lock. Let go with the last copy of what is
// returned. InputError if another process is writing it or it is no file, StoreFailure.
std::shared_ptr<const void> lock_to_write(const std::filesystem::path& file,
                                          const std::string& name);

// Before the file is opened. InputError for a journal that names a file or is a link or a pipe, and
// for a write-ahead log.
void check_beside(const std::filesystem::path& file);

// The file and its journal, copied to a folder of our own and put in order there, since a reader
// writes to nothing of the user's. InputError if the journal is foreign or there is no room,
// SqliteError if the two do not fit each other. A program that changes them meanwhile is waited
// for, as by a Connection.
struct OrderedCopy {
  std::shared_ptr<const std::filesystem::path> folder;  // that goes with it
  std::filesystem::path file;
  std::uintmax_t bytes = 0;  // that were copied
};
OrderedCopy ordered_copy(const std::filesystem::path& file, const std::string& name,
                         const Stop& stop, const std::function<void()>& say);

}  // namespace sharpen::study
