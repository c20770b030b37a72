// Times whole trainings: 30 epochs on 50 assets and 2,500 days with two threads; the memory that
// 208 assets and 2,500 days take; and how the time of an epoch grows with the number of assets for
// a shared network. Before anything is timed, a training must lower its own loss.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "measure.hpp"
#include "sharpen/learn/train.hpp"
#include "sharpen/market/simulate.hpp"

namespace {

using namespace sharpen;

market::Panel simulated(Index assets, Index days) {
  market::SimulationSettings settings;
  settings.assets = assets;
  settings.days = days;
  settings.seed = 1;
  return market::simple_returns(market::simulate(settings));
}

learn::TrainSettings settings_of(learn::NetworkKind network, Index epochs) {
  learn::TrainSettings s;
  s.network = network;
  s.hidden = {512, 256};
  s.ensemble = 1;
  s.layer.reoptimization = layer::Reoptimization::restricted;  // the dearer one
  s.alpha = 0.5;
  s.epochs = epochs;
  s.patience = epochs;
  s.mandate.sizing = {.kind = layer::Sizing::volatility, .target_volatility = 0.0063};
  return s;
}

double seconds_of(const market::Panel& returns, const learn::TrainSettings& settings,
                  const Threads& threads) {
  const double start = bench::now(bench::Clock::wall);
  learn::train(returns, settings, 252.0, threads);
  return bench::now(bench::Clock::wall) - start;
}

void check_learning() {
  std::vector<double> losses;
  learn::TrainControl control;
  control.epoch = [&](const learn::EpochReport& report) {
    losses.push_back(report.prediction_loss);
  };
  learn::train(simulated(20, 600), settings_of(learn::NetworkKind::joint, 4), 252.0, Threads(2),
               control);
  bench::require(losses.back() < losses.front(), "a training lowers its loss");
}

// Peak of a process of its own, less what a process has that only simulates the panel.
double training_gigabytes(Index assets, bool train) {
  const pid_t child = fork();
  if (child == 0) {
    const market::Panel returns = simulated(assets, 2500);
    if (train) learn::train(returns, settings_of(learn::NetworkKind::joint, 2), 252.0, Threads(2));
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  bench::require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the training ends well");
  return static_cast<double>(usage.ru_maxrss) * 1024.0 / 1e9;
}

// The quickest epoch of a shared network, over all epochs but the first of each training, which
// touches its memory for the first time.
struct Epoch {
  double wall = std::numeric_limits<double>::infinity();
  double process = std::numeric_limits<double>::infinity();  // of all threads
};

void time_epochs(const market::Panel& returns, const Threads& threads, Epoch& best) {
  learn::TrainSettings s = settings_of(learn::NetworkKind::shared, 3);
  s.warm_start = 0;  // every epoch decides
  Epoch last;
  learn::TrainControl control;
  control.epoch = [&](const learn::EpochReport& report) {
    const Epoch here = {bench::now(bench::Clock::wall), bench::now(bench::Clock::process)};
    if (report.epoch > 1) {
      best.wall = std::min(best.wall, here.wall - last.wall);
      best.process = std::min(best.process, here.process - last.process);
    }
    last = here;
  };
  learn::train(returns, s, 252.0, threads, control);
}

// The sizes take turns, so that a busy minute of the machine cannot fall on one of them alone.
void growth_of_an_epoch() {
  const market::Panel few = simulated(200, 500), many = simulated(2000, 500);
  const Threads threads(2);
  Epoch small, large;
  for (int round = 0; round < 3; ++round) {
    time_epochs(few, threads, small);
    time_epochs(many, threads, large);
  }
  fmt::print(
      "shared, an epoch of 500 days: {:.2f} s at n = 200, {:.2f} s at n = 2,000; processor time of "
      "both threads {:.2f} s and {:.2f} s, {:.2f} times\n",
      small.wall, large.wall, small.process, large.process, large.process / small.process);
  bench::at_most("train_shared_epoch_n2000_over_n200", large.wall / small.wall, 10.0);
}

// The quickest epoch per sample in the loss, in blocks and in batches of any days. What the days
// take that only feed the memory is not the blocks' fault.
void blocks_against_batches() {
  const market::Panel returns = simulated(50, 1500);
  constexpr Index kBlock = 64;
  double least[2] = {1e300, 1e300};
  learn::TrainSettings s;
  s.ensemble = 1;
  s.validation = 0.0;
  s.warm_start = 0;
  s.epochs = 4;
  s.horizon = 1;
  const Index warm = s.memory_rows(), samples = returns.rows() - s.lookback;
  for (int round = 0; round < 5; ++round)
    for (const bool blocks : {false, true}) {
      s.train_block = blocks ? kBlock : 0;
      double last = 0.0;
      learn::TrainControl control;
      control.epoch = [&](const learn::EpochReport& report) {
        const double here = bench::now(bench::Clock::process);
        const auto scored = static_cast<double>(blocks ? samples - warm : samples);
        if (report.epoch > 1) least[blocks] = std::min(least[blocks], (here - last) / scored);
        last = here;
      };
      learn::train(returns, s, 252.0, Threads(1), control);
    }
  const double share = static_cast<double>(warm) / static_cast<double>(kBlock - warm);
  fmt::print(
      "a sample in the loss: {:.1f} us in batches of any days, {:.1f} us in blocks of {} with {} "
      "days before them\n",
      1e6 * least[0], 1e6 * least[1], kBlock, warm);
  bench::at_most("train_block_step_over_batch_step", least[1] / least[0] - share, 1.2);
}

// What an epoch of the usual ensemble takes, and how much of it is its validation.
void share_of_validation() {
  const market::Panel returns = simulated(200, 1500);
  double seconds[2] = {};
  for (const bool validates : {false, true}) {
    learn::TrainSettings s;
    s.epochs = s.patience = 3;
    s.validation = validates ? 0.2 : 0.0;
    // As many samples train either way.
    market::Panel part = returns;
    if (!validates) {
      const auto rows = s.lookback + (returns.rows() - s.lookback) * 4 / 5;
      part.dates.resize(static_cast<std::size_t>(rows));
      part.values.resize(static_cast<std::size_t>(rows * part.n()));
    }
    seconds[validates] = seconds_of(part, s, Threads(2));
  }
  fmt::print("200 assets, 1,120 samples, 8 members, 3 epochs: {:.2f} s, with validation {:.2f} s\n",
             seconds[0], seconds[1]);
  bench::at_most("train_with_validation_over_without", seconds[1] / seconds[0], 1.5);
}

}  // namespace

int main() {
  // Before any thread exists: the measured processes are forks.
  const double gigabytes = training_gigabytes(208, true);
  fmt::print("208 assets, 2,500 days, joint: {:.2f} GB at most (the panel alone: {:.2f} GB)\n",
             gigabytes, training_gigabytes(208, false));
  bench::at_most("train_memory_n208_gb", gigabytes, 1.5);

  check_learning();
  const market::Panel returns = simulated(50, 2500);
  const double seconds =
      seconds_of(returns, settings_of(learn::NetworkKind::joint, 30), Threads(2));
  fmt::print("50 assets, 2,500 days, joint, 30 epochs, alpha = 0.5: {:.1f} s on two threads\n",
             seconds);
  bench::at_most("train_30_epochs_n50_seconds", seconds, 20.0);

  growth_of_an_epoch();
  blocks_against_batches();
  share_of_validation();
  return 0;
}
