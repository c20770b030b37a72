// One signal, one risk model, one sparse maximum-Sharpe portfolio, by any optimizer: the work of
// `sharpen solve`, from settings and numbers that are in memory already.
//
//   max mu^T w / sqrt(w^T Sigma w)  s.t.  at most k names, net position as asked, then sized
//
// mu and Sigma are the mean and the (shrunk) covariance of the last rows of a panel of returns,
// or given moments.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/settings.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/baseline/bounds.hpp"
#include "sharpen/market/moments.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/risk/risk.hpp"
#include "sharpen/select/explain.hpp"
#include "sharpen/select/select.hpp"
#include "sharpen/solve/optimizer.hpp"
#include "sharpen/solve/registry.hpp"

namespace sharpen::solve {

struct Window {
  std::string from, to;  // dates of its first and last return
  Index rows = 0;
};

struct SolveInput {
  std::string file;  // for messages; of the covariance where there are two; empty if in memory
  std::vector<std::string> tickers;
  std::vector<double> mu;          // (n)
  market::Panel returns;           // empty for moments; a low-rank risk refers to it
  std::optional<Window> window;    // for panels
  std::vector<double> covariance;  // (n, n) as given, for moments
  double shrinkage = 0.0;
  std::unique_ptr<risk::Risk> risk;   // one sample
  std::vector<std::string> left_out;  // tickers of the file that it is without
  std::vector<std::string> warnings;

  Index n() const { return static_cast<Index>(tickers.size()); }
  // The returns of the window (T, n), for panels.
  ConstMat window_returns() const {
    return returns.matrix().middle_rows(returns.rows() - window->rows, window->rows);
  }
  Problem problem(Index k) const;  // refers to this input
};

// The moments of the last `lookback` rows of simple returns; `file` is for messages. Throws
// InputError for a panel without such a window, Failure for a covariance that cannot be used.
SolveInput window_input(const settings::Values& values, market::Panel returns, std::string file,
                        std::vector<std::string> warnings, const Threads& threads);
// Given moments, cut by --tickers.
SolveInput moments_input(const settings::Values& values, market::Moments moments, std::string file);

// What the weights w add up to.
struct Exposure {
  double gross = 0.0;            // sum |w_i|
  double net = 0.0;              // sum w_i
  double volatility = 0.0;       // sqrt(w^T Sigma w), per period
  double expected_return = 0.0;  // mu^T w, per period
};

// A gross exposure that nobody can want; both commands that hold portfolios say so.
constexpr double kAbsurdGross = 1e3;

// By the signal and the risk model of the problem; weights (n).
Exposure exposure_of(const Problem& problem, ConstVec weights);

// One portfolio of an optimizer, measured and, if asked for, explained. Its bound may also be that
// of
// --certify.
struct Choice : Answer {
  std::string optimizer;
  // Of the problem. settings.optimizer is the one of the score that explains the names.
  select::SelectSettings settings;
  std::shared_ptr<const layer::LimitRules> rules;  // null: none
  double periods_per_year = 252;
  Exposure exposure;
  double full_sharpe = 0.0;  // of the same problem without a bound on the number of names
  std::optional<select::Explanation> explanation;
  bool from_holdings = false;  // another decision than if nothing were held and trading were free

  // A Sharpe ratio or a volatility per year.
  double annualized(double value) const { return value * std::sqrt(periods_per_year); }
  // What is reached of another Sharpe ratio, if that is positive and finite.
  std::optional<double> share_of(double sharpe) const;
  // The status in words.
  std::string_view status_text() const;
  // Assets with a weight other than zero, ascending.
  std::vector<Index> held() const;
  // The reason for an asset of the support; null without an explanation.
  const select::Reason* reason(Index asset) const;
};

// The first step fills what the optimizer gives, the second measures it: its exposure, the full
// Sharpe ratio and the explanation. In between a caller may refuse what was found.
void choose(const OptimizerInfo& optimizer, const OptimizerSettings& settings,
            const Problem& problem, Choice& out);
void measure(const Problem& problem, bool explain, Choice& out);

// What is proved is proved of portfolios that cost nothing to get to: of one that was decided from
// what is held, how near it comes. measure() says it as well.
void restate_proof(const Problem& problem, Choice& out);

// The answer, ready to be shown.
struct Solution : Choice {
  SolveInput input;
  std::vector<std::string> warnings;
};

// What takes the place of the optimizer's own answer: a decision that sees what is held.
struct Revision {
  std::vector<double> holdings;  // (n), that limits of turnover count from
  // Whether the answer is made with them in view already.
  bool of_holdings = false;
  std::function<void(const OptimizerInfo&, const OptimizerSettings&, const Problem&, Choice&)>
      decide;
};

// Chooses and weighs as the settings of `sharpen solve` say. Throws InputError for settings that
// do not fit the input, Failure for numbers out of range, Interrupted once `stop` says so.
Solution solve(const settings::Values& values, SolveInput input, const Stop& stop = {},
               const Revision* revision = nullptr);

}  // namespace sharpen::solve
