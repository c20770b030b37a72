// The commands of the program: each reads its flags, has the library answer, and prints.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sharpen/base/settings.hpp"
#include "sharpen/command/doctor.hpp"
#include "sharpen/command/inspect.hpp"
#include "sharpen/command/merge.hpp"
#include "sharpen/command/orders.hpp"
#include "sharpen/command/predict.hpp"
#include "sharpen/command/solve.hpp"
#include "sharpen/command/study.hpp"
#include "sharpen/command/train.hpp"

namespace sharpen::app {

// Runs the command that the settings are of.
void run_command(const settings::Values& values);

// Answers on a terminal. Those of backtest and compare are the library's: Python shows them, too.
std::string solve_text(const command::Solution& solution);
std::string doctor_text(const command::Diagnosis& diagnosis);
std::string train_text(const command::TrainAnswer& answer);
std::string plan_text(const command::PlannedTraining& planned);
std::string predict_text(const command::Prediction& prediction);
std::string orders_text(const command::OrdersAnswer& answer);
std::string inspect_text(const command::Inspection& inspection);
std::string study_text(const command::StudyAnswer& answer);
std::string merge_text(const command::MergeAnswer& answer);

// For these answers: a name, in a column, and what is said of it; and the widest ticker of a table.
std::string line(std::string_view name, const std::string& text);
inline constexpr std::size_t kWidestName = 24;
// How old prices and a model are; "": there is no model.
std::string ages_text(std::optional<long> prices, std::optional<long> model,
                      const std::string& trained_to);

}  // namespace sharpen::app
