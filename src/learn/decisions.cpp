#include "learn/decisions.hpp"

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"

namespace sharpen::learn {

namespace {

class WholeDecisions : public Decisions {
 public:
  WholeDecisions(const layer::SparseTangent& layer, Index max_batch, int max_threads)
      : layer_(&layer), cache_(layer, max_batch, max_threads) {}

  const risk::Risk& risk() const override { return layer_->risk(); }
  void forward(std::span<const Index> samples, ConstMat mu, Mat w, std::span<Outcome> outcomes,
               const Threads& threads, const layer::BatchLimits& own) override {
    layer_->forward(samples, mu, cache_, w, outcomes, threads, own);
  }
  void vjp(ConstMat dL_dw, Mat dL_dmu, const Threads& threads) override {
    layer_->vjp(cache_, dL_dw, dL_dmu, threads);
  }

 private:
  const layer::SparseTangent* layer_;
  layer::LayerCache cache_;
};

}  // namespace

std::unique_ptr<Decisions> decisions_of(const layer::SparseTangent& layer, Index max_batch,
                                        int max_threads) {
  return std::make_unique<WholeDecisions>(layer, max_batch, max_threads);
}

// The layer of a part, and its share of a batch.
struct PartedDecisions::Part {
  Part(const layer::LayerSettings& settings, const SamplePart& of, Index max_batch, int max_threads)
      : names(&of),
        layer(settings, *of.risk),
        cache(layer, max_batch, max_threads),
        in(at(max_batch * of.m())),
        out(in.size()),
        outcomes(at(max_batch)) {}

  const SamplePart* names;
  layer::SparseTangent layer;
  layer::LayerCache cache;
  std::vector<double> in, out;                    // (B, m)
  std::vector<Outcome> outcomes;                  // (B)
  std::vector<Index> rows, samples, places = {};  // of the batch, of the part, of the starts

  Index count() const { return static_cast<Index>(rows.size()); }
  void gather(ConstMat from) {
    for (Index i = 0; i < count(); ++i)
      gather_names(from.row(rows[at(i)]), names->assets,
                   Mat(in.data(), count(), names->m()).row(i));
  }
  void scatter(Mat to) const {
    const ConstMat found(out.data(), count(), names->m());
    for (Index i = 0; i < count(); ++i)
      scatter_names(found.row(i), names->assets, to.row(rows[at(i)]));
  }
};

PartedDecisions::PartedDecisions(
    const PartedRisk& risk, std::function<layer::LayerSettings(const SamplePart&)> settings_for,
    Index max_batch, int max_threads)
    : risk_(&risk),
      settings_for_(std::move(settings_for)),
      max_batch_(max_batch),
      max_threads_(max_threads),
      parts_(risk.parts_of_samples().size()) {}

PartedDecisions::~PartedDecisions() = default;

void PartedDecisions::set_beta(double beta) {
  beta_ = beta;
  for (const auto& part : parts_)
    if (part) part->layer.set_beta(beta);
}

PartedDecisions::Part& PartedDecisions::part(Index number) {
  std::unique_ptr<Part>& found = parts_[at(number)];
  if (!found) {
    const SamplePart& names = risk_->parts_of_samples()[at(number)];
    found = std::make_unique<Part>(settings_for_(names), names, std::min(max_batch_, names.count),
                                   max_threads_);
    if (beta_ > 0.0) found->layer.set_beta(beta_);
  }
  return *found;
}

void PartedDecisions::forward(std::span<const Index> samples, ConstMat mu, Mat w,
                              std::span<Outcome> outcomes, const Threads& threads,
                              const layer::BatchLimits& own) {
  met_.clear();
  for (std::size_t b = 0; b < samples.size(); ++b) {
    const Index number = risk_->part_number(samples[b]);
    if (risk_->part(samples[b]).assets.empty()) {
      std::ranges::fill(w.row(static_cast<Index>(b)), kNaN);
      outcomes[b].status = Status::invalid_input;
      continue;
    }
    Part& its = part(number);
    if (std::ranges::find(met_, number) == met_.end()) {
      met_.push_back(number);
      its.rows.clear();
      its.samples.clear();
      its.places.clear();
    }
    its.rows.push_back(static_cast<Index>(b));
    its.samples.push_back(risk_->local(samples[b]));
    if (!own.places.empty()) its.places.push_back(own.places[b]);
  }
  for (const Index number : met_) {
    Part& its = part(number);
    its.gather(mu);
    const Index count = its.count(), m = its.names->m();
    its.layer.forward(its.samples, ConstMat(its.in.data(), count, m), its.cache,
                      Mat(its.out.data(), count, m), std::span(its.outcomes).first(at(count)),
                      threads, {.starts = own.starts, .places = its.places});
    its.scatter(w);
    for (Index i = 0; i < count; ++i) {
      outcomes[at(its.rows[at(i)])] = its.outcomes[at(i)];
      if (std::isnan(its.out[at(i * m)])) std::ranges::fill(w.row(its.rows[at(i)]), kNaN);
    }
  }
}

void PartedDecisions::vjp(ConstMat dL_dw, Mat dL_dmu, const Threads& threads) {
  for (Index b = 0; b < dL_dmu.rows; ++b) std::ranges::fill(dL_dmu.row(b), 0.0);
  for (const Index number : met_) {
    Part& its = part(number);
    its.gather(dL_dw);
    const Index count = its.count(), m = its.names->m();
    its.layer.vjp(its.cache, ConstMat(its.in.data(), count, m), Mat(its.out.data(), count, m),
                  threads);
    its.scatter(dL_dmu);
  }
}

}  // namespace sharpen::learn
