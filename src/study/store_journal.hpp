// What lies beside a study's file, and what SQLite would do because of it. A rollback journal
// (FILE-journal) undoes the write that a killed process was in. But it may also name a further
// file, which SQLite then removes: any file of the user's, if the journal comes from elsewhere.
// Studies have no such journals, and no write-ahead logs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace sharpen::study {

// FILE and the ending where links to FILE, there or not yet, lead: as SQLite names what is beside
// it.
std::filesystem::path beside(const std::filesystem::path& file, std::string_view ending);

// Before the file is opened. InputError for a journal that names a file or is a link or a pipe, and
// for a write-ahead log.
void check_beside(const std::filesystem::path& file);

// The file and its journal, copied to a folder of our own and put in order there, since a reader
// writes to nothing of the user's. Gone with the object. InputError if the journal is foreign or
// there is no room, SqliteError if the two change meanwhile or do not fit each other.
class OrderedCopy {
 public:
  OrderedCopy(const std::filesystem::path& file, const std::string& name);
  ~OrderedCopy();
  OrderedCopy(const OrderedCopy&) = delete;
  OrderedCopy& operator=(const OrderedCopy&) = delete;

  std::filesystem::path file() const { return folder_ / "study.db"; }
  std::uintmax_t bytes() const { return bytes_; }  // that were copied

 private:
  void copy(const std::filesystem::path& file, const std::string& name);
  void put_in_order(const std::string& name) const;
  void remove() const;

  std::filesystem::path folder_;
  std::uintmax_t bytes_ = 0;
};

}  // namespace sharpen::study
