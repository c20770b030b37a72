// Which settings orders are made by: those of a backtest, from flags, from a configuration file,
// and where they say nothing from the run that is continued, or from the model.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "command/json_keys.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/learn/model.hpp"

namespace sharpen::command {

// A backtest that is continued: its settings by name, and its folder.
struct FormerRun {
  std::filesystem::path folder;
  Json settings = Json::object();
  Json in_force = Json::object();    // of settings that it leaves open, what held all the same
  std::optional<std::string> split;  // first date after its training part
};

// A configuration file of a backtest also says where that writes to, which is no place for a day's
// answer: out and force of such a file are left out.
settings::Values without_output_of_backtest(const settings::Values& values);

// Throws InputError for a folder that is none of a backtest, is not whole, has no positions, or
// whose account was ruined.
FormerRun read_former_run(const std::string& folder);
// From the text of its metrics.json. Throws InputError for one without settings, or ruined.
FormerRun parse_former_run(std::string_view metrics, const std::string& folder);

// Settings of the run for what nobody has given.
settings::Values follow_run(const settings::Values& values, const FormerRun& run);

// A configuration file of a backtest says all that has a default. What it says of the signal is
// passed over where a model that is given says otherwise, with a warning if it decides something.
settings::Values model_before_file(const settings::Values& values, const learn::Model& model,
                                   std::vector<std::string>& warnings);

// Of what `asked` gives otherwise than the run, or the model, was judged with: "sizing is gross,
// and was volatility". Empty: nothing.
std::vector<std::string> differences(const settings::Values& asked, const FormerRun& run);
std::vector<std::string> differences(const settings::Values& asked, const learn::Model& model);

// One sentence of them. what: "the model was judged".
void warn_of_differences(const std::vector<std::string>& differences, std::string_view what,
                         std::vector<std::string>& warnings);

}  // namespace sharpen::command
