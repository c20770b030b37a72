// sharpen study: a grid of backtests into one file, resumable.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sharpen/base/settings.hpp"
#include "sharpen/study/run.hpp"

namespace sharpen::command {

// The answers, as text and JSON. `file`: the store; `warnings`: of its markets.
std::string study_json(const study::Tally& tally, const std::filesystem::path& file,
                       const study::Results& results, const std::vector<std::string>& warnings);
std::string estimate_json(const study::Estimate& estimate, int threads,
                          const std::filesystem::path& file,
                          const std::vector<std::string>& warnings);
std::string list_json(const study::Results& results, const std::filesystem::path& file);

}  // namespace sharpen::command
