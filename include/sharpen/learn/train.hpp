// Training: samples in, a model out.
//
// Sample s has the window of T rows that ends before row e_s, its covariance, and as target the
// mean of the h rows from e_s on. Samples are in order of time; the last share of them validates,
// and if h > 1 the h before those are left out, so that no training target reaches into the
// validation.
// Each epoch walks the training samples in an order drawn from (seed, member, epoch): one by one,
// or in blocks of consecutive ones where they are decided on (docs/learning.md). After each, the
// ensemble decides on the validation part day by day from what it holds, and pays for it; the
// parameters of the epoch with the best decision loss after costs are kept, the same epoch for all
// members, whatever alpha is.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sharpen/base/control.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/learn/model.hpp"
#include "sharpen/learn/settings.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::learn {

struct EpochReport {
  Index member = 0, epoch = 0;  // epoch from 1
  double loss = 0.0;            // training, mean over the batches
  double prediction_loss = 0.0, decision_loss = 0.0;
  std::optional<double> validation_loss = {}, validation_sharpe = {};  // of the ensemble
  Index best_epoch = 0;
};

// The name of a checkpoint is this, and the number of the member.
constexpr std::string_view kCheckpointPrefix = "member-";

// Progress is in batches, of those that may come at most; it gives up after the batches in hand.
struct TrainControl : Control {
  std::function<void(const EpochReport&)> epoch = {};  // by one thread at a time
  // Where the state after every epoch is kept; empty: nowhere. One file per member, replaced whole.
  std::filesystem::path checkpoints = {};
  bool resume = false;  // from `checkpoints`, to the bits of an uninterrupted training
  // What a user should know of what came out: epochs done on another kind of CPU. By one thread at
  // a time.
  std::function<void(std::string)> warn = {};
};

// The loss is not a number or has exploded. The text names member, epoch, batch and the likely
// setting; `model` is the last good one, if there is any.
class Diverged : public Error {
 public:
  Diverged(const std::string& text, std::optional<Model> model)
      : Error(text), last_good(std::move(model)) {}
  std::optional<Model> last_good;
};

// `returns`: the training part; complete, or for a shared network with gaps (NaN). `members`:
// (rows + 1, n) as market::MemberBook has them; empty: all are. A sample is of the names that could
// be held on its day: members whose windows are complete. What came later has no say in that, and
// one that has ended by then returns nothing in its target. Throws InputError for settings or data
// that do not fit, Interrupted, Diverged.
Model train(const market::Panel& returns, const TrainSettings& settings, double periods_per_year,
            const Threads& threads, const TrainControl& control = {},
            std::span<const char> members = {});

// Throws InputError as train would, before it computes anything.
void check_training(const market::Panel& returns, const TrainSettings& settings,
                    std::span<const char> members = {});

struct TrainingPlan {
  Index samples = 0, validation_samples = 0, batches = 0;  // batches: per epoch
  Index parameters = 0;                                    // of one member
  double minutes = 0.0;                                    // at most, from timed steps
  double gigabytes = 0.0;
};

// What train would take. Runs a few steps to time them. Throws Interrupted.
TrainingPlan plan_training(const market::Panel& returns, const TrainSettings& settings,
                           const Threads& threads, std::span<const char> members = {},
                           const Stop& stop = {});

}  // namespace sharpen::learn
