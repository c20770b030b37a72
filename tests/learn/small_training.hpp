// Trainings on small simulated markets, for tests.
#pragma once

#include "sharpen/learn/settings.hpp"
#include "sharpen/market/simulate.hpp"

namespace sharpen::learn {

inline market::Panel simulated_returns(Index assets, Index days, std::uint64_t seed) {
  market::SimulationSettings settings;
  settings.assets = assets;
  settings.days = days;
  settings.seed = seed;
  return market::simple_returns(market::simulate(settings));
}

inline TrainSettings small_settings() {
  TrainSettings s;
  s.network = NetworkKind::joint;
  s.inputs = Inputs::returns;
  s.alpha = 0.5;
  s.mixing = Mixing::balanced;
  s.prediction_loss = PredictionLoss::squared;
  s.horizon = 1;
  s.warm_start = 1;
  s.layer.reoptimization = layer::Reoptimization::restricted;
  s.ensemble = 1;
  s.hidden = {12, 6};
  s.lookback = 20;
  s.mandate.k = {.count = 3, .percent = 0.0};
  s.mandate.sizing = {.kind = layer::Sizing::volatility, .target_volatility = 0.006};
  s.batch = 16;
  s.train_block = 24;
  s.rules.memory = 2;
  s.epochs = 4;
  s.validation = 0.2;
  s.patience = 2;
  s.seed = 7;
  return s;
}

}  // namespace sharpen::learn
