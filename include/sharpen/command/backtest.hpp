// sharpen backtest: a policy walked forward through a panel, judged by its returns.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sharpen/backtest/backtest.hpp"
#include "sharpen/base/log.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/command/output_folder.hpp"
#include "sharpen/learn/model.hpp"
#include "sharpen/market/panel_input.hpp"

namespace sharpen::command {

// The answer, ready to be shown.
struct BacktestAnswer {
  settings::Values values;
  market::PanelInput input = {};
  backtest::BacktestSettings settings = {};
  backtest::BacktestResult result = {};
  std::string label = {};
  std::vector<std::string> warnings = {};

  // Date of a period of the run; "" for what never happened.
  std::string date(Index period) const;
  // First date that was traded; "" if none was.
  std::string first_traded() const;
  // First date after the training part; "" without one.
  std::string split_date() const;
};

// What the caller has in memory: it is not read from the files that settings name.
struct BacktestInputs {
  std::optional<market::MemoryPanel> panel = {};
  std::optional<market::Panel> signal = {};
  std::optional<learn::Model> model = {};
};

// Throws InputError for what contradicts itself whatever the files hold.
void check_backtest_settings(const settings::Values& values);

// Throws InputError for settings and input that do not fit each other, Interrupted and Diverged.
// Nobody is asked to stop before the first decision.
BacktestAnswer backtest_answer(const settings::Values& values, BacktestInputs inputs,
                               const Log& log, const Control& control);

std::string backtest_json(const BacktestAnswer& answer);
std::string backtest_text(const BacktestAnswer& answer);

// File names and contents of --out.
std::vector<std::pair<std::string, std::string>> backtest_files(const BacktestAnswer& answer,
                                                                const Stop& stop = {});
// The folder they go to. Throws InputError, before the work, for one that cannot be used or whose
// files are what the settings read.
OutputFolder backtest_folder(const settings::Values& values, const std::string& folder, bool force);

}  // namespace sharpen::command
