// Models made by hand, with small random parameters: no training is needed to test what is done
// with one.
#pragma once

#include <string>
#include <vector>

#include "sharpen/base/random.hpp"
#include "sharpen/learn/model.hpp"

namespace sharpen::testing {

struct ModelPlan {
  std::vector<std::string> tickers = {"AAA", "BBB", "CCC"};
  learn::NetworkKind network = learn::NetworkKind::shared;
  Index lookback = 4;
  std::vector<Index> hidden = {3, 2};
  Index members = 2;
  std::uint64_t seed = 1;
};

inline learn::Model made_model(const ModelPlan& plan) {
  learn::Model model;
  model.settings.network = plan.network;
  model.settings.hidden = plan.hidden;
  model.settings.lookback = plan.lookback;
  model.settings.ensemble = plan.members;
  model.tickers = plan.tickers;
  model.first_date = "2015-01-02";
  model.last_date = "2019-12-31";
  model.validation_from = "2019-01-02";
  model.samples = 1000;
  model.validation_samples = 250;
  model.scaling.mean.assign(plan.tickers.size(), 0.0003);
  model.scaling.scale.assign(plan.tickers.size(), 0.0125);
  for (Index m = 0; m < plan.members; ++m) {
    learn::Member member;
    member.network.shape = model.settings.shape(model.n());
    Index inputs = member.network.shape.inputs, parameters = 0;
    for (const Index width : plan.hidden) {
      parameters += (inputs + 1) * width;
      inputs = width;
    }
    parameters += (inputs + 1) * member.network.shape.outputs;
    Random random(plan.seed, static_cast<std::uint64_t>(m));
    for (Index i = 0; i < parameters; ++i)
      member.network.parameters.push_back(static_cast<float>(random.uniform() - 0.5));
    member.epochs = 7;
    member.best_epoch = 3 + m % 5;
    member.validation_loss = -0.001 * static_cast<double>(m + 1);
    member.validation_sharpe = 0.05 * static_cast<double>(m + 1);
    model.members.push_back(std::move(member));
  }
  return model;
}

}  // namespace sharpen::testing
