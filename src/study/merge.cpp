#include "sharpen/study/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/study/store.hpp"
#include "sharpen/study/task.hpp"
#include "study/store_schema.hpp"

namespace sharpen::study {

namespace {

namespace fs = std::filesystem;

struct Part {
  fs::path file;
  Results results;  // without what was found

  std::string name() const { return printable(file.string(), 400); }
};

// The same file under two names is one part.
std::vector<Part> read_parts(const std::vector<fs::path>& files, const Log& log, const Stop& stop) {
  std::map<fs::path, fs::path> once;  // by its one true name
  for (const fs::path& file : files) {
    std::error_code unknown;
    const fs::path real = fs::canonical(file, unknown);
    once.emplace(unknown ? file : real, file);
  }
  std::vector<Part> parts;
  for (const auto& [real, file] : once)
    parts.push_back({file, read_store(file, Detail::states, log, stop)});
  // Whatever the order they are given in, the answer is the same.
  std::ranges::sort(parts, [](const Part& a, const Part& b) {
    return std::tuple(a.results.shard.of, a.results.shard.part, a.file) <
           std::tuple(b.results.shard.of, b.results.shard.part, b.file);
  });
  return parts;
}

[[noreturn]] void refuse_pair(const Part& a, const Part& b, const std::string& difference) {
  throw InputError(
      fmt::format("{} and {} are not parts of one study: {}; merge those that the same command and "
                  "program computed",
                  a.name(), b.name(), difference));
}

std::string words(const std::set<std::string>& all) {
  std::string out;
  for (const std::string& each : all) out += (out.empty() ? "" : " and ") + printable(each);
  return out.empty() ? "unknown" : out;
}

void check_versions(const Part& a, const Part& b) {
  for (const std::string_view what : {"sharpen", "compiler", "build"}) {
    const auto one = versions_of(a.results, what), other = versions_of(b.results, what);
    if (one != other)
      refuse_pair(a, b,
                  fmt::format("they were computed by other programs: {} {}, and {}", what,
                              words(one), words(other)));
  }
}

void check_alike(const std::vector<Part>& parts) {
  const Part& first = parts.front();
  Index cut = 1;  // into so many
  for (const Part& part : parts) {
    check_versions(first, part);
    for (const Difference& found :
         {difference_of(first.results, part.results), difference_of(part.results, first.results)})
      if (found)
        refuse_pair(first, part,
                    found.less ? fmt::format("only one of them has {}", found.what) : found.what);
    const Shard& shard = part.results.shard;
    if (!shard.whole() && cut != 1 && shard.of != cut)
      refuse_pair(first, part, fmt::format("one is cut into {}, the other into {}", cut, shard.of));
    if (!shard.whole()) cut = shard.of;
  }
}

std::vector<std::string> missing_parts(const std::vector<Part>& parts) {
  std::set<Index> there;
  Index of = 1;
  for (const Part& part : parts) {
    if (part.results.shard.whole()) return {};
    there.insert(part.results.shard.part);
    of = part.results.shard.of;
  }
  std::vector<std::string> out;
  for (Index part = 1; part <= of; ++part)
    if (!there.contains(part)) out.push_back(Shard{part, of}.text());
  return out;
}

constexpr std::string_view kOrPartial = "or give ‹--partial› to merge what is there";

void refuse_missing_parts(const std::vector<std::string>& missing) {
  constexpr std::size_t kMost = 10;
  std::string list;
  for (std::size_t i = 0; i < std::min(missing.size(), kMost); ++i)
    list += (i == 0 ? "" : ", ") + missing[i];
  if (missing.size() > kMost) list += fmt::format(" and {} more", missing.size() - kMost);
  throw InputError(
      fmt::format("part{} {} of the study {} missing; compute {} with ‹sharpen study --shard {}› "
                  "and the settings of the others, {}",
                  missing.size() == 1 ? "" : "s", list, missing.size() == 1 ? "is" : "are",
                  missing.size() == 1 ? "it" : "each", missing.front(), kOrPartial));
}

// A part that was interrupted: it has fewer cells than fell to it.
void check_whole(const Part& part) {
  const Results& results = part.results;
  if (results.shard.whole()) return;
  const auto missing = std::ranges::count(results.cells, CellState::missing, &Cell::state);
  const Index has = static_cast<Index>(results.cells.size()) - missing;
  if (has < results.shard_cells)
    throw InputError(
        fmt::format("{}: {} of its {} are missing; run its command again, with ‹--shard {}›, {}",
                    part.name(), results.shard_cells - has, counted(results.shard_cells, "cell"),
                    results.shard.text(), kOrPartial));
}

std::vector<std::string> warnings_of_kernels(const std::vector<Part>& parts) {
  for (const Part& part : parts)
    if (versions_of(part.results, "blas") != versions_of(parts.front().results, "blas"))
      return {
          fmt::format("{} and {} were computed on other kinds of CPU or with another BLAS: last "
                      "digits may be others than in one piece",
                      parts.front().name(), part.name())};
  return {};
}

// Of all that was found but for the time it took.
std::string hash_of(const Cell& cell) {
  Result found;
  found.cell = cell;
  return content_hash(to_bytes(found));
}

// The plan of the whole: cells in the order of the first part, which is that of all.
Results plan_of_all(const std::vector<Part>& parts) {
  Results plan = parts.front().results;
  plan.shard = {};
  plan.shard_cells = 0;
  for (Cell& cell : plan.cells) {
    cell.state = CellState::missing;
    cell.reason.clear();
    cell.seconds = 0.0;
  }
  for (const Part& part : parts)
    for (const auto& version : part.results.versions)
      if (std::ranges::find(plan.versions, version) == plan.versions.end())
        plan.versions.push_back(version);
  return plan;
}

class Merging {
 public:
  Merging(const fs::path& file, const Results& plan, const Log& log, const Stop& stop)
      : plan_(plan),
        store_(file, plan, log, stop),
        failures_(plan.cells.size()),
        hashes_(plan.cells.size()) {
    for (std::size_t i = 0; i < plan.cells.size(); ++i)
      places_.emplace(key_of(plan_, plan_.cells[i]), static_cast<Index>(i));
  }

  void add(const Part& part, const Log& log, const Stop& stop) {
    const Results found = read_store(part.file, Detail::all, log, stop);
    store_.together([&] {
      for (const Cell& cell : found.cells) {
        const auto place = places_.find(key_of(found, cell));
        if (place == places_.end())
          throw InputError(
              fmt::format("{}: was changed while it was read; merge again", part.name()));
        ask(stop);
        if (cell.state == CellState::done) add_done(place->second, cell, part);
        if (cell.state == CellState::failed && !failures_[at(place->second)].first)
          failures_[at(place->second)] = {true, {cell.reason, cell.seconds}};
      }
    });
  }

  // Cells that no part has done, and one has failed at.
  void add_failures() {
    store_.together([&] {
      for (std::size_t i = 0; i < failures_.size(); ++i)
        if (const auto& [failed, why] = failures_[i]; failed && hashes_[i].empty())
          store_.write_failed(static_cast<Index>(i), why.first, why.second);
    });
  }

  const std::vector<CellState>& states() const { return store_.states(); }

 private:
  void add_done(Index place, const Cell& cell, const Part& part) {
    std::string hash = hash_of(cell);
    if (hashes_[at(place)].empty()) {
      store_.write_done(place, cell);
      hashes_[at(place)] = std::move(hash);
      first_.emplace(place, part.name());
    } else if (hashes_[at(place)] != hash) {
      throw InputError(fmt::format(
          "{} and {} have found other numbers for the cell of {}: one of them was not computed by "
          "this program, or has been altered; compute one of the two again",
          first_.at(place), part.name(), spelled(key_of(plan_, plan_.cells[at(place)]))));
    }
  }

  const Results plan_;
  Store store_;
  std::map<CellKey, Index> places_;
  std::vector<std::pair<bool, std::pair<std::string, double>>> failures_;  // reason, seconds
  std::vector<std::string> hashes_;     // of cells that are done; "": not yet
  std::map<Index, std::string> first_;  // the part that has done it
};

// The place of the whole, locked as by the writer of a study: none begins there meanwhile.
class Target {
 public:
  explicit Target(const fs::path& file) : file_(file) {
    std::error_code failed;
    made_folder_ = fs::create_directories(file.parent_path(), failed);
    if (failed)
      throw InputError(fmt::format("out = {} cannot be written to; choose another folder",
                                   printable(file.parent_path().string(), 400)));
    lock_ = lock_to_write(file_, shown(file_));
    clear();  // what a killed one has left
  }
  ~Target() {
    clear();
    lock_.reset();
    std::error_code ignored;
    if (made_folder_) fs::remove(file_.parent_path(), ignored);  // if nothing is in it
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  // For what is not whole yet.
  fs::path scratch() const { return file_.string() + ".merging"; }

  // The study that is there under another name; "" if there is none.
  fs::path set_aside() {
    lock_.reset();  // which is taken there
    fs::path other = study::set_aside(file_);
    lock_ = lock_to_write(file_, shown(file_));
    return other;
  }

  void take_scratch() {
    check_free(file_);
    std::error_code failed;
    fs::rename(scratch(), file_, failed);
    if (failed)
      throw StoreFailure(fmt::format("{}: cannot be written: {}; see to its folder and merge again",
                                     shown(file_), failed.message()));
  }

  // Nothing there, and nothing beside it that SQLite would take for its own.
  static void check_free(const fs::path& file) {
    std::error_code ignored;
    if (fs::exists(file, ignored))
      throw InputError(
          fmt::format("{}: there is a study already; give another ‹--out›, or ‹--force›, which "
                      "gives it another name",
                      shown(file)));
    for (const char* ending : {"-journal", "-wal"})
      if (const fs::path left = file.string() + ending;
          fs::exists(fs::symlink_status(left, ignored)))
        throw InputError(
            fmt::format("{}: is left of a study that is not there any more, and would be taken for "
                        "a part of the new one; remove it, or give another ‹--out›",
                        shown(left)));
  }

 private:
  void clear() const {
    std::error_code ignored;
    for (const char* ending : {"", "-journal", ".lock"})
      fs::remove(scratch().string() + ending, ignored);
  }

  const fs::path file_;
  bool made_folder_ = false;
  std::shared_ptr<const void> lock_;
};

// Cells that no part has, though none of them is missing: parts that were cut before the study
// grew, or a whole study that was interrupted.
void refuse_missing_cells(const Results& plan, const std::vector<CellState>& states,
                          Index missing) {
  const auto first = std::ranges::find(states, CellState::missing) - states.begin();
  throw InputError(
      fmt::format("{} of {} are in no part, the first that of {}; run the commands of the parts "
                  "again, {}",
                  missing, counted(static_cast<Index>(states.size()), "cell"),
                  spelled(key_of(plan, plan.cells[at(first)])), kOrPartial));
}

}  // namespace

Merged merge(const std::vector<fs::path>& files, const fs::path& target,
             const MergeSettings& settings, const Log& log, const Stop& stop) {
  if (files.empty()) throw InputError("no part is given; name the folders of the parts");
  if (!settings.force) Target::check_free(target);
  const std::vector<Part> parts = read_parts(files, log, stop);
  check_alike(parts);
  Merged out{.name = parts.front().results.name,
             .parts = static_cast<Index>(parts.size()),
             .missing_parts = missing_parts(parts),
             .warnings = warnings_of_kernels(parts)};
  if (!settings.partial) {
    if (!out.missing_parts.empty()) refuse_missing_parts(out.missing_parts);
    for (const Part& part : parts) check_whole(part);
  }
  const Results plan = plan_of_all(parts);
  Target place(target);
  {
    Merging merging(place.scratch(), plan, log, stop);
    for (const Part& part : parts) merging.add(part, log, stop);
    merging.add_failures();
    for (const CellState state : merging.states()) {
      ++out.cells;
      ++(state == CellState::done     ? out.done
         : state == CellState::failed ? out.failed
                                      : out.missing);
    }
    if (!settings.partial && out.missing > 0)
      refuse_missing_cells(plan, merging.states(), out.missing);
  }
  if (settings.force)
    if (const fs::path other = place.set_aside(); !other.empty())
      out.warnings.push_back(
          fmt::format("the study that was there is now {}", printable(other.string(), 400)));
  place.take_scratch();
  for (const std::string& warning : out.warnings) log.warning(warning);
  return out;
}

}  // namespace sharpen::study
