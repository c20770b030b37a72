#include "sharpen/command/merge.hpp"

#include <fmt/format.h>

#include <system_error>

#include "command/json_keys.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/command/output_folder.hpp"

namespace sharpen::command {

namespace {

namespace fs = std::filesystem;
using settings::Values;

// The file itself, or study.db in the folder.
fs::path part_file(const fs::path& given) {
  std::error_code error;
  if (fs::is_directory(given, error)) {
    if (fs::exists(given / "study.db", error)) return given / "study.db";
    throw InputError(
        fmt::format("{}: holds no study.db; name the folder that ‹sharpen study --shard› was given",
                    shown(given)));
  }
  if (!fs::exists(given, error))
    throw InputError(
        fmt::format("{}: there is no such part; name the folder that ‹sharpen study --shard› was "
                    "given, or its study.db",
                    shown(given)));
  return given;
}

fs::path merged_file(const Values& values) {
  if (!values.has("out"))
    throw InputError("the whole must be kept somewhere; give ‹--out DIR›, a folder");
  const fs::path folder = values.text("out");
  std::error_code ignored;
  if (fs::exists(folder, ignored) && !fs::is_directory(folder, ignored))
    throw InputError(
        fmt::format("out = {} is a file, not a folder; choose another name", shown(folder)));
  return folder / "study.db";
}

Keys<MergeAnswer> merge_keys() {
  return answer_keys<MergeAnswer>(
      "merge", "`merge`",
      {{{"db", "the file of the whole study", [](auto& a) { return a.file.string(); }},
        {"name", "of the study", [](auto& a) { return a.merged.name; }},
        {"parts", "parts that were read; the same file twice is one",
         [](auto& a) { return a.merged.parts; }},
        {"cells", "cells of the study", [](auto& a) { return a.merged.cells; }},
        {"done", "how many of them are", [](auto& a) { return a.merged.done; }},
        {"failed", "", [](auto& a) { return a.merged.failed; }},
        {"missing", "", [](auto& a) { return a.merged.missing; }},
        {"missing_parts", "with `--partial`: parts that were not given, such as `2/3`",
         [](auto& a) { return a.merged.missing_parts; }},
        {"warnings", "texts on the parts; empty if there is nothing to say",
         [](auto& a) { return a.merged.warnings; }}}});
}

}  // namespace

MergeAnswer merge_answer(const Values& values, const Log& log, const Stop& stop) {
  MergeAnswer answer{.file = merged_file(values), .merged = {}};
  if (!values.has("parts"))
    throw InputError("no part is given; write ‹sharpen merge› part1 part2 ‹--out DIR›");
  std::vector<fs::path> parts;
  for (const std::string& part : values.list("parts")) parts.push_back(part_file(part));
  answer.merged =
      study::merge(parts, answer.file,
                   {.partial = values.flag("partial"), .force = values.flag("force")}, log, stop);
  return answer;
}

std::string merge_json(const MergeAnswer& answer) { return json_text<merge_keys>(answer); }

Section merge_section() { return {"merge", {""}, listed(merge_keys())}; }

}  // namespace sharpen::command
