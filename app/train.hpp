// sharpen train: a panel in, a model file out.
#pragma once

#include <string>
#include <vector>

#include "sharpen/base/settings.hpp"
#include "sharpen/learn/train.hpp"
#include "sharpen/market/panel_input.hpp"

namespace sharpen::app {

void run_train(const settings::Values& values);

// The answer, ready to be shown.
struct TrainAnswer {
  settings::Values values;
  market::PanelInput input = {};
  learn::Model model = {};
  double seconds = 0.0;
  std::vector<std::string> warnings = {};
};

std::string train_json(const TrainAnswer& answer);
std::string train_text(const TrainAnswer& answer);
std::string plan_json(const learn::TrainingPlan& plan, const learn::TrainSettings& settings);
std::string plan_text(const learn::TrainingPlan& plan, const learn::TrainSettings& settings);

}  // namespace sharpen::app
