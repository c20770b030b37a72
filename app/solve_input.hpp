// What `sharpen solve` reads: a signal mu and a risk model over named assets, from a panel of
// prices or returns, from given moments, or from the built-in example.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sharpen/base/log.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::app {

struct Window {
  std::string from, to;  // dates of its first and last return
  Index rows = 0;
};

struct SolveInput {
  std::string file;  // for messages; of the covariance where there are two; empty for the example
  std::vector<std::string> tickers;
  std::vector<double> mu;          // (n)
  market::Panel returns;           // empty for moments; a low-rank risk refers to it
  std::optional<Window> window;    // for panels
  std::vector<double> covariance;  // (n, n) as given, for moments
  double shrinkage = 0.0;
  std::unique_ptr<risk::Risk> risk;  // one sample
  std::vector<std::string> warnings;

  Index n() const { return static_cast<Index>(tickers.size()); }
  // The returns of the window (T, n), for panels.
  ConstMat window_returns() const {
    return returns.matrix().middle_rows(returns.rows() - window->rows, window->rows);
  }
};

// Throws InputError for what contradicts itself whatever the files hold; nothing given is fine.
void check_solve_settings(const settings::Values& values);

SolveInput read_solve_input(const settings::Values& values, const Threads& threads, const Log& log);

}  // namespace sharpen::app
