// sharpen train: a panel in, a model file out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sharpen/base/log.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/learn/train.hpp"
#include "sharpen/market/panel_input.hpp"

namespace sharpen::command {

// The answer, ready to be shown.
struct TrainAnswer {
  settings::Values values;
  market::PanelInput input = {};
  learn::Model model = {};
  double seconds = 0.0;
  std::vector<std::string> warnings = {};
};

// What a training would take.
struct PlannedTraining {
  learn::TrainingPlan plan;
  learn::TrainSettings settings;
};

// Throws InputError for what cannot be trained whatever the panel holds.
void check_training_settings(const settings::Values& values);

// Trains, and writes the model where --out says, if it does; its epochs are then kept beside it
// until it is done. `panel`: what the caller has in memory, none: what the settings name is read.
// Throws InputError, and Failure for a training that was stopped or diverged.
TrainAnswer train_answer(const settings::Values& values, std::optional<market::MemoryPanel> panel,
                         const Log& log, const learn::TrainControl& control);
PlannedTraining plan_training(const settings::Values& values, const Log& log);

std::string train_json(const TrainAnswer& answer);
std::string plan_json(const PlannedTraining& planned);

}  // namespace sharpen::command
