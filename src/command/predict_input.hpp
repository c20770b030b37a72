// What `sharpen predict` reads.
#pragma once

#include "sharpen/command/predict.hpp"

namespace sharpen::command {

inline constexpr std::size_t kMostNames = 8;  // in a message

// The rule that decisions for a model are made by, unless the settings say otherwise its own.
trade::Ruling ruling_of_model(const settings::Values& values, const learn::Model& model);

// Throws InputError for a file that is no model, a panel that lacks an asset of the model or a
// return in the window, and one that is older than --max-age or from the future.
// `model`, `panel`: what the caller has in memory, none: they are read.
PredictInput read_predict_input(const settings::Values& values, std::optional<learn::Model> model,
                                std::optional<market::MemoryPanel> panel, const Log& log);

}  // namespace sharpen::command
