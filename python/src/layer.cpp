// The layer and its risk models for sharpen.torch. Tensors come as addresses: the Python layer has
// checked device, type, shape and order already, and a conversion costs more than a small solve.
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>

#include "module.hpp"
#include "sharpen/base/control.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/layer/covariance_gradient.hpp"
#include "sharpen/layer/sparse_tangent.hpp"
#include "sharpen/learn/settings.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/solve/registry.hpp"
#include "work.hpp"

namespace sharpen::python {

namespace {

using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
static_assert(sizeof(Index) == sizeof(std::int64_t));

std::span<const Index> view(const Indices& indices) {
  return {reinterpret_cast<const Index*>(indices.data()), indices.shape(0)};
}

// A risk model and the returns that its low-rank form refers to.
struct RiskModel {
  std::vector<double> returns;
  std::unique_ptr<risk::Risk> risk;
  std::map<Index, std::string> refused;  // samples whose covariance is none, and why
  double shrinkage = 0.0;                // of given covariances
};

risk::Form form_of(const std::string& name) {
  if (name == "dense") return risk::Form::dense;
  if (name == "low-rank") return risk::Form::low_rank;
  if (name == "auto") return risk::Form::automatic;
  throw InputError("form = " + name + " is not one of auto, dense, low-rank");
}

// Factoring is long work: it can be interrupted, and says how far it is.
Control control_of(Work& work) {
  work.stage("factoring");
  return {.progress =
              [&work](Index done, Index samples) {
                work.progress(static_cast<double>(done), static_cast<double>(samples));
              },
          .stop = [&work] { return work.stopped(); }};
}

std::shared_ptr<RiskModel> risk_from_windows(const Matrix& returns, Index lookback,
                                             const Indices& ends, double shrinkage,
                                             const std::string& form, bool lower, bool root,
                                             int threads, nb::object report) {
  const ConstMat given = python::view(returns);
  const risk::RiskSettings settings{.shrinkage = shrinkage,
                                    .form = form_of(form),
                                    .parts = {.lower = lower, .root = root, .restriction = true}};
  Work work(std::move(report));
  return work.run([&] {
    auto model = std::make_shared<RiskModel>();
    model->returns.assign(given.data, given.data + given.rows * given.cols);
    model->risk = risk::from_windows({model->returns.data(), given.rows, given.cols}, lookback,
                                     view(ends), settings, Threads(threads), control_of(work));
    return model;
  });
}

// Throws InputError for a panel that, by the whole, is one of prices or of gross returns.
void check_returns(const Matrix& returns) {
  const nb::gil_scoped_release release;
  const ConstMat given = python::view(returns);
  market::check_kind({given.data, static_cast<std::size_t>(given.rows * given.cols)},
                     market::PanelKind::returns, "returns");
}

// What the library has against each of the matrices.
std::map<Index, std::string> refusals(std::span<const ConstMat> matrices, double shrinkage,
                                      const Threads& threads, const Work& work) {
  const risk::RiskSettings settings{.shrinkage = shrinkage,
                                    .form = risk::Form::dense,
                                    .parts = {.lower = false, .root = false, .restriction = true}};
  std::vector<std::string> found(matrices.size());
  threads.for_each(static_cast<Index>(matrices.size()), [&](Index i, int) {
    if (work.stopped()) throw Interrupted();
    try {
      risk::from_covariance(matrices[static_cast<std::size_t>(i)], settings);
    } catch (const InputError& error) {
      found[static_cast<std::size_t>(i)] = error.what();
    }
  });
  std::map<Index, std::string> out;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!found[i].empty()) out.emplace(static_cast<Index>(i), found[i]);
  return out;
}

// With `each`, a matrix that is no covariance is a sample of status invalid_input, and among the
// refused; otherwise it throws.
std::shared_ptr<RiskModel> made_from(std::vector<ConstMat> matrices,
                                     const risk::RiskSettings& settings, bool each,
                                     const Threads& threads, Work& work) {
  auto model = std::make_shared<RiskModel>();
  model->shrinkage = settings.shrinkage;
  const Control control = control_of(work);
  try {
    model->risk = risk::from_covariances(matrices, settings, threads, control);
  } catch (const InputError&) {
    if (!each) throw;
    model->refused = refusals(matrices, settings.shrinkage, threads, work);
    // A covariance of zeros is what the library gives that status for.
    const Index n = matrices.front().rows;
    const std::vector<double> zeros(static_cast<std::size_t>(n * n));
    for (const auto& [i, why] : model->refused)
      matrices[static_cast<std::size_t>(i)] = {zeros.data(), n, n};
    model->risk = risk::from_covariances(matrices, settings, threads, control);
  }
  return model;
}

std::shared_ptr<RiskModel> risk_from_covariances(const Cube& Sigmas, double shrinkage, bool lower,
                                                 bool root, bool each, int threads,
                                                 nb::object report) {
  const auto rows = static_cast<Index>(Sigmas.shape(1)), cols = static_cast<Index>(Sigmas.shape(2));
  std::vector<ConstMat> matrices;
  for (std::size_t i = 0; i < Sigmas.shape(0); ++i)
    matrices.emplace_back(Sigmas.data() + static_cast<Index>(i) * rows * cols, rows, cols);
  const risk::RiskSettings settings{.shrinkage = shrinkage,
                                    .form = risk::Form::dense,
                                    .parts = {.lower = lower, .root = root, .restriction = true}};
  settings.validate();  // whatever is thrown below is about a matrix
  Work work(std::move(report));
  return work.run([&] { return made_from(matrices, settings, each, Threads(threads), work); });
}

std::vector<std::string> statuses_of(const RiskModel& model) {
  std::vector<std::string> out;
  for (Index s = 0; s < model.risk->samples(); ++s) out.emplace_back(name(model.risk->status(s)));
  return out;
}

// Columns of a risk model, which has no names for them; numbers from 0 without.
using Names = std::vector<std::string>;

layer::Limits limits_of(const layer::MandateSettings& mandate, Names assets, Index n) {
  if (assets.empty())
    for (Index i = 0; i < n; ++i) assets.push_back(std::to_string(i));
  if (static_cast<Index>(assets.size()) != n)
    throw InputError("assets has " + std::to_string(assets.size()) + " names, and risk has " +
                     std::to_string(n) + " assets; give one for each");
  std::vector<Index> columns(assets.size());
  std::iota(columns.begin(), columns.end(), Index{0});
  const layer::LimitBook book(mandate.limits, std::move(assets), {}, mandate.net,
                              mandate.objective.kind);
  if (book.changes())
    throw InputError(
        "limits with dates or betas change from day to day, and the samples of a layer have no "
        "dates; give those of one day, betas as coefficients");
  layer::Limits out = book.at(columns, "", ConstMat(nullptr, 0, n), {});
  if (mandate.limits->max_turnover) {  // of instances that hold something
    out.turnover = *mandate.limits->max_turnover;
    out.holdings.resize(at(n));
  }
  return out;
}

// The layer's settings are those of a training.
layer::LayerSettings layer_settings(const SettingTexts& given, const Names& assets, Index n) {
  const learn::TrainSettings settings = learn::training_settings(values_of(settings::train, given));
  layer::LayerSettings out = settings.layer_for(n);
  if (!settings.mandate.limits) return out;
  auto always = std::make_shared<layer::LimitSchedule>();
  always->limits.push_back(limits_of(settings.mandate, assets, n));
  out.limits = std::move(always);
  return out;
}

// Throws InputError for what no number of assets could mend.
void check_layer(const SettingTexts& given) {
  const learn::TrainSettings settings = learn::training_settings(values_of(settings::train, given));
  layer::LayerSettings one{settings.mandate.mandate(1), settings.layer};
  if (settings.mandate.limits)
    one.limits = std::make_shared<layer::LimitSchedule>(
        layer::LimitSchedule{.limits = {layer::Limits{}}, .of_sample = {}});
  one.validate(1);
}

// A layer on one risk model, with the memory of the passes that are not under way.
class Layer {
 public:
  Layer(std::shared_ptr<RiskModel> model, const SettingTexts& given, const Names& assets,
        int threads)
      : model_(std::move(model)),
        layer_(layer_settings(given, assets, model_->risk->n()), *model_->risk),
        threads_(Threads(threads).count()) {}

  struct Memory {
    Index batch;
    layer::LayerCache cache;
    std::vector<Outcome> outcomes;
    std::optional<layer::CovarianceGradient> by_covariance = {};  // once it is asked for
  };

  std::unique_ptr<Memory> take(Index batch) {
    {
      const std::lock_guard lock(mutex_);
      for (auto& idle : idle_)
        if (idle->batch >= batch) {
          std::swap(idle, idle_.back());
          auto memory = std::move(idle_.back());
          idle_.pop_back();
          return memory;
        }
    }
    return std::make_unique<Memory>(Memory{batch, layer::LayerCache(layer_, batch, threads_),
                                           std::vector<Outcome>(static_cast<std::size_t>(batch))});
  }

  // As many as a few models in one graph need; more is memory that nobody asked for.
  void give_back(std::unique_ptr<Memory> memory) noexcept {
    constexpr std::size_t kMost = 4;
    const std::lock_guard lock(mutex_);
    if (idle_.size() >= kMost) idle_.erase(idle_.begin());
    idle_.push_back(std::move(memory));
  }

  layer::CovarianceGradient& by_covariance(Memory& memory) {
    if (!memory.by_covariance) memory.by_covariance.emplace(layer_, memory.batch, threads_);
    return *memory.by_covariance;
  }

  const layer::SparseTangent& layer() const { return layer_; }
  double shrinkage() const { return model_->shrinkage; }
  // Of one pass: what OpenBLAS may use between passes is the user's to say.
  Threads threads() const { return Threads(threads_); }
  Index n() const { return layer_.n(); }

 private:
  std::shared_ptr<RiskModel> model_;
  layer::SparseTangent layer_;
  int threads_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Memory>> idle_;
};

// One forward pass, alive until its gradient is no longer wanted.
class Pass {
 public:
  Pass(std::shared_ptr<Layer> layer, Index batch)
      : layer_(std::move(layer)), memory_(layer_->take(batch)), batch_(batch) {}
  ~Pass() { layer_->give_back(std::move(memory_)); }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  void forward(std::span<const Index> samples, ConstMat mu, Mat w, const layer::BatchLimits& own) {
    layer_->layer().forward(samples, mu, memory_->cache, w, outcomes(), layer_->threads(), own);
  }

  // dL_dmu from dL_dw, both (B, n) float64 in C order.
  void vjp(std::uintptr_t dL_dw, std::uintptr_t dL_dmu) {
    const nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);  // the memory has one scratch
    const Index n = layer_->n();
    layer_->layer().vjp(memory_->cache, {reinterpret_cast<const double*>(dL_dw), batch_, n},
                        {reinterpret_cast<double*>(dL_dmu), batch_, n}, layer_->threads());
  }

  // dL_dS (S, n, n), of the S covariances that the risk model was made from, from dL_dw (B, n);
  // zeros when it is given.
  void covariance_vjp(std::uintptr_t dL_dw, std::uintptr_t dL_dS) {
    const nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    const Index n = layer_->n(), samples = layer_->layer().risk().samples();
    const Mat out{reinterpret_cast<double*>(dL_dS), samples * n, n};
    const Threads threads = layer_->threads();
    layer_->by_covariance(*memory_).add(
        memory_->cache, {reinterpret_cast<const double*>(dL_dw), batch_, n}, out, threads);
    threads.for_each(samples, [&](Index s, int) {
      risk::shrinkage_vjp(layer_->shrinkage(), out.middle_rows(s * n, n));
    });
  }

  // NaN where the layer came to no direction.
  nb::object mask() const {
    std::vector<double> out;
    out.reserve(static_cast<std::size_t>(batch_ * layer_->n()));
    for (Index i = 0; i < batch_; ++i) {
      if (computed(i)) {
        const ConstVec p = memory_->cache.mask(i);
        out.insert(out.end(), p.begin(), p.end());
      } else {
        out.insert(out.end(), static_cast<std::size_t>(layer_->n()), kNone);
      }
    }
    return array_of(std::move(out),
                    {static_cast<std::size_t>(batch_), static_cast<std::size_t>(layer_->n())});
  }
  nb::object net() const {
    std::vector<double> out;
    for (Index i = 0; i < batch_; ++i) out.push_back(computed(i) ? memory_->cache.net(i) : kNone);
    return array_of(std::move(out));
  }
  std::vector<std::string> statuses() const {
    std::vector<std::string> out;
    for (Index i = 0; i < batch_; ++i) out.emplace_back(name(outcome(i).status));
    return out;
  }
  std::vector<std::string> notes() const {
    std::vector<std::string> out;
    for (Index i = 0; i < batch_; ++i) out.emplace_back(name_of(outcome(i).note));
    return out;
  }
  std::vector<bool> neutral_first() const {
    std::vector<bool> out;
    for (Index i = 0; i < batch_; ++i) out.push_back(outcome(i).neutral_first);
    return out;
  }
  nb::object jitter() const {
    std::vector<double> out;
    for (Index i = 0; i < batch_; ++i) out.push_back(outcome(i).jitter);
    return array_of(std::move(out));
  }

 private:
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  std::span<Outcome> outcomes() const {
    return std::span(memory_->outcomes).first(static_cast<std::size_t>(batch_));
  }
  const Outcome& outcome(Index i) const { return outcomes()[static_cast<std::size_t>(i)]; }
  bool computed(Index i) const {
    return outcome(i).solved() || outcome(i).status == Status::not_converged;
  }

  std::shared_ptr<Layer> layer_;
  std::unique_ptr<Layer::Memory> memory_;
  std::mutex mutex_;
  Index batch_;
};

std::unique_ptr<Pass> forward(std::shared_ptr<Layer> layer, std::uintptr_t mu, std::uintptr_t w,
                              std::uintptr_t samples, Index batch, std::uintptr_t lower,
                              std::uintptr_t upper, std::uintptr_t holdings) {
  const nb::gil_scoped_release release;
  const Index n = layer->n();
  const auto own = [&](std::uintptr_t values) {
    return values == 0 ? ConstMat{} : ConstMat(reinterpret_cast<const double*>(values), batch, n);
  };
  auto pass = std::make_unique<Pass>(std::move(layer), batch);
  pass->forward({reinterpret_cast<const Index*>(samples), static_cast<std::size_t>(batch)},
                {reinterpret_cast<const double*>(mu), batch, n},
                {reinterpret_cast<double*>(w), batch, n},
                {.lower = own(lower), .upper = own(upper), .holdings = own(holdings)});
  return pass;
}

const solve::OptimizerInfo& optimizer_of(const std::string& text) {
  const solve::OptimizerInfo* row = solve::find_optimizer(text);
  if (row != nullptr && row->serves_models) return *row;
  throw InputError("optimizer = " + text + " is not one of " +
                   solve::names_of_optimizers(
                       [](const solve::OptimizerInfo& each) { return each.serves_models; }, ", "));
}

// Portfolios of at most k names: weights (B, n), statuses (B) and Sharpe ratios (B).
nb::tuple decide(const RiskModel& model, const Indices& samples, const Matrix& mu,
                 const SettingTexts& given, const Names& assets, const std::string& optimizer,
                 int threads) {
  const Index n = model.risk->n();
  Work work{nb::none()};
  const std::vector<select::Portfolio> portfolios = work.run([&] {
    const layer::MandateSettings mandate =
        learn::training_settings(values_of(settings::train, given)).mandate;
    std::optional<layer::Limits> limits;
    if (mandate.limits) limits = limits_of(mandate, assets, n);
    return solve::decide_batch(optimizer_of(optimizer), {mandate}, mandate.k.of(n, "k"),
                               *model.risk, view(samples), python::view(mu), Threads(threads),
                               work.control(), limits ? &*limits : nullptr);
  });
  std::vector<double> weights, sharpe;
  std::vector<std::string> statuses;
  weights.reserve(portfolios.size() * static_cast<std::size_t>(n));
  for (const select::Portfolio& portfolio : portfolios) {
    weights.insert(weights.end(), portfolio.weights.begin(), portfolio.weights.end());
    sharpe.push_back(portfolio.sharpe);
    statuses.emplace_back(name(portfolio.outcome.status));
  }
  return nb::make_tuple(
      array_of(std::move(weights), {portfolios.size(), static_cast<std::size_t>(n)}), statuses,
      array_of(std::move(sharpe)));
}

}  // namespace

void add_layer(nb::module_& module) {
  nb::class_<RiskModel>(module, "RiskModel")
      .def_prop_ro("n", [](const RiskModel& self) { return self.risk->n(); })
      .def_prop_ro("samples", [](const RiskModel& self) { return self.risk->samples(); })
      .def_prop_ro("form",
                   [](const RiskModel& self) {
                     return self.risk->form() == risk::Form::low_rank ? "low-rank" : "dense";
                   })
      .def_prop_ro("statuses", &statuses_of)
      .def_prop_ro("refused", [](const RiskModel& self) { return self.refused; });
  nb::class_<Layer>(module, "Layer")
      .def(nb::init<std::shared_ptr<RiskModel>, const SettingTexts&, const Names&, int>(),
           nb::arg("risk"), nb::arg("settings"), nb::arg("assets"), nb::arg("threads"))
      .def_prop_ro("k", [](const Layer& self) { return self.layer().settings().k; });
  nb::class_<Pass>(module, "Pass")
      .def("vjp", &Pass::vjp, nb::arg("dL_dw"), nb::arg("dL_dmu"))
      .def("covariance_vjp", &Pass::covariance_vjp, nb::arg("dL_dw"), nb::arg("dL_dS"))
      .def_prop_ro("mask", &Pass::mask)
      .def_prop_ro("net", &Pass::net)
      .def_prop_ro("statuses", &Pass::statuses)
      .def_prop_ro("neutral_first", &Pass::neutral_first)
      .def_prop_ro("jitter", &Pass::jitter)
      .def_prop_ro("notes", &Pass::notes);
  module.def("forward", &forward, nb::arg("layer"), nb::arg("mu"), nb::arg("w"), nb::arg("samples"),
             nb::arg("batch"), nb::arg("lower"), nb::arg("upper"), nb::arg("holdings"));
  module.def("decide", &decide, nb::arg("risk"), nb::arg("samples"), nb::arg("mu"),
             nb::arg("settings"), nb::arg("assets"), nb::arg("optimizer"), nb::arg("threads"));
  module.def("risk_from_windows", &risk_from_windows, nb::arg("returns"), nb::arg("lookback"),
             nb::arg("ends"), nb::arg("shrinkage"), nb::arg("form"), nb::arg("lower"),
             nb::arg("root"), nb::arg("threads"), nb::arg("report").none());
  module.def("risk_from_covariances", &risk_from_covariances, nb::arg("Sigmas"),
             nb::arg("shrinkage"), nb::arg("lower"), nb::arg("root"), nb::arg("each"),
             nb::arg("threads"), nb::arg("report").none());
  module.def("check_returns", &check_returns, nb::arg("returns"),
             "Raises InputError for values that look like prices or gross returns.");
  module.def("check_layer", &check_layer, nb::arg("settings"),
             "Raises InputError for settings of the layer that do not go together.");
}

}  // namespace sharpen::python
