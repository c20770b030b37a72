// pfl and dfl: expected returns of networks, each trained on rows before those it is asked about.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sharpen/backtest/policies.hpp"
#include "sharpen/backtest/walk_forward.hpp"
#include "sharpen/learn/model.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::backtest {

struct LearnedSettings {
  learn::TrainSettings training;  // of a given model only shrinkage and form are read
  double periods_per_year = 252.0;
  Index training_rows = 0;  // rows before the first decision's period
  Index retrain = 0;        // periods between trainings, each on all rows before; 0: train once
  // N of a signal with a memory (trade/memory.hpp), each training's from its own expectations of
  // the rows before a decision; none: the signal as it is.
  std::optional<Index> memory;
  // What trainings charge: the mean over the dates of each; null: training.train_cost_bps.
  std::shared_ptr<const trade::CostBook> costs;
  std::vector<char> members = {};  // as WalkSettings has them
};

// What one training came to.
struct TrainingRecord {
  std::string first_date, last_date;   // of the returns it saw
  std::vector<learn::Member> members;  // without their parameters
};

// The signal of every decision row, computed before the walk.
struct Expectations {
  std::vector<Index> rows;          // of the panel, that decisions are made at, ascending
  std::vector<Expectation> values;  // (rows, n)
  std::vector<TrainingRecord> trainings;
  std::optional<Index> memory;  // as LearnedSettings has it
};

// Row d uses the T rows up to d, and a network trained on rows up to d at most. The members'
// expectations become one signal by Sigma of the window (learn/ensemble.hpp). With `given` nothing
// is trained. Throws InputError, and Interrupted.
Expectations learned_expectations(const market::Panel& returns, std::span<const Index> rows,
                                  const LearnedSettings& settings, const learn::Model* given,
                                  const Threads& threads, const Control& control);

// Throws InputError as the first training would, before it computes anything.
void check_learning(const market::Panel& returns, const LearnedSettings& settings);

// Perfect foresight: what every asset returned in the period after each decision row.
std::unique_ptr<const SignalSource> hindsight(const market::Panel& returns,
                                              std::span<const Index> rows);

// What perfect foresight would have earned more, with the same optimizer: means over the decisions
// of r' w(r) - r' w(mu), and of r' w(r), before costs.
struct Regret {
  double mean = 0.0, oracle = 0.0;

  double relative() const { return mean / oracle; }
};

// Of two runs over the same periods, as far as both go.
Regret regret(const Run& run, const Run& oracle);

// The columns of the model's tickers, in its order; a ticker that the panel lacks is an InputError
// that names it, and one that the model does not know leaves, with a warning.
market::Panel match_model(const market::Panel& returns, const learn::Model& model,
                          std::vector<std::string>& warnings);

// The rows of the panel that the model has seen: the first row dated after its last date.
Index first_unseen_row(const market::Panel& returns, const learn::Model& model);

}  // namespace sharpen::backtest
