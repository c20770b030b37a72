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
#include "sharpen/learn/ensemble.hpp"
#include "sharpen/learn/model.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/market/panel_input.hpp"
#include "sharpen/risk/risk.hpp"
#include "sharpen/solve/solve.hpp"

namespace sharpen::command {

// From the weights held to the weights wanted: one row per name that changes, in weights and, for
// an account of a given size, in shares.
//   shares = round(weight * capital / price / lot) * lot,  half away from zero.

// What turns weights into shares.
struct Sizes {
  double capital = 0.0;
  double lot = 1.0;
  std::unordered_map<std::string, double> prices = {};

  std::optional<double> price(const std::string& asset) const;  // the last, if there is one
  std::optional<double> shares(const std::string& asset, double weight) const;  // with a price
};

struct TradeRow {
  struct Shares {
    double price = 0.0, from = 0.0, to = 0.0;

    double trade() const { return to - from; }
  };

  std::string asset;
  double from = 0.0, to = 0.0;        // weights
  std::optional<Shares> shares = {};  // with sizes and a price

  double trade() const { return to - from; }
};

// Wanted names first, in their order, then names that are only held. `sizes` may be null.
std::vector<TradeRow> trade_list(const std::vector<backtest::NamedWeight>& held,
                                 const std::vector<backtest::NamedWeight>& wanted,
                                 const Sizes* sizes);

// asset,from,to,trade; with sizes also price,shares.
std::string trade_csv(const std::vector<TradeRow>& trades, bool with_shares);

// Sum of |trade|.
double turnover(const std::vector<TradeRow>& trades);

// A share count in full: 100000, not 1e+05.
std::string share_text(double shares);

// A model, and the panel that ends where the portfolio shall begin, its columns matched to the
// model's assets by name.
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

// The answer, ready to be shown.
struct Prediction : solve::Choice {
  explicit Prediction(const settings::Values& of) : values(of) {}

  settings::Values values;
  PredictInput input;
  std::unique_ptr<risk::Risk> risk;  // one sample: the window
  double shrinkage = 0.0;
  std::vector<double> mu;  // (n) the members' signal
  std::optional<layer::Limits> limits;
  double agreement = 0.0;
  learn::MemberSpread spread;
  std::optional<Sizes> sizes;  // with --capital
  std::vector<TradeRow> trades;
  std::vector<std::string> warnings;

  Index n() const { return input.model.n(); }
  std::size_t members() const { return input.model.members.size(); }
  const std::string& ticker(Index asset) const {
    return input.model.tickers[static_cast<std::size_t>(asset)];
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
