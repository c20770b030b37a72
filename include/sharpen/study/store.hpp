// The file of a study: one SQLite database that grows cell by cell.
//
// Every cell, or every group of them, is one transaction, so that whatever kills the process, the
// file holds the cells that were finished and nothing else. One process writes at a time; a reader
// writes nothing but what SQLite undoes of a write that was killed.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/backtest/learned.hpp"
#include "sharpen/base/control.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/log.hpp"
#include "sharpen/study/results.hpp"

namespace sharpen::study {

// The file could not be written: no space, no permission, an error of the disk. Nothing that was
// in it is lost.
class StoreFailure : public Error {
 public:
  using Error::Error;
};

class Store {
 public:
  // For writing. Makes the file if there is none. `plan`: markets, methods and cells as they are
  // to be computed, all missing. A file of the same plan is gone on with; cells that are new in
  // the plan are added to it. InputError for a file that is no store, has another schema, was made
  // from other settings or from inputs that have changed since, or holds what the plan leaves out
  // (named, with the remedy), and if another process is writing it. StoreFailure.
  // Other programs that have the file open are waited for, here and in what follows, however long
  // they take: `log` is told so, and `stop`, asked by the thread that writes, ends it with
  // Interrupted.
  Store(const std::filesystem::path& file, const Results& plan, const Log& log = {},
        const Stop& stop = {});
  ~Store();
  Store(Store&&) noexcept;

  // Of the plan's cells, in its order.
  const std::vector<CellState>& states() const;

  // By one thread at a time; durable when they return, or when `together` does.
  // `cell`: index in the plan. A result that no reader would accept, such as one with a return that
  // is not finite, is a Failure, and nothing of it is written.
  void write_done(Index cell, const Cell& found);
  void write_failed(Index cell, std::string_view reason, double seconds);
  // Failed cells count as missing again.
  void forget_failures();

  // What several cells share, under a key that says all it depends on: expected returns, or the run
  // of an oracle (daily columns and weights). Nothing for a key that has none, or the other.
  // Dropped by the caller when no cell is left that could ask for it.
  std::optional<backtest::Expectations> expectations(std::string_view key) const;
  void write_expectations(std::string_view key, const backtest::Expectations& found);
  std::optional<backtest::Run> oracle(std::string_view key) const;
  void write_oracle(std::string_view key, const backtest::Run& found);
  void drop_shared(std::string_view key);

  // All that `work` writes and drops is one transaction: meanwhile the states are those of a file
  // that has it. If anything is thrown, commit included, it is all undone.
  void together(const std::function<void()>& work);

 private:
  struct Database;
  std::unique_ptr<Database> database_;
};

// Gives a store another name in its folder, study-1.db or the first that is free, so that a new one
// can be begun; what a killed writer left undone is put in order first. Returns the new name; "" if
// there is no such file. InputError if another process is writing it, StoreFailure.
std::filesystem::path set_aside(const std::filesystem::path& file);

// What a file, which may not be there yet, has of a plan. InputError where Store would refuse it.
struct Kept {
  std::vector<CellState> states = {};  // of the plan's cells
  std::set<std::string> shared = {};   // keys of what it has for those that are missing
};
Kept kept_in(const std::filesystem::path& file, const Results& plan, const Log& log = {},
             const Stop& stop = {});

enum class Detail {
  states,   // cells without runs and metrics
  returns,  // runs with their daily columns, without weights
  all,
};

// From a file that may come from anyone: InputError for whatever is not a store of this schema or
// does not fit itself (lengths, indices, numbers out of range), never a crash. Another program that
// is writing it is waited for, as by Store; so does kept_in.
Results read_store(const std::filesystem::path& file, Detail detail = Detail::all,
                   const Log& log = {}, const Stop& stop = {});

}  // namespace sharpen::study
