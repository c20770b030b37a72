// An optimizer: anything that turns a signal, a risk model and a number of names into a portfolio.
//
//   Problem (mu, Sigma, k, ...)  ->  Answer (weights, status, what can be said of them)
//
// registry.hpp has those there are, by name, and takes further ones.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "sharpen/base/control.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/baseline/bounds.hpp"
#include "sharpen/baseline/sdr.hpp"
#include "sharpen/layer/mandate.hpp"
#include "sharpen/layer/sparse_tangent.hpp"
#include "sharpen/risk/risk.hpp"
#include "sharpen/select/proof.hpp"
#include "sharpen/select/select.hpp"

namespace sharpen::solve {

// What an optimizer is told before it sees any assets.
struct OptimizerSettings : layer::MandateSettings {
  double shrinkage = risk::kWindowShrinkage;
  risk::Form form = risk::Form::automatic;
  baseline::Recovery sdr_recovery = baseline::Recovery::top_k;  // for sdr
  bool sdr_monthly = false;  // match: find kappa for the first period of a month, then keep it
  double sdr_gap = 0.0;      // for sdr: the relative gap wanted; 0: what suits the number of assets
  select::ProofSettings proof = {};  // for exact
};

// Of any command that chooses portfolios; what it does not take stays at its default. The target
// volatility of its sizing is per period.
OptimizerSettings optimizer_settings(const settings::Values& values);

// The count among m assets: at least 1, at most m.
Index names_to_hold(const settings::CountOrShare& k, Index m);

// One decision to make. What the optimizer does not need (registry.hpp, Needs) may be missing.
struct Problem {
  Index n = 0;                       // assets
  Index k = 1;                       // most names to hold, in [1, n]
  ConstVec mu = {};                  // (n) the signal
  const risk::Risk* risk = nullptr;  // over the n assets
  Index sample = 0;                  // of `risk`
  // Of these assets on this day; null: none but net. For optimizers that keep them.
  const layer::Limits* limits = nullptr;
  // The plain covariance, as it is: of a window of returns (T, n), or given (n, n).
  std::optional<ConstMat> window = {};
  std::optional<ConstMat> covariance = {};
  // Of a walk, for optimizers that remember the decision before: which columns of the panel the
  // assets are, the row at whose end is decided, and a number for the month of the period after.
  std::span<const Index> assets = {};
  Index row = 0;
  Index month = 0;
  const Threads* threads = nullptr;  // for optimizers that share their work; null: one
  Stop stop = {};                    // asked by optimizers that take their time
};

// What a relaxation came to (baseline/sdr.hpp).
struct Relaxed {
  double kappa = 0.0;
  Index solves = 0;
  Index matched = 0;
  bool cut = false;
};

struct Answer {
  select::Portfolio portfolio;
  std::optional<Index> iterations;             // of an optimizer that iterates
  std::optional<bool> certified;               // of one that can prove what it found
  std::optional<Relaxed> sdr;                  // of one that relaxes
  std::optional<select::Proof> proof;          // of one that looks for proof
  std::optional<baseline::SharpeBound> bound;  // of one that bounds all portfolios of k names
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Overwrites `out`, reusing its memory: for problems of one size, nothing is allocated after the
  // first. Never throws for the values of a problem, which are outcomes; throws InputError for
  // wrong shapes, Interrupted once the problem's `stop` says so. One thread at a time.
  virtual void decide(const Problem& problem, Answer& out) = 0;
};

// --decision soft: the layer's own weights as training sees them (layer/sparse_tangent.hpp), which
// are not sparse. The problem's k counts. The risk model needs soft_parts(layer).
std::unique_ptr<Optimizer> soft_decision(const layer::MandateSettings& mandate,
                                         const layer::SoftSettings& layer);
risk::Parts soft_parts(const layer::SoftSettings& layer);

}  // namespace sharpen::solve
