// What lies beside a study's file: the lock of its writer, and what SQLite would act upon.
//
// A rollback journal (FILE-journal) undoes the write that a killed process was in. But it may also
// name a further file, which SQLite then removes: any file of the user's, if the journal comes from
// elsewhere. Studies have no such journals, and no write-ahead logs.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "sharpen/base/control.hpp"
#include "sharpen/base/new_file.hpp"

namespace sharpen::study {

// FILE.lock with the writer's process id in it, locked as long as there is a writer: the kernel
// lets go of it however the process ends. Not the file itself, whose locks are SQLite's; and beside
// what a link leads to, so that one file has one lock. InputError if another process is writing it
// or it is no file, StoreFailure.
class WriterLock {
 public:
  WriterLock(const std::filesystem::path& file, const std::string& name);
  ~WriterLock();
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  std::filesystem::path path_;
  std::optional<PathLock> lock_;
};

// Before the file is opened. InputError for a journal that names a file or is a link or a pipe, and
// for a write-ahead log.
void check_beside(const std::filesystem::path& file);

// The file and its journal, copied to a folder of our own and put in order there, since a reader
// writes to nothing of the user's. Gone with the object. InputError if the journal is foreign or
// there is no room, SqliteError if the two do not fit each other. A program that changes them
// meanwhile is waited for, as by a Connection.
class OrderedCopy {
 public:
  OrderedCopy(const std::filesystem::path& file, const std::string& name, const Stop& stop,
              const std::function<void()>& say);
  ~OrderedCopy();
  OrderedCopy(const OrderedCopy&) = delete;
  OrderedCopy& operator=(const OrderedCopy&) = delete;

  std::filesystem::path file() const { return folder_ / "study.db"; }
  std::uintmax_t bytes() const { return bytes_; }  // that were copied

 private:
  bool copy(const std::filesystem::path& file);

  std::filesystem::path folder_;
  std::uintmax_t bytes_ = 0;
};

}  // namespace sharpen::study
