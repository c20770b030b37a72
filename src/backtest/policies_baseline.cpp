// Policies of the published opponents (docs/baselines.md).
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

std::unique_ptr<Chooser> MssrmPolicy::chooser(const risk::Risk& risk, Index k) const {
  return std::make_unique<MssrmChooser>(
      baseline::MssrmSettings{.k = k, .net = settings().net, .sizing = settings().sizing}, risk);
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
