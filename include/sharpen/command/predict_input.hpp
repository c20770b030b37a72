// What `sharpen predict` reads: a model, and the panel that ends where the portfolio shall begin,
// its columns matched to the model's assets by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sharpen/base/log.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/command/memory_panel.hpp"
#include "sharpen/command/solve_input.hpp"
#include "sharpen/learn/model.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/market/panel_input.hpp"

namespace sharpen::command {

struct PredictInput {
  std::string file;  // of the panel
  learn::Model model;
  market::Panel returns;    // the model's assets in its order; nothing after the decision
  Window window;            // its last lookback rows, complete
  std::optional<long> age;  // days from the last row to today, or to --asof
  // Last prices by name, also of names the model does not know; empty for a panel of returns.
  std::unordered_map<std::string, double> prices;
  std::vector<std::string> warnings;

  ConstMat window_returns() const {
    return returns.matrix().middle_rows(returns.rows() - window.rows, window.rows);
  }
};

// Throws InputError for a file that is no model, a panel that lacks an asset of the model or a
// return in the window, and one that is older than --max-age or from the future.
// `model`, `panel`: what the caller has in memory, none: they are read.
PredictInput read_predict_input(const settings::Values& values, std::optional<learn::Model> model,
                                std::optional<MemoryPanel> panel, const Log& log);

// "A, B and 3 more"
std::string some_names(const std::vector<std::string>& names, std::size_t most);

}  // namespace sharpen::command
