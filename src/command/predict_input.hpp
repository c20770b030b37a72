// What `sharpen predict` reads.
#pragma once

#include "sharpen/command/predict.hpp"

namespace sharpen::command {

inline constexpr std::size_t kMostNames = 8;  // in a message

// The rule that decisions for a model are made by, unless the settings say otherwise its own.
trade::Ruling ruling_of_model(const settings::Values& values, const learn::Model& model);

// Throws InputError for an --asof that is no date.
void check_asof(const settings::Values& values);
// Whether the last day of a date, perhaps of a month or a year, is before that of another. False
// for what is no date.
bool ends_before(const std::string& a, const std::string& b);
// Days from the day of a list of positions to the last of these dates, which a list should not be
// much older than: else a warning is added.
std::optional<long> age_of_positions(const std::string& date, const std::vector<std::string>& dates,
                                     std::vector<std::string>& warnings);
// Days from the last of these dates, or from the end of a model's training, to today or --asof;
// none where dates are of another form. Throws InputError for what is older than asked for, and for
// prices from the future; adds a warning for what is old without a bound.
std::optional<long> age_of_prices(const settings::Values& values, const std::string& file,
                                  const std::vector<std::string>& dates,
                                  std::vector<std::string>& warnings);
std::optional<long> age_of_model(const settings::Values& values, const learn::Model& model,
                                 const std::string& date, std::vector<std::string>& warnings);

// Throws InputError for a file that is no model, a panel that lacks an asset of the model or a
// return in the window, and one that is older than --max-age or from the future.
// `model`, `panel`: what the caller has in memory, none: they are read.
PredictInput read_predict_input(const settings::Values& values, std::optional<learn::Model> model,
                                std::optional<market::MemoryPanel> panel, const Log& log);

}  // namespace sharpen::command
