#include <numeric>
#include <optional>

#include "sharpen/base/threads.hpp"
#include "sharpen/solve/optimizer.hpp"

namespace sharpen::solve {

namespace {

class SoftDecision : public Optimizer {
 public:
  explicit SoftDecision(const layer::LayerSettings& settings) : settings_(settings), threads_(1) {}

  void decide(const Problem& problem, Answer& out) override {
    if (!fits(problem)) set_up(problem);
    select::Portfolio& portfolio = out.portfolio;
    portfolio.weights.resize(at(problem.n));
    portfolio.support.resize(at(problem.n));
    std::iota(portfolio.support.begin(), portfolio.support.end(), Index{0});
    layer_->forward(std::span(&problem.sample, 1), ConstMat(problem.mu.data(), 1, problem.n),
                    *cache_, Mat(portfolio.weights.data(), 1, problem.n),
                    std::span(&portfolio.outcome, 1), threads_);
  }

 private:
  bool fits(const Problem& problem) const {
    const bool limited = problem.limits != nullptr;
    return layer_ && risk_ == problem.risk && settings_.k == problem.k &&
           layer_->n() == problem.n && scratch_ == problem.risk->scratch_size() &&
           limited == (settings_.limits != nullptr) &&
           (!limited || settings_.limits->limits.front() == *problem.limits);
  }

  void set_up(const Problem& problem) {
    settings_.k = problem.k;
    risk_ = problem.risk;
    scratch_ = problem.risk->scratch_size();
    settings_.limits.reset();
    if (problem.limits != nullptr)
      settings_.limits = std::make_shared<layer::LimitSchedule>(
          layer::LimitSchedule{.limits = {*problem.limits}, .of_sample = {}});
    cache_.reset();
    layer_.emplace(settings_, *problem.risk);
    cache_.emplace(*layer_, 1, 1);
  }

  layer::LayerSettings settings_;
  const risk::Risk* risk_ = nullptr;  // that the layer refers to
  Index scratch_ = 0;
  std::optional<layer::SparseTangent> layer_;
  std::optional<layer::LayerCache> cache_;
  Threads threads_;
};

}  // namespace

std::unique_ptr<Optimizer> soft_decision(const layer::MandateSettings& mandate,
                                         const layer::SoftSettings& layer) {
  return std::make_unique<SoftDecision>(layer::LayerSettings{mandate.mandate(1), layer});
}

risk::Parts soft_parts(const layer::SoftSettings& layer) {
  const bool cholesky = layer.score == layer::Score::cholesky;
  return {.lower = cholesky,
          .root = !cholesky,
          .restriction = layer.reoptimization == layer::Reoptimization::restricted};
}

}  // namespace sharpen::solve
