#include <numeric>

#include "sharpen/backtest/policies.hpp"
#include "sharpen/base/threads.hpp"

namespace sharpen::backtest {

namespace {

class SoftChooser : public Chooser {
 public:
  SoftChooser(const layer::LayerSettings& settings, const risk::Risk& risk)
      : layer_(settings, risk), cache_(layer_, 1, 1), threads_(1) {}

  void choose(const risk::Risk& risk, Index sample, ConstVec mu, Choice& out) override {
    const Index n = risk.n();
    select::Portfolio& portfolio = out.portfolio;
    portfolio.weights.resize(static_cast<std::size_t>(n));
    portfolio.support.resize(static_cast<std::size_t>(n));
    std::iota(portfolio.support.begin(), portfolio.support.end(), Index{0});
    layer_.forward(std::span(&sample, 1), ConstMat(mu.data(), 1, n), cache_,
                   Mat(portfolio.weights.data(), 1, n), std::span(&portfolio.outcome, 1), threads_);
  }

 private:
  layer::SparseTangent layer_;
  layer::LayerCache cache_;
  Threads threads_;
};

risk::Parts parts_of(const layer::LayerSettings& layer) {
  const bool cholesky = layer.score == layer::Score::cholesky;
  return {.lower = cholesky,
          .root = !cholesky,
          .restriction = layer.reoptimization == layer::Reoptimization::restricted};
}

}  // namespace

SoftPolicy::SoftPolicy(std::unique_ptr<const SignalSource> source,
                       const OptimizerSettings& settings, const layer::LayerSettings& layer)
    : RiskPolicy(std::move(source), settings, parts_of(layer)), layer_(layer) {
  layer_.net = settings.net;
  layer_.sizing = settings.sizing;
}

std::unique_ptr<Chooser> SoftPolicy::chooser(const WindowBatch&, const risk::Risk& risk,
                                             Index k) const {
  layer::LayerSettings layer = layer_;
  layer.k = k;
  return std::make_unique<SoftChooser>(layer, risk);
}

}  // namespace sharpen::backtest
