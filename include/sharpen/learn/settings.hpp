// What a training is made of (docs/learning.md): a network, a layer, a loss and a rule to stop.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "sharpen/base/named.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/layer/mandate.hpp"
#include "sharpen/layer/sparse_tangent.hpp"
#include "sharpen/learn/network.hpp"
#include "sharpen/risk/risk.hpp"
#include "sharpen/trade/settings.hpp"

namespace sharpen::learn {

enum class NetworkKind {
  joint,   // all T n returns of a window in, n expectations out
  shared,  // the T returns of one asset in, its expectation out; one network for every asset
};
constexpr std::array<std::string_view, 2> names(NetworkKind) { return {"joint", "shared"}; }
constexpr std::string_view name(NetworkKind value) { return name_of(value); }

// What a shared network sees of an asset's window:
enum class Inputs {
  returns,  // its T returns
  sums,     // its last five returns, sums of those before over ever longer stretches, and how
            // volatile it is (samples.hpp)
};
constexpr std::array<std::string_view, 2> names(Inputs) { return {"returns", "sums"}; }
constexpr std::string_view name(Inputs value) { return name_of(value); }

// How alpha weighs the decision gradient against the prediction gradient at mu:
enum class Mixing {
  literal,   // as they come: alpha (-r'w) + (1 - alpha) |mu - r|^2
  balanced,  // the decision gradient scaled to the root mean square of the other, batch by batch
};
constexpr std::array<std::string_view, 2> names(Mixing) { return {"literal", "balanced"}; }
constexpr std::string_view name(Mixing value) { return name_of(value); }

enum class DecisionLoss {
  mean_return,  // "return": -r'w, the paper's
  sharpe,       // -mean(r'w) / sd(r'w) over the batch
};
constexpr std::array<std::string_view, 2> names(DecisionLoss) { return {"return", "sharpe"}; }
constexpr std::string_view name(DecisionLoss value) { return name_of(value); }

// What is wrong with an expectation, e = mu - r:
enum class PredictionLoss {
  squared,  // |e|^2, the paper's
  risk,     // e' Sigma^-1 e, times the square of the returns' unit: an error counts by what it is
            // worth to a portfolio
};
constexpr std::array<std::string_view, 2> names(PredictionLoss) { return {"squared", "risk"}; }
constexpr std::string_view name(PredictionLoss value) { return name_of(value); }

// Who decides for networks, where a rule looks at what is held.
constexpr std::string_view kDecider = "swap";

// The defaults are those of --preset default.
struct TrainSettings {
  // Predictor.
  NetworkKind network = NetworkKind::shared;
  Inputs inputs = Inputs::sums;  // of a shared network; a joint one sees returns
  std::vector<Index> hidden = {64, 32};
  Index lookback = risk::kWindowRows;  // T

  // Loss.
  double alpha = 0.2;  // 0: prediction only
  Mixing mixing = Mixing::balanced;
  DecisionLoss decision_loss = DecisionLoss::mean_return;
  PredictionLoss prediction_loss = PredictionLoss::risk;
  Index horizon = 10;    // h: the target is the mean return of the next h periods
  Index warm_start = 1;  // epochs of prediction only before alpha applies, in the last one at least

  // Layer: sized to a volatility of 10 % a year of 252 periods, and masked (docs/learning.md says
  // why). layer.beta is of the first epoch.
  layer::MandateSettings mandate = {
      .sizing = layer::per_period({.kind = layer::Sizing::volatility}, 252.0)};
  layer::SoftSettings layer = {.reoptimization = layer::Reoptimization::masked};
  double beta_final = 0.0;  // beta of the last epoch, reached geometrically; 0: constant
  double shrinkage = risk::kWindowShrinkage;
  risk::Form form = risk::Form::automatic;

  // Trading: what decisions are made of what is held, in validation and by whoever uses the model.
  trade::RuleSettings rules;
  double train_cost_bps = 5.0;  // in the loss of blocks, and in validation
  // B: consecutive samples per step that decides. The first of them only feed the memory. 0:
  // `batch` samples of any days, with neither memory nor costs in the loss.
  Index train_block = 64;

  // Optimization.
  Index batch = 64;
  AdamSettings adam;
  Index epochs = 6;         // at most
  double validation = 0.0;  // share of the samples, the last ones; 0: none, all epochs are run
  Index patience = 5;       // epochs without a better validation loss before stopping

  Index ensemble = 8;  // members
  std::uint64_t seed = 0;

  // Whether the loss looks at covariances.
  bool needs_risk() const { return alpha > 0.0 || prediction_loss == PredictionLoss::risk; }
  // Throws InputError naming field, value and bound. n: assets.
  void validate(Index n) const;
  Shape shape(Index n) const;  // of one network
  // As validation and the memory of the loss take them: of the optimizer `swap`.
  trade::Ruling ruling() const;
  // Samples before a decision that its memory reaches back to.
  Index memory_rows() const;
  // Whether steps that decide are blocks of consecutive samples.
  bool in_blocks() const { return alpha > 0.0 && train_block > 0; }
  // limits: those of the mandate, for the samples of a risk model.
  layer::LayerSettings layer_for(
      Index n, std::shared_ptr<const layer::LimitSchedule> limits = nullptr) const;
  // The same for a day with m of the names: a count that they cannot fill is no mistake.
  layer::LayerSettings layer_of_day(Index m,
                                    std::shared_ptr<const layer::LimitSchedule> limits) const;
};

// Of a command that takes the settings of a training. framework = pfl is a training with alpha 0.
// What a file of costs comes to depends on the panel, and is left to the caller: takes_file_costs.
TrainSettings training_settings(const settings::Values& values);

// Whether train_cost_bps is the mean of the file `cost-bps` over the training dates.
bool takes_file_costs(const settings::Values& values);

}  // namespace sharpen::learn
