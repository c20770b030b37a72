// From a grid to cells: panels are read and cleaned, shares become counts, and every cell becomes
// the settings of one backtest.
//
// A cell's settings come from, the later ones winning: the defaults of the training's preset, the
// preset of the study, the study's own settings, its market's, its method's, then k and the seed.
// All cells are split alike, at 80 % unless said otherwise, so that all cells of a market have the
// same test periods. Of the study's own settings a method leaves out those of learning that have no
// meaning for it (docs/study.md).
#pragma once

#include <string>
#include <vector>

#include "sharpen/backtest/backtest.hpp"
#include "sharpen/base/log.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/study/grid.hpp"
#include "sharpen/study/results.hpp"

namespace sharpen::study {

struct Plan {
  Results results;                                           // every cell missing
  std::vector<market::Panel> returns;                        // (markets)
  std::vector<std::vector<market::Standstill>> standstills;  // (markets) what cannot be traded when
  std::vector<settings::Values> values;  // (markets x methods): of a backtest, without k and seed
  std::vector<std::string> warnings;     // of settings that are likely mistakes

  // The backtest that a cell is: `sharpen backtest` with these settings finds the same.
  settings::Values values_of(Index cell) const;
  backtest::BacktestSettings settings_of(Index cell) const;
};

// Throws InputError for files that cannot be read, and for settings of any cell that contradict
// each other, before a panel is read.
Plan plan_study(const Grid& grid, const Log& log);

// What the training of a cell depends on, as text: cells with equal keys share their expectations.
// "" for a cell that learns nothing.
std::string training_key(const Plan& plan, Index cell);

// What perfect foresight in the place of a cell's expectations depends on. "" likewise.
std::string oracle_key(const Plan& plan, Index cell);

}  // namespace sharpen::study
