// The training of one member, epoch by epoch, on data that all members share.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "learn/objective.hpp"
#include "learn/samples.hpp"
#include "sharpen/learn/train.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::learn {

// What the members share; never changed once made.
struct Dataset {
  // Throws Interrupted once stop says so. Under no limits: they are bound to the dates and names of
  // a panel (train.cpp).
  Dataset(ConstMat returns_, const TrainSettings& settings, const Threads& threads,
          const std::function<bool()>& stop = {});

  ConstMat returns;
  SampleSplit split;
  Scaling scaling;
  double unit;  // of the scaling. The loss that Adam sees is divided by its square
  Features<float> features;
  // Sigma of the samples from first_with_risk on; none where no decision is ever asked for.
  Index first_with_risk = 0;
  std::unique_ptr<risk::Risk> risk;
  std::shared_ptr<const layer::LimitSchedule> limits = {};  // of the samples of `risk`; null: none

  Index n() const { return returns.cols; }
};

// All that changes from epoch to epoch, and all that a checkpoint holds.
struct MemberState {
  Index epoch = 0;  // epochs done
  Network<float> network;
  AdamState<float> adam;
  Network<float> best;
  Index best_epoch = 0;                                    // 0: none yet
  std::optional<double> best_loss = {}, best_sharpe = {};  // with validation
  std::string cpu;  // the kind (cpu_kind()) that a checkpoint was written on; "" if unknown
};

// Called after every batch; may throw Interrupted.
using Tick = std::function<void()>;

class MemberTraining {
 public:
  // data and settings must outlive it. max_threads: of the Threads given to run_epoch.
  MemberTraining(const Dataset& data, const TrainSettings& settings, Index member, int max_threads);
  ~MemberTraining();

  bool finished() const;
  Index batches() const;  // per epoch
  const MemberState& state() const { return state_; }
  void resume(MemberState state) { state_ = std::move(state); }
  Member result() const;

  // Throws what tick throws, and Diverged (without a model) when the loss is not finite or
  // has exploded; state() is then unusable, but for `best`.
  EpochReport run_epoch(const Threads& threads, const Tick& tick);

 private:
  struct Memory;
  void prepare_decisions();
  Loss run_batch(std::span<const Index> samples, bool decides, const Threads& threads);
  void predict(std::span<const Index> samples, Mat mu, const Threads& threads);
  void validate(EpochReport& report, const Threads& threads);
  void keep_best(const EpochReport& report);
  double beta() const;
  Index warm_start() const;  // epochs without alpha: one must be left with it
  Diverged diverged(Index epoch, Index batch) const;

  const Dataset* data_;
  const TrainSettings* settings_;
  Index member_;
  layer::LayerSettings layer_;
  MemberState state_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace sharpen::learn
