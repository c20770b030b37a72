// The optimizers there are: one row each. The choices of the setting `optimizer`, the front doors
// (solve, backtest, predict, train, study, Python), help and documentation go by these rows, and
// nothing else knows an optimizer by its name.
//
// To add one to the library, write a file of src/solve and a row in src/solve/registry.cpp. To use
// one of your own with the library as it is:
//
//   const solve::RegisteredOptimizer mine({.name = "mine",
//                                          .label = "Mine",
//                                          .sentence = "the first k names, equally weighted",
//                                          .make = [](const solve::OptimizerSettings&) {
//                                            return std::make_unique<Mine>();
//                                          }});
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/threads.hpp"
#include "sharpen/layer/score.hpp"
#include "sharpen/risk/risk.hpp"
#include "sharpen/solve/optimizer.hpp"

namespace sharpen::solve {

// What a problem must have.
struct Needs {
  bool signal = true;
  bool risk = true;  // a risk model with `parts`
  risk::Parts parts = {.lower = false, .root = false, .restriction = false};
  bool plain = false;  // the plain covariance, by its window or as given

  // Whether there is nothing to decide from without past returns.
  bool history() const { return risk || plain; }
};

struct OptimizerInfo {
  std::string name;      // "sdr": what the setting `optimizer` says
  std::string label;     // "SD-relaxation": in reports
  std::string sentence;  // what it does, for help and documentation

  Needs needs = {};
  bool iterates = false;  // it counts its iterations
  bool proves = false;    // it says whether what it found is certified
  // It starts from the decision before: decisions of a walk come to one object, oldest first.
  bool remembers = false;
  // It ranks names one by one, so that the best of them together may have nothing to offer.
  bool ranks = false;
  // The paper's figures of daily returns show it beside the paper's own method.
  bool in_papers_figures = false;

  bool keeps_limits = false;  // it keeps those of a problem
  bool published = false;     // an opponent, which is used as published
  // How it chooses names, where that is one of select.hpp's ways.
  std::optional<select::Optimizer> selects = {};
  bool solves = true;         // `sharpen solve` takes it
  bool serves_models = true;  // it decides for a model's signal: predict, the layer of PyTorch
  bool softens = true;        // the layer's soft decision can stand in for it
  Index most_assets = 0;      // of `sharpen solve`; 0: any number

  unsigned ignores = 0;  // roles of settings that change nothing (settings::Role), and why:
  std::string ignores_since = "";           // "holds 1/n of every asset"
  std::string ignores_since_in_walks = "";  // the same where no Sigma measures it; "": the same
  unsigned own = 0;                         // roles of settings that others do not listen to

  // The score that its names are explained by; the risk model then needs that part.
  layer::Score score = layer::Score::symmetric;
  // Roughly, for one decision on one core; for the order of the work only.
  std::function<double(double n, double k)> seconds = covariance_seconds;
  std::function<std::unique_ptr<Optimizer>(const OptimizerSettings&)> make;

  // Of a dense covariance (n, n) from a hundred rows, and its factor.
  static double covariance_seconds(double n, double k);
  bool ignores_setting(std::string_view setting) const;
  bool owns(std::string_view setting) const;
};

// Rows keep their address while they are registered.
std::vector<const OptimizerInfo*> optimizers();
// The choices of the setting `optimizer`, in the order of the rows.
std::vector<std::string_view> optimizer_names();
// nullptr: there is none of that name.
const OptimizerInfo* find_optimizer(std::string_view name);
// Throws InputError that lists the names.
const OptimizerInfo& optimizer_named(std::string_view name);
// "oscar, greedy or swap": those for which that holds, with `last` = " or " before the last one;
// each in quotes of that kind.
std::string names_of_optimizers(const std::function<bool(const OptimizerInfo&)>& which,
                                std::string_view last, std::string_view quote = "");
// "sdr": those that alone listen to a setting; "" for one that is nobody's own.
std::string owners_of(const settings::Setting& setting);

// One row more, as long as the object lives. Threads may register at once; work that goes by the
// row must neither begin before nor end after. Throws InputError for a name that is taken or empty,
// and for a row without a maker.
class RegisteredOptimizer {
 public:
  explicit RegisteredOptimizer(OptimizerInfo row);
  ~RegisteredOptimizer();
  RegisteredOptimizer(const RegisteredOptimizer&) = delete;
  RegisteredOptimizer& operator=(const RegisteredOptimizer&) = delete;

 private:
  std::shared_ptr<const OptimizerInfo> row_;
};

// Throws InputError for limits that the optimizer would not keep.
void refuse_limits(const OptimizerInfo& optimizer, const OptimizerSettings& settings);

// The risk model of a problem of n assets with a window of T rows: with what the optimizer needs
// and, in the form that is taken for that, what explains its names. restriction: as in risk::Parts.
risk::RiskSettings risk_settings_for(const OptimizerInfo& optimizer, double shrinkage,
                                     risk::Form form, bool restriction, bool explain, Index n,
                                     Index T);

// (B, n) signals against samples[i] of `risk`, of at most k names; portfolio i has the bits of a
// problem decided alone under these limits (null: none). For optimizers that need neither a plain
// covariance nor a memory. Throws Interrupted.
std::vector<select::Portfolio> decide_batch(const OptimizerInfo& optimizer,
                                            const OptimizerSettings& settings, Index k,
                                            const risk::Risk& risk, std::span<const Index> samples,
                                            ConstMat mu, const Threads& threads,
                                            const Control& control = {},
                                            const layer::Limits* limits = nullptr);

}  // namespace sharpen::solve
