// Times whole trainings: 30 epochs on 50 assets and 2,500 days with two threads; the memory that
// 208 assets and 2,500 days take; and how the time of an epoch grows with the number of assets for
// a shared network. Before anything is timed, a training must lower its own loss.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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
  s.layer.sizing = {.kind = layer::Sizing::volatility, .target_volatility = 0.0063};
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

// Seconds of one epoch: the difference between trainings of three and of one. Both have the same
// covariances to set up; the warm start is left out, so that every epoch decides.
double epoch_seconds(Index assets) {
  const market::Panel returns = simulated(assets, 500);
  learn::TrainSettings s = settings_of(learn::NetworkKind::shared, 1);
  s.warm_start = 0;
  const Threads threads(2);
  std::vector<double> differences;
  for (int round = 0; round < 3; ++round) {
    s.epochs = 1;
    const double one = seconds_of(returns, s, threads);
    s.epochs = s.patience = 3;
    differences.push_back((seconds_of(returns, s, threads) - one) / 2.0);
  }
  std::sort(differences.begin(), differences.end());
  return differences[1];
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

  const double small = epoch_seconds(200), large = epoch_seconds(2000);
  fmt::print("shared, an epoch of 500 days: {:.2f} s at n = 200, {:.2f} s at n = 2,000\n", small,
             large);
  bench::at_most("train_shared_epoch_n2000_over_n200", large / small, 10.0);
  return 0;
}
