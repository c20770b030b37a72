// What turns the signals of a batch into weights, and gradients back: the layer, over the names of
// the panel, or over those of each day.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "learn/parts.hpp"
#include "sharpen/layer/sparse_tangent.hpp"

namespace sharpen::learn {

class Decisions {
 public:
  virtual ~Decisions() = default;
  virtual const risk::Risk& risk() const = 0;
  Index n() const { return risk().n(); }
  // As SparseTangent has them; what vjp needs is kept.
  virtual void forward(std::span<const Index> samples, ConstMat mu, Mat w,
                       std::span<Outcome> outcomes, const Threads& threads,
                       const layer::BatchLimits& own) = 0;
  virtual void vjp(ConstMat dL_dw, Mat dL_dmu, const Threads& threads) = 0;
};

// `layer` must outlive them.
std::unique_ptr<Decisions> decisions_of(const layer::SparseTangent& layer, Index max_batch,
                                        int max_threads);

// One layer for each part, made when it is first met. A name that was not there has weight 0 and no
// gradient; a day without a decision has NaN for all.
class PartedDecisions : public Decisions {
 public:
  // settings_for(part): of its layer. `risk` must outlive them.
  PartedDecisions(const PartedRisk& risk,
                  std::function<layer::LayerSettings(const SamplePart&)> settings_for,
                  Index max_batch, int max_threads);
  ~PartedDecisions() override;

  const risk::Risk& risk() const override { return *risk_; }
  void set_beta(double beta);
  void forward(std::span<const Index> samples, ConstMat mu, Mat w, std::span<Outcome> outcomes,
               const Threads& threads, const layer::BatchLimits& own) override;
  void vjp(ConstMat dL_dw, Mat dL_dmu, const Threads& threads) override;

 private:
  struct Part;
  Part& part(Index number);

  const PartedRisk* risk_;
  std::function<layer::LayerSettings(const SamplePart&)> settings_for_;
  Index max_batch_;
  int max_threads_;
  double beta_ = 0.0;  // 0: that of the settings
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<Index> met_;  // parts of the last batch
};

}  // namespace sharpen::learn
