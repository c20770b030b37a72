// sharpen solve: one signal, one risk model, one sparse maximum-Sharpe portfolio.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/settings.hpp"
#include "sharpen/baseline/bounds.hpp"
#include "sharpen/baseline/sdr.hpp"
#include "sharpen/select/explain.hpp"
#include "sharpen/select/select.hpp"
#include "solve_input.hpp"

namespace sharpen::app {

// Reads, solves and prints, as the settings say.
void solve(settings::Values values);

// What the weights w add up to.
struct Exposure {
  double gross = 0.0;            // sum |w_i|
  double net = 0.0;              // sum w_i
  double volatility = 0.0;       // sqrt(w^T Sigma w), per period
  double expected_return = 0.0;  // mu^T w, per period
};

// The answer, ready to be shown.
struct Solution {
  SolveInput input;
  std::string optimizer;
  // settings.optimizer is not used where the optimizer is a baseline.
  select::SelectSettings settings;
  double periods_per_year = 252;
  select::Portfolio portfolio;
  std::optional<Index> iterations;             // of an optimizer that iterates
  std::optional<bool> certified;               // of one that can prove what it found
  std::optional<baseline::SdrPortfolio> sdr;   // of sdr, its portfolio moved out
  std::optional<baseline::SharpeBound> bound;  // of --certify, or of the relaxation behind sdr
  Exposure exposure;
  double full_sharpe = 0.0;  // of the same problem without a bound on the number of names
  std::optional<select::Explanation> explanation;
  std::vector<std::string> warnings;

  // A Sharpe ratio or a volatility per year.
  double annualized(double value) const { return value * std::sqrt(periods_per_year); }
  // sharpe / full_sharpe; NaN where the full Sharpe ratio is not positive.
  double share_of_full() const;
  // sharpe / bound->sharpe: what is reached for certain of the best possible; NaN if it is not
  // positive.
  double share_of_bound() const;
  // The status in words.
  std::string_view status_text() const;
  // Assets with a weight other than zero, ascending.
  std::vector<Index> held() const;
  // The reason for an asset of the support; null without an explanation.
  const select::Reason* reason(Index asset) const;
};

// Chooses and weighs: fills what of `solution` depends on the optimizer, and the bound.
void optimize(const settings::Values& values, Solution& solution);

std::string_view name(layer::Sizing sizing);
std::string_view name(layer::Net net);
std::string_view name(risk::Form form);

std::string solution_json(const Solution& solution);
std::string solution_text(const Solution& solution);

}  // namespace sharpen::app
