// The commands of the program. Each reads, works, writes and prints as its settings say; what turns
// settings into an answer is the library's (sharpen/command).
#pragma once

#include <filesystem>
#include <string>

#include "sharpen/base/settings.hpp"
#include "sharpen/command/doctor.hpp"
#include "sharpen/command/predict.hpp"
#include "sharpen/command/solve.hpp"
#include "sharpen/command/train.hpp"
#include "sharpen/learn/model.hpp"
#include "sharpen/study/run.hpp"

namespace sharpen::app {

void run_solve(settings::Values values);
void run_doctor(const settings::Values& values);
void run_simulate(const settings::Values& values);
void run_backtest(const settings::Values& values);
void run_compare(const settings::Values& values);
void run_train(const settings::Values& values);
void run_predict(const settings::Values& values);
void run_inspect(const settings::Values& values);
void run_study(const settings::Values& values);
void run_report(const settings::Values& values);

// Answers on a terminal. `file`: that of the study.
std::string solution_text(const command::Solution& solution);
std::string diagnosis_text(const command::Diagnosis& diagnosis);
std::string train_text(const command::TrainAnswer& answer);
std::string plan_text(const learn::TrainingPlan& plan, const learn::TrainSettings& settings);
std::string prediction_text(const command::Prediction& prediction);
std::string inspection_text(const learn::ModelFile& file, const std::string& path);
std::string study_text(const study::Tally& tally, const std::filesystem::path& file);
std::string estimate_text(const study::Estimate& estimate, int threads);
std::string list_text(const study::Results& results, const std::filesystem::path& file);

}  // namespace sharpen::app
