// sharpen predict: a trained model, the latest prices, and the portfolio for the next period.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sharpen/backtest/run_files.hpp"
#include "sharpen/base/log.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/command/solve.hpp"
#include "sharpen/command/trades.hpp"
#include "sharpen/learn/ensemble.hpp"
#include "sharpen/learn/model.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/market/panel_input.hpp"
#include "sharpen/risk/risk.hpp"
#include "sharpen/solve/solve.hpp"

namespace sharpen::command {

// A model, and the panel that ends where the portfolio shall begin, its columns matched to the
// model's assets by name.
struct PredictInput {
  std::string file;  // of the panel
  learn::Model model;
  market::Panel returns;           // the model's assets in its order; nothing after the decision
  Window window;                   // its last lookback rows
  std::vector<Index> assets;       // of the model, ascending, that can be held: complete windows
  market::Panel today;             // the returns of those
  std::vector<char> members = {};  // of `returns`, as market::MemberBook has them; empty: all are
  std::vector<std::string> frozen = {};  // names that cannot be traded on the last day
  // What the portfolio is compared with; "": nothing.
  struct {
    std::string ticker;
    std::vector<std::string> dates;
    std::vector<double> returns;
  } benchmark = {};
  std::optional<long> age;        // days from the last row to today, or to --asof
  std::optional<long> model_age;  // likewise, from the last date of the training
  // Last prices by name, also of names the model does not know; empty for a panel of returns.
  std::unordered_map<std::string, double> prices;
  std::vector<std::string> others;  // names of the panel that the model does not know
  std::vector<std::string> warnings;

  ConstMat window_returns() const {
    return today.matrix().middle_rows(today.rows() - window.rows, window.rows);
  }
};

// The answer, ready to be shown.
struct Prediction : solve::Choice {
  explicit Prediction(const settings::Values& of) : values(of) {}

  settings::Values values;
  PredictInput input;
  std::unique_ptr<risk::Risk> risk;  // one sample: the window
  double shrinkage = 0.0;
  std::vector<double> mu;  // (n) the members' signal, as it is remembered
  double unit = 1.0;       // mu in units of the signal that it stands for (trade/memory.hpp)
  std::optional<layer::Limits> limits;
  double agreement = 0.0;
  learn::MemberSpread spread;
  std::optional<Sizes> sizes;  // with --capital
  Trading trading;
  std::vector<std::string> warnings;
  // Names that are held, cannot be traded, and are none of those that can be held today.
  std::vector<backtest::NamedWeight> kept = {};

  // How the portfolio and the benchmark moved together over the window; none without one.
  struct Against {
    double beta = 0.0, correlation = 0.0;
    Index periods = 0;
  };
  std::optional<Against> against() const;

  Index n() const { return input.today.n(); }
  std::size_t members() const { return input.model.members.size(); }
  const std::string& ticker(Index asset) const {
    return input.today.tickers[static_cast<std::size_t>(asset)];
  }
  double weight(Index asset) const { return portfolio.weights[static_cast<std::size_t>(asset)]; }
  // Names that some member holds by itself and the portfolio does not, ascending.
  std::vector<Index> held_by_members_only() const;
  double cash() const;  // with sizes: the capital less the value of the shares wanted
  // Whoever requires a portfolio that is ok does not want another one to take its place.
  bool refused() const;
};

// What the caller has in memory: it is not read from the files that settings name.
struct PredictInputs {
  std::optional<learn::Model> model = {};
  std::optional<market::MemoryPanel> panel = {};
  std::optional<std::vector<backtest::NamedWeight>> previous = {};
};

// Writes the files that --out and --trades name, unless it is refused. Throws InputError for
// settings and input that do not fit, Failure if what the model expects is no number, Interrupted.
Prediction predict_answer(const settings::Values& values, PredictInputs inputs, const Log& log,
                          const Control& control = {});

std::string predict_json(const Prediction& prediction);

// "A, B and 3 more"
std::string some_names(const std::vector<std::string>& names, std::size_t most);

}  // namespace sharpen::command
