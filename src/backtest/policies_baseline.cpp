// Policies of the published opponents (docs/baselines.md).
#include <algorithm>
#include <optional>

#include "backtest/choice.hpp"
#include "sharpen/backtest/policies.hpp"
#include "sharpen/baseline/mssrm.hpp"

namespace sharpen::backtest {

namespace {

// The baselines rank by no score, and none restricts softly.
constexpr risk::Parts kNoParts = {.lower = false, .root = false, .restriction = false};

class MssrmChooser : public Chooser {
 public:
  MssrmChooser(const baseline::MssrmSettings& settings, const risk::Risk& risk)
      : mssrm_(settings, risk) {}
  void choose(const risk::Risk& risk, Index sample, ConstVec mu, Choice& out) override {
    std::swap(result_.portfolio, out.portfolio);  // its memory
    mssrm_.run(risk, sample, mu, result_);
    std::swap(result_.portfolio, out.portfolio);
    out.iterations = result_.iterations;
  }

 private:
  baseline::Mssrm mssrm_;
  baseline::MssrmResult result_;
};

}  // namespace

MssrmPolicy::MssrmPolicy(std::unique_ptr<const SignalSource> source,
                         const OptimizerSettings& settings)
    : RiskPolicy(std::move(source), settings, kNoParts) {}

MssrmPolicy::MssrmPolicy(std::unique_ptr<const SignalSource> source,
                         const OptimizerSettings& settings, ConstMat training)
    : MssrmPolicy(std::move(source), settings) {
  fix_risk(training);
}

std::unique_ptr<Chooser> MssrmPolicy::chooser(const WindowBatch&, const risk::Risk& risk,
                                              Index k) const {
  return std::make_unique<MssrmChooser>(
      baseline::MssrmSettings{.k = k, .net = settings().net, .sizing = settings().sizing}, risk);
}

struct SdrPolicy::Memory {
  std::vector<Index> assets;
  Index k = 0;
  Index row = -1;  // of the last decision
  std::optional<baseline::SdrSelector> selector;
  baseline::SdrPortfolio result;
  std::optional<double> kappa;  // found in the spell
  Index spell = 0;
};

SdrPolicy::SdrPolicy(std::unique_ptr<const SignalSource> source, const OptimizerSettings& settings)
    : RiskPolicy(std::move(source), settings, kNoParts), memory_(std::make_unique<Memory>()) {
  settings.sdr.validate();
}

SdrPolicy::SdrPolicy(std::unique_ptr<const SignalSource> source, const OptimizerSettings& settings,
                     ConstMat training)
    : SdrPolicy(std::move(source), settings) {
  fix_risk(training);
}

SdrPolicy::~SdrPolicy() = default;

// What is remembered is used only for later decisions over the same assets: a walk that starts
// again starts cold.
std::unique_ptr<Chooser> SdrPolicy::chooser(const WindowBatch& batch, const risk::Risk& risk,
                                            Index k) const {
  class SdrChooser : public Chooser {
   public:
    SdrChooser(Memory& memory, bool keeps_kappa) : memory_(memory), keeps_kappa_(keeps_kappa) {}
    void choose(const risk::Risk& of, Index sample, ConstVec mu, Choice& out) override {
      baseline::SdrPortfolio& result = memory_.result;
      std::swap(result.portfolio, out.portfolio);  // its memory
      if (memory_.kappa) {
        memory_.selector->run_at(of, sample, mu, *memory_.kappa, result);
      } else {
        memory_.selector->run(of, sample, mu, result);
        if (keeps_kappa_ && result.matched > 0) memory_.kappa = result.kappa;
      }
      std::swap(result.portfolio, out.portfolio);
      out.iterations = result.iterations;
      out.certified = result.converged;
    }

   private:
    Memory& memory_;
    bool keeps_kappa_;
  };

  Memory& memory = *memory_;
  const bool same = memory.selector && memory.k == k && batch.decision_row(0) > memory.row &&
                    std::ranges::equal(memory.assets, batch.assets);
  if (!same) {
    memory.selector.emplace(baseline::SdrSelectSettings{.k = k,
                                                        .recovery = settings().sdr_recovery,
                                                        .net = settings().net,
                                                        .sizing = settings().sizing,
                                                        .sdr = settings().sdr},
                            risk);
    memory.assets.assign(batch.assets.begin(), batch.assets.end());
    memory.k = k;
    memory.kappa.reset();
  }
  memory.row = batch.decision_row(batch.size() - 1);
  // Batches have one decision.
  const bool keeps_kappa =
      settings().sdr_recovery == baseline::Recovery::match && !settings().sdr_spell.empty();
  if (keeps_kappa) {
    const Index spell = settings().sdr_spell[static_cast<std::size_t>(memory.row)];
    if (spell != memory.spell) memory.kappa.reset();
    memory.spell = spell;
  }
  return std::make_unique<SdrChooser>(memory, keeps_kappa);
}

MssrmLongPolicy::MssrmLongPolicy(std::unique_ptr<const SignalSource> source,
                                 const settings::CountOrShare& k)
    : source_(std::move(source)), k_(k) {}

MssrmLongPolicy::MssrmLongPolicy(std::unique_ptr<const SignalSource> source,
                                 const settings::CountOrShare& k, ConstMat training)
    : MssrmLongPolicy(std::move(source), k) {
  for (Index t = 0; t < training.rows; ++t)
    training_.insert(training_.end(), training.row(t).begin(), training.row(t).end());
}

void MssrmLongPolicy::decide(const WindowBatch& batch, std::span<Decision> out) const {
  const auto m = static_cast<Index>(batch.assets.size());
  const ConstMat training = {training_.data(), static_cast<Index>(training_.size()) / m, m};
  baseline::MssrmLong mssrm({.k = names_to_hold(k_, m)}, m);
  baseline::MssrmLongResult result;
  Choice choice;
  std::vector<double> mu(static_cast<std::size_t>(m));
  for (Index i = 0; i < batch.size(); ++i) {
    source_->expected_returns(batch, i, mu);
    mssrm.run_on_window(training_.empty() ? batch.window(i) : training, mu, result);
    std::swap(choice.portfolio, result.portfolio);
    choice.iterations = result.iterations;
    choice.certified = result.certified;
    take(choice, batch.assets, out[static_cast<std::size_t>(i)]);
  }
}

}  // namespace sharpen::backtest
