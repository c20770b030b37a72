// sharpen backtest: a policy walked forward through a panel, judged by its returns.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sharpen/backtest/backtest.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/market/panel_input.hpp"

namespace sharpen::app {

// Reads, walks, writes and prints, as the settings say.
void run_backtest(const settings::Values& values);

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
};

std::string backtest_json(const BacktestAnswer& answer);
std::string backtest_text(const BacktestAnswer& answer);

// File names and contents of --out. Every name that any backtest may write:
std::vector<std::pair<std::string, std::string>> backtest_files(const BacktestAnswer& answer);
std::vector<std::string> backtest_file_names();

}  // namespace sharpen::app
