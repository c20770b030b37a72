// sharpen predict: a trained model, the latest prices, and the portfolio for the next period.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/settings.hpp"
#include "sharpen/command/predict_input.hpp"
#include "sharpen/command/solve.hpp"
#include "sharpen/command/trade_list.hpp"
#include "sharpen/learn/ensemble.hpp"
#include "sharpen/risk/risk.hpp"
#include "sharpen/solve/solve.hpp"

namespace sharpen::command {

// The answer, ready to be shown.
struct Prediction : solve::Choice {
  explicit Prediction(const settings::Values& of) : values(of) {}

  settings::Values values;
  PredictInput input;
  std::unique_ptr<risk::Risk> risk;  // one sample: the window
  double shrinkage = 0.0;
  std::vector<double> mu;  // (n) the members' signal
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
};

// What the caller has in memory: it is not read from the files that settings name.
struct PredictInputs {
  std::optional<learn::Model> model = {};
  std::optional<MemoryPanel> panel = {};
  std::optional<std::vector<backtest::NamedWeight>> previous = {};
};

// Throws InputError for what contradicts itself whatever the files hold.
void check_predict_settings(const settings::Values& values);

// Throws InputError for input that does not fit, Failure if what the model expects is no number.
Prediction predict_answer(const settings::Values& values, PredictInputs inputs, const Log& log);

std::string prediction_json(const Prediction& prediction);

}  // namespace sharpen::command
