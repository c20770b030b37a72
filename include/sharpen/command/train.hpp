// sharpen train: a panel in, a model file out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sharpen/base/log.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/command/memory_panel.hpp"
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

// A training, read and cleaned.
struct TrainJob {
  TrainAnswer answer;  // without a model
  learn::TrainSettings settings;
};

// Throws InputError for what cannot be trained whatever the panel holds.
void check_training_settings(const settings::Values& values);

// `panel`: what the caller has in memory, none: what the settings name is read.
TrainJob read_training(const settings::Values& values, std::optional<MemoryPanel> panel,
                       const Log& log);
// Trains, and writes the model where --out says, if it does; its epochs are then kept beside it
// until it is done. Throws InputError, and Failure for a training that was stopped or diverged.
TrainAnswer run_job(TrainJob job, const learn::TrainControl& control);

std::string train_json(const TrainAnswer& answer);
std::string plan_json(const learn::TrainingPlan& plan, const learn::TrainSettings& settings);

}  // namespace sharpen::command
