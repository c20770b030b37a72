#include "train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>

#include "interrupt.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/learn/configure.hpp"
#include "stderr_log.hpp"

namespace sharpen::app {

namespace {

namespace fs = std::filesystem;
using settings::Values;

std::string shown(const fs::path& file) {
  const std::string name = file.string();
  return printable(name, 4 * name.size());
}

void check_framework(const Values& values) {
  const std::string& framework = values.text("framework");
  if (framework != "pfl" && framework != "dfl")
    throw InputError(fmt::format("{} = {} trains nothing; use pfl or dfl",
                                 values.given_as("framework"), printable(framework)));
}

// The folder beside the model where epochs are kept until the training is done.
class Checkpoints {
 public:
  Checkpoints(const fs::path& model, bool resume) : folder_(model) {
    folder_ += ".partial";
    std::error_code error;
    if (!resume && fs::exists(folder_, error))
      throw InputError(fmt::format(
          "{}: holds a training that was interrupted; go on with --resume, or remove the folder",
          shown(folder_)));
    if (fs::is_directory(model, error))
      throw InputError(fmt::format("{}: is a folder; give the name of a file", shown(model)));
    if (fs::is_regular_file(model, error) && !learn::is_model_file(model))
      throw InputError(fmt::format(
          "{}: is there already, and is no model; give another name, or remove it", shown(model)));
    fs::create_directory(folder_, error);
    if (error)
      throw InputError(fmt::format("{}: cannot be made: {}; check the folder and its permissions",
                                   shown(folder_), error.message()));
  }
  ~Checkpoints() {
    std::error_code error;
    if (fs::is_empty(folder_, error) && !error) fs::remove(folder_, error);
  }
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  const fs::path& folder() const { return folder_; }
  bool holds_any() const {
    std::error_code error;
    return !fs::is_empty(folder_, error) && !error;
  }
  void remove() const {
    std::error_code error;
    fs::remove_all(folder_, error);
  }

 private:
  fs::path folder_;
};

learn::TrainControl control_of(Progress& progress, const Interrupts& interrupts, const Log& log,
                               Index ensemble) {
  learn::TrainControl control;
  control.progress = [&progress](Index done, Index total) { progress.update(done, total); };
  control.stop = [&interrupts] { return interrupts.seen(); };
  control.epoch = [&progress, log, ensemble](const learn::EpochReport& report) {
    std::string text = fmt::format("epoch {}, loss {:.3g}", report.epoch, report.loss);
    if (!std::isnan(report.validation_sharpe))
      text += fmt::format(", validation Sharpe {:.3f} (best: epoch {})", report.validation_sharpe,
                          report.best_epoch);
    if (ensemble > 1) text = fmt::format("member {}, {}", report.member + 1, text);
    progress.note(text);
    log.info(text);
  };
  return control;
}

// A training that fails keeps what it has: the best of every member so far.
[[noreturn]] void keep_last_good(const learn::Diverged& diverged, const fs::path& out,
                                 const Checkpoints& checkpoints) {
  if (!diverged.last_good) throw Failure(fmt::format("{}; nothing was written", diverged.what()));
  learn::write_model(*diverged.last_good, out);
  checkpoints.remove();
  throw Failure(fmt::format("{}; {} holds the last good model, of {} member{}", diverged.what(),
                            shown(out), diverged.last_good->members.size(),
                            diverged.last_good->members.size() == 1 ? "" : "s"));
}

learn::Model trained(const market::PanelInput& input, const learn::TrainSettings& settings,
                     const Values& values, const Log& log) {
  const fs::path out = values.text("out");
  const Checkpoints checkpoints(out, values.flag("resume"));
  const Threads threads(static_cast<int>(values.integer("threads")));
  const Interrupts interrupts;
  Progress progress;
  progress.stage("training");
  learn::TrainControl control = control_of(progress, interrupts, log, settings.ensemble);
  control.checkpoints = checkpoints.folder();
  control.resume = values.flag("resume");
  try {
    learn::Model model =
        learn::train(input.returns, settings, values.real("periods-per-year"), threads, control);
    learn::write_model(model, out);
    checkpoints.remove();
    return model;
  } catch (const learn::Stopped&) {
    throw Failure(checkpoints.holds_any()
                      ? fmt::format("interrupted; {} keeps the epochs that are done: go on with "
                                    "--resume",
                                    shown(checkpoints.folder()))
                      : "interrupted; nothing was written");
  } catch (const learn::Diverged& diverged) {
    keep_last_good(diverged, out, checkpoints);
  }
}

void plan(const Values& values, const market::PanelInput& input,
          const learn::TrainSettings& settings) {
  const Threads threads(static_cast<int>(values.integer("threads")));
  const learn::TrainingPlan plan = learn::plan_training(input.returns, settings, threads);
  print(values.flag("json") ? plan_json(plan, settings) : plan_text(plan, settings));
}

// A member whose best epoch came before the decisions did is one of pfl.
void warn_of_warm_starts(TrainAnswer& answer) {
  const learn::Model& model = answer.model;
  if (model.settings.alpha == 0.0) return;
  const auto early =
      std::count_if(model.members.begin(), model.members.end(), [&](const learn::Member& member) {
        return member.best_epoch <= std::min(model.settings.warm_start, model.settings.epochs - 1);
      });
  if (early > 0)
    answer.warnings.push_back(fmt::format(
        "{} of {} members validated best in the warm start: they know prediction only, as pfl does",
        early, model.members.size()));
}

}  // namespace

void run_train(const Values& values) {
  if (values.flag("print-config")) return print(values.to_toml());
  check_framework(values);
  const learn::TrainSettings settings = learn::training_settings(values);
  const bool dry = values.flag("dry-run");
  if (!dry && !values.has("out"))
    throw InputError("a model must be kept somewhere; give --out FILE, such as model.sharpen");
  keep_inputs(values, {"out"});
  if (values.text("universe") == "available")
    throw InputError(fmt::format(
        "{} = available cannot be trained on, which needs every asset throughout; use complete",
        values.given_as("universe")));
  const Log log = stderr_log(values.text("log-level"));
  TrainAnswer answer{.values = values};
  answer.input = market::read_panel_input(values, log);
  if (dry) return plan(values, answer.input, settings);
  const auto start = std::chrono::steady_clock::now();
  answer.model = trained(answer.input, settings, values, log);
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  answer.warnings = answer.input.warnings;
  warn_of_warm_starts(answer);
  print(values.flag("json") ? train_json(answer) : train_text(answer));
}

}  // namespace sharpen::app
