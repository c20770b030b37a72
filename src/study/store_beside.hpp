// What lies beside a study's file: the lock of its writer, and what SQLite would act upon.
//
// A rollback journal (FILE-journal) undoes the write that a killed process was in. But it may also
// name a further file, which SQLite then removes: any file of the user's, if the journal comes from
// elsewhere. Studies have no such journals, and no write-ahead logs.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace sharpen::study {

// FILE.lock with the writer's process id in it, locked as long as there is a writer: the kernel
// lets go of it however the process ends. Not the file itself, whose locks are SQLite's; and beside
// what a link leads to, so that one file has one lock. Let go with the last copy of what is
// returned. InputError if another process is writing it or it is no file, StoreFailure.
std::shared_ptr<const void> lock_to_write(const std::filesystem::path& file,
                                          const std::string& name);

// Before the file is opened. InputError for a journal that names a file, makes ours one of holes or
// is a link or a pipe, and for a write-ahead log.
void check_beside(const std::filesystem::path& file);

}  // namespace sharpen::study
