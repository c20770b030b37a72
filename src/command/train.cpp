// From settings and a panel to a trained model, and to its file: no printing, no signals.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>

#include "command/json_keys.hpp"
#include "command/model_settings.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/command/output_folder.hpp"
#include "sharpen/command/train.hpp"
#include "sharpen/learn/framework.hpp"
#include "sharpen/learn/settings.hpp"
#include "sharpen/market/members.hpp"
#include "sharpen/trade/costs.hpp"

namespace sharpen::command {

namespace {

namespace fs = std::filesystem;
using settings::Values;

// A training, read and cleaned.
struct Training {
  TrainAnswer answer;  // without a model
  learn::TrainSettings settings;
  std::vector<char> members = {};  // as learn::train takes them
  double cost_bps = 0.0;           // of trading, for whoever uses the model

  learn::Model charged(learn::Model model) const {
    model.cost_bps = cost_bps;
    return model;
  }
};

void check_framework(const Values& values) {
  const std::string& framework = values.text("framework");
  if (!learn::framework_named(framework).learns)
    throw InputError(fmt::format("{} = {} trains nothing; use pfl or dfl",
                                 values.given_as("framework"), printable(framework)));
}

// The folder beside the model where epochs are kept until the training is done, locked meanwhile.
class Checkpoints {
 public:
  Checkpoints(const fs::path& model, bool resume) : folder_(model) {
    std::error_code error;
    if (fs::is_symlink(model, error)) folder_ = link_target(model);  // one model, one folder
    folder_ += ".partial";
    if (fs::is_symlink(folder_, error))
      throw InputError(fmt::format(
          "{}: is a link, and checkpoints are kept there; remove it, or give another ‹--out›",
          shown(folder_)));
    if (fs::is_directory(model, error))
      throw InputError(fmt::format("{}: is a folder; give the name of a file", shown(model)));
    if (fs::is_regular_file(model, error) && !learn::is_model_file(model))
      throw InputError(fmt::format(
          "{}: is there already, and is no model; give another name, or remove it", shown(model)));
    // A training that ends removes the folder: what it removed between the two is made again.
    for (int attempt = 0; attempt < 10 && !(lock_ && lock_->held()); ++attempt) make_and_lock();
    if (!resume && holds_any())
      throw InputError(fmt::format(
          "{}: holds a training that was interrupted; go on with ‹--resume›, or remove the folder",
          shown(folder_)));
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
  // The checkpoints, and the folder unless it holds something of somebody's.
  void remove() const {
    std::error_code error;
    std::vector<fs::path> ours;
    for (const auto& entry : fs::directory_iterator(folder_, error)) {
      const std::string name = entry.path().filename().string();
      const std::size_t number = learn::kCheckpointPrefix.size();
      if (name.starts_with(learn::kCheckpointPrefix) && name.size() > number &&
          std::isdigit(static_cast<unsigned char>(name[number])) != 0)
        ours.push_back(entry.path());
    }
    for (const fs::path& file : ours) fs::remove(file, error);
    fs::remove(folder_, error);
  }

 private:
  void make_and_lock() {
    std::error_code error, ignored;
    fs::create_directory(folder_, error);
    const bool is_gone = error == std::errc::file_exists && !fs::exists(folder_, ignored);
    if (error && !is_gone)
      throw InputError(fmt::format("{}: cannot be made: {}; check the folder and its permissions",
                                   shown(folder_), error.message()));
    lock_.emplace(folder_, PathLock::If::free);
    if (lock_->taken())
      throw InputError(fmt::format(
          "{}: another process is training this model; wait for it, or give another ‹--out›",
          shown(folder_)));
  }

  fs::path folder_;
  std::optional<PathLock> lock_;
};

// A training that fails keeps what it has: the best of every member so far.
[[noreturn]] void keep_last_good(const learn::Diverged& diverged, const Training& job,
                                 const Checkpoints& checkpoints) {
  if (!diverged.last_good) throw Failure(fmt::format("{}; nothing was written", diverged.marked()));
  const fs::path out = job.answer.values.text("out");
  learn::write_model(job.charged(*diverged.last_good), out);
  checkpoints.remove();
  throw Failure(
      fmt::format("{}; {} holds the last good model, of {}", diverged.marked(), shown(out),
                  counted(static_cast<Index>(diverged.last_good->members.size()), "member")));
}

// Kept beside the model while it is trained, unless there is no file to be beside.
learn::Model train_to_file(Training& job, learn::TrainControl control) {
  const Values& values = job.answer.values;
  control.warn = [&warnings = job.answer.warnings](std::string text) {
    if (std::ranges::find(warnings, text) == warnings.end()) warnings.push_back(std::move(text));
  };
  const fs::path out = values.text("out");
  const Checkpoints checkpoints(out, values.flag("resume"));
  control.checkpoints = checkpoints.folder();
  control.resume = values.flag("resume");
  const Threads threads(static_cast<int>(values.integer("threads")));
  try {
    learn::Model model =
        job.charged(learn::train(job.answer.input.returns, job.settings,
                                 values.real("periods-per-year"), threads, control, job.members));
    learn::write_model(model, out);
    checkpoints.remove();
    return model;
  } catch (const Interrupted&) {
    throw Failure(
        checkpoints.holds_any()
            ? fmt::format("interrupted; {} keeps the epochs that are done: go on with ‹--resume›",
                          shown(checkpoints.folder()))
            : "interrupted; nothing was written");
  } catch (const learn::Diverged& diverged) {
    keep_last_good(diverged, job, checkpoints);
  }
}

learn::Model train_in_memory(const Training& job, const learn::TrainControl& control) {
  const Values& values = job.answer.values;
  const Threads threads(static_cast<int>(values.integer("threads")));
  try {
    return job.charged(learn::train(job.answer.input.returns, job.settings,
                                    values.real("periods-per-year"), threads, control,
                                    job.members));
  } catch (const Interrupted&) {
    throw Failure("interrupted");
  } catch (const learn::Diverged& diverged) {
    throw Failure(diverged.marked());
  }
}

// An ensemble whose best epoch came before the decisions did is one of pfl.
void warn_of_warm_starts(TrainAnswer& answer) {
  const learn::Model& model = answer.model;
  if (model.settings.alpha == 0.0) return;
  if (model.members.front().best_epoch <=
      std::min(model.settings.warm_start, model.settings.epochs - 1))
    answer.warnings.emplace_back(
        "the ensemble validated best in the warm start: it knows prediction only, as pfl does");
}

// What trading costs, of a file the mean over the training dates. The first decision of a training
// is made at the end of its first window.
void charge(Training& job) {
  const Values& values = job.answer.values;
  const settings::NumberOrFile& bps = values.number_or_file("cost-bps");
  job.cost_bps = bps.number;
  if (bps.file.empty()) return;
  const market::Panel& returns = job.answer.input.returns;
  const Index first = std::min(job.settings.lookback, returns.rows()) - 1;
  const trade::CostBook book(bps, returns.tickers, returns.left_out, returns.dates[at(first)]);
  job.cost_bps = book.mean_bps(returns.dates);
  if (learn::takes_file_costs(values)) job.settings.train_cost_bps = job.cost_bps;
}

Training read_training(const Values& values, std::optional<market::MemoryPanel> panel,
                       const Log& log) {
  check_framework(values);
  // Not within the braces: GCC 12 destroys the answer twice if settings that are refused throw
  // there.
  learn::TrainSettings settings = learn::training_settings(values);
  Training job{.answer = {.values = values}, .settings = std::move(settings)};
  keep_inputs(values, {"out"});
  if (job.settings.network == learn::NetworkKind::joint)
    for (const char* name : {"universe", "members"})
      if (values.has(name) && values.text(name) != "complete")
        throw InputError(fmt::format(
            "{} cannot go with network = joint, which needs every asset throughout; use ‹--network "
            "shared›, or {}",
            name == std::string_view("universe") ? "universe = available" : "members",
            name == std::string_view("universe") ? "‹--universe complete›" : "leave them out"));
  job.answer.input = market::panel_input(values, std::move(panel), log);
  charge(job);
  if (values.has("members")) {
    const market::Panel& returns = job.answer.input.returns;
    const market::MemberBook book(values.text("members"));
    job.members = book.states(returns.dates, returns.tickers, returns.left_out);
    job.answer.warnings = book.warnings(returns.dates, returns.tickers, returns.left_out);
  }
  return job;
}

Keys<TrainAnswer> train_keys() {
  return answer_keys<TrainAnswer>(
      "train", "`train`",
      {{{"out", "the model file", [](auto& a) { return a.values.text("out"); }},
        {"framework", "`pfl` or `dfl`", [](auto& a) { return a.values.text("framework"); }},
        {"preset", "`default` or `paper`", [](auto& a) { return a.values.text("preset"); }},
        {"n", "assets, and most names to hold", [](auto& a) { return a.model.n(); }},
        {"k", "", [](auto& a) { return a.model.settings.mandate.k.of(a.model.n(), "k"); }},
        {"alpha", "weight of the decision loss; 0 for `pfl`",
         [](auto& a) { return a.model.settings.alpha; }},
        {"network", "`joint` or `shared`, and the parameters of one member",
         [](auto& a) { return name(a.model.settings.network); }},
        {"parameters", "",
         [](auto& a) { return a.model.settings.shape(a.model.n()).parameters(); }},
        {"from", "first and last date of the returns, validation included",
         [](auto& a) { return a.model.first_date; }},
        {"to", "", [](auto& a) { return a.model.last_date; }},
        {"samples", "samples that train, and that validate",
         [](auto& a) { return a.model.samples; }},
        {"validation_samples", "", [](auto& a) { return a.model.validation_samples; }},
        {"validation_from", "date of the first validated period; null without validation",
         [](auto& a) { return text_or_null(a.model.validation_from); }},
        {"cost_bps", "what trading costs, in basis points, for whoever uses the model",
         [](auto& a) { return a.model.cost_bps; }},
        {"train_cost_bps",
         "cost of trading, in basis points, in the loss of blocks and in the validation",
         [](auto& a) { return a.model.settings.train_cost_bps; }},
        list<TrainAnswer>("members", "one object per member",
                          member_keys("epochs run, and the one that was kept, the same for all",
                                      "decision loss of the ensemble in the kept epoch, after "
                                      "costs of `train_cost_bps`; null without validation",
                                      "likewise; they chose the epoch, and flatter"),
                          [](auto& a) { return members_of(a.model); }),
        {"seed", "as given", [](auto& a) { return a.model.settings.seed; }},
        {"seconds", "time taken", &TrainAnswer::seconds},
        {"warnings", "list of texts", &TrainAnswer::warnings}}});
}

// Its keys are listed in words.
Keys<PlannedTraining> plan_keys() {
  return answer_keys<PlannedTraining>(
      "train", "",
      {{{"dry_run", "", [](auto&) { return true; }},
        {"samples", "", [](auto& p) { return p.plan.samples; }},
        {"validation_samples", "", [](auto& p) { return p.plan.validation_samples; }},
        {"batches_per_epoch", "", [](auto& p) { return p.plan.batches; }},
        {"parameters", "", [](auto& p) { return p.plan.parameters; }},
        {"members", "", [](auto& p) { return p.settings.ensemble; }},
        {"epochs_at_most", "", [](auto& p) { return p.settings.epochs; }},
        {"minutes_at_most", "", [](auto& p) { return p.plan.minutes; }},
        {"gigabytes", "", [](auto& p) { return p.plan.gigabytes; }},
        {"warnings", "", [](auto&) { return Json::array(); }}}});
}

}  // namespace

void check_training_settings(const Values& values) {
  check_framework(values);
  learn::training_settings(values);
}

PlannedTraining plan_training(const Values& values, const Log& log) {
  const Training job = read_training(values, {}, log);
  const Threads threads(static_cast<int>(values.integer("threads")));
  return {learn::plan_training(job.answer.input.returns, job.settings, threads, job.members),
          job.settings};
}

TrainAnswer train_answer(const Values& values, std::optional<market::MemoryPanel> panel,
                         const Log& log, const learn::TrainControl& control) {
  Training job = read_training(values, std::move(panel), log);
  control.begin("training");
  const auto start = std::chrono::steady_clock::now();
  learn::Model model =
      job.answer.values.has("out") ? train_to_file(job, control) : train_in_memory(job, control);
  TrainAnswer answer = std::move(job.answer);
  answer.model = std::move(model);
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  answer.warnings.insert(answer.warnings.begin(), answer.input.warnings.begin(),
                         answer.input.warnings.end());
  warn_of_warm_starts(answer);
  return answer;
}

std::string train_json(const TrainAnswer& answer) { return json_text<train_keys>(answer); }

std::string plan_json(const PlannedTraining& planned) { return json_text<plan_keys>(planned); }

Section train_section() {
  return {"train",
          {"",
           "With `--dry-run`: `schema_version`, `command`, `dry_run` (true), `samples`, "
           "`validation_samples`,\n`batches_per_epoch`, `parameters`, `members`, `epochs_at_most`, "
           "`minutes_at_most`, `gigabytes`,\n`warnings`."},
          listed(train_keys())};
}

}  // namespace sharpen::command
