// The training of one member, epoch by epoch, on data that all members share.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "learn/block.hpp"
#include "learn/objective.hpp"
#include "learn/samples.hpp"
#include "sharpen/learn/train.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::learn {

// What the members share; never changed once made.
struct Dataset {
  // Throws Interrupted once stop says so. Under no limits: they are bound to the dates and names of
  // a panel (train.cpp). Returns may have gaps (NaN), and members as market::MemberBook has them
  // may say who was there: each sample is then of the names that its day could hold.
  Dataset(ConstMat returns_, const TrainSettings& settings, const Threads& threads,
          const std::function<bool()>& stop = {}, std::span<const char> members = {});

  // (samples, n), not 0 where a sample is of the asset; empty: all are of all.
  std::vector<char> eligible;
  std::vector<double> filled;  // the returns with 0 for gaps, if there are any
  ConstMat returns;            // a name without a return earned nothing, as in the account
  SampleSplit split;
  Scaling scaling;
  double unit;  // of the scaling. The loss that Adam sees is divided by its square
  Features<float> features;
  // Sigma of the samples from first_with_risk on; none where no decision is ever asked for.
  Index first_with_risk = 0;
  std::unique_ptr<risk::Risk> risk;
  PartedRisk* parted = nullptr;                             // it, where names come and go
  std::shared_ptr<const layer::LimitSchedule> limits = {};  // of the samples of `risk`; null: none

  Index n() const { return returns.cols; }
  bool has(Index sample, Index asset) const {
    return eligible.empty() || eligible[at(sample * n() + asset)] != 0;
  }
};

// What the validation says of an epoch.
struct Verdict {
  double loss = 0.0, sharpe = 0.0;  // the decision loss, and the Sharpe ratio per period
};

// Epochs without alpha: one must be left with it.
Index warm_start_epochs(const TrainSettings& settings);
// Steps of an epoch, at most.
Index steps_per_epoch(const SampleSplit& split, const TrainSettings& settings);

// The most samples of a step.
Index most_samples(const TrainSettings& settings);

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

// What steps work with. Any member's, one at a time.
struct Workspace {
  // max_threads: of the Threads given to what uses it.
  Workspace(const Dataset& data, const TrainSettings& settings, int max_threads);

  Pass<float> pass;
  std::vector<float> X, out;  // out becomes dL/df
  std::vector<double> mu, r, dL_dmu;
  std::vector<double> scratch = {};
  std::vector<Index> order, ends, risk_samples;
  int threads;  // at most

  // What decides, once it does: one layer, or one for each part of the samples.
  std::optional<layer::SparseTangent> layer;
  PartedDecisions* parts = nullptr;
  std::optional<Objective> objective;
  std::optional<BlockObjective> blocks;
};

class MemberTraining {
 public:
  // data and settings must outlive it.
  MemberTraining(const Dataset& data, const TrainSettings& settings, Index member);
  ~MemberTraining();
  MemberTraining(MemberTraining&&) noexcept;

  const MemberState& state() const { return state_; }
  void resume(MemberState state) { state_ = std::move(state); }
  Member result() const;

  // Throws what tick throws, and Diverged (without a model) when the loss is not finite or
  // has exploded; state() is then unusable, but for `best`.
  EpochReport run_epoch(Workspace& workspace, const Threads& threads, const Tick& tick);
  // What it expects of mu.rows samples, from `first` on. Throws Diverged for what is not finite.
  void predict(Index first, Workspace& workspace, Mat mu, const Threads& threads) const;
  // The network as it is now is the best so far.
  void keep(const std::optional<Verdict>& verdict);

 private:
  void prepare_decisions(Workspace& workspace);
  std::unique_ptr<Decisions> decisions_for(Workspace& workspace) const;
  // The steps of an epoch, over the order of samples that it leaves in the workspace.
  std::vector<SampleBlock> draw_steps(Index epoch, bool decides, Workspace& workspace) const;
  Loss run_step(const SampleBlock& step, bool decides, Workspace& workspace,
                const Threads& threads);
  Loss decide(const SampleBlock& step, std::span<const Index> samples, Workspace& workspace,
              const Threads& threads);
  void predict(std::span<const Index> samples, Workspace& workspace, Mat mu,
               const Threads& threads) const;
  double beta() const;
  Diverged diverged(Index epoch, Index batch, Index batches) const;

  const Dataset* data_;
  const TrainSettings* settings_;
  Index member_;
  layer::LayerSettings layer_;
  MemberState state_;
  // Under limits every training sample starts where it was.
  std::optional<layer::LayerStarts> starts_;
};

}  // namespace sharpen::learn
