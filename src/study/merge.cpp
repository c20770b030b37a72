#include "sharpen/study/merge.hpp"

#include <fmt/format.h>
#include <stdlib.h>

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

// A folder of its own in the target's, for what is not whole yet.
class Scratch {
 public:
  explicit Scratch(const fs::path& folder) {
    std::error_code failed;
    made_ = fs::create_directories(folder, failed) ? folder : fs::path();
    std::string pattern = (folder / "merging-XXXXXX").string();
    if (failed || ::mkdtemp(pattern.data()) == nullptr)
      throw InputError(fmt::format("out = {} cannot be written to; choose another folder",
                                   printable(folder.string(), 400)));
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    if (!made_.empty()) fs::remove(made_, ignored);  // if nothing is in it
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  fs::path file() const { return path_ / "study.db"; }

 private:
  fs::path path_, made_;
};

void move_into_place(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  fs::rename(from, to, failed);
  if (failed)
    throw StoreFailure(fmt::format("{}: cannot be written: {}; see to its folder and merge again",
                                   printable(to.string(), 400), failed.message()));
}

}  // namespace

Merged merge(const std::vector<fs::path>& files, const fs::path& target,
             const MergeSettings& settings, const Log& log, const Stop& stop) {
  if (files.empty()) throw InputError("no part is given; name the folders of the parts");
  std::error_code ignored;
  if (!settings.force && fs::exists(target, ignored))
    throw InputError(
        fmt::format("{}: there is a study already; give another ‹--out›, or ‹--force›, which gives "
                    "it another name",
                    printable(target.string(), 400)));
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
  const Scratch scratch(target.parent_path());
  {
    Merging merging(scratch.file(), plan_of_all(parts), log, stop);
    for (const Part& part : parts) merging.add(part, log, stop);
    merging.add_failures();
    for (const CellState state : merging.states()) {
      ++out.cells;
      ++(state == CellState::done     ? out.done
         : state == CellState::failed ? out.failed
                                      : out.missing);
    }
  }
  if (settings.force)
    if (const fs::path other = set_aside(target); !other.empty())
      out.warnings.push_back(
          fmt::format("the study that was there is now {}", printable(other.string(), 400)));
  move_into_place(scratch.file(), target);
  for (const std::string& warning : out.warnings) log.warning(warning);
  return out;
}

}  // namespace sharpen::study
