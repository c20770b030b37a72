// The contract between every algorithm and its risk model.
//
// A Risk holds S samples over the same n assets. Sample s is a symmetric positive definite
// matrix Sigma_s = L L^T (L lower triangular), seen only through its actions below. Two forms:
//   dense     any Sigma: packed L^-1 and Sigma, O(n^2) per action;
//   low rank  Sigma = delta I + U U^T from a window of T returns: O(n T) per action.
// Actions are const, allocate nothing, and may run at the same time on different threads as
// long as each thread brings its own scratch of scratch_size() doubles. In and out may not
// overlap unless said. All vectors have length n.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "sharpen/base/control.hpp"
#include "sharpen/base/named.hpp"
#include "sharpen/base/status.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen {
class Threads;
}

namespace sharpen::risk {

enum class Form { automatic, dense, low_rank };
constexpr std::array<std::string_view, 3> names(Form) { return {"auto", "dense", "low-rank"}; }

// What windows of returns are shrunk by, and how many rows they have, unless somebody says so.
constexpr double kWindowShrinkage = 0.10;
constexpr Index kWindowRows = 100;

// Which optional parts a set-up prepares. root_solve of the dense form, lower_* of the low-rank
// form cost time and memory that only one of the two scores needs. Soft restrictions need no
// preparation. Both they and roots are what makes the dense form dear: the automatic choice is low
// rank from n > 3 T without them.
struct Parts {
  bool lower = true;        // lower_solve, lower_solve_t
  bool root = true;         // root_solve: low rank from n > 1.25 T
  bool restriction = true;  // restrict_to will be called: low rank from n > 1.5 T
};

class Risk {
 public:
  virtual ~Risk() = default;

  virtual Form form() const = 0;  // dense or low_rank
  virtual Index n() const = 0;
  virtual Index samples() const = 0;
  virtual Index scratch_size() const = 0;
  virtual Parts parts() const = 0;        // what was prepared
  virtual std::size_t bytes() const = 0;  // memory held, without returns that it refers to

  // ok, or invalid_input where Sigma_s could not be formed (zero or non-finite trace, or not
  // positive definite after all jitter). The actions of such a sample must not be called.
  virtual Status status(Index s) const = 0;
  virtual double jitter(Index s) const = 0;  // added to the diagonal of Sigma_s; 0 if none

  // Data of the sample that every solve needs: b = Sigma^-1 1 and A = 1^T b; D = diag(Sigma).
  virtual ConstVec ones_solution(Index s) const = 0;
  virtual double ones_norm2(Index s) const = 0;
  virtual ConstVec diagonal(Index s) const = 0;

  // out = Sigma^-1 m; returns C = m^T Sigma^-1 m, as a sum of squares.
  virtual double solve(Index s, ConstVec m, Vec out, Vec scratch) const = 0;
  // out = L^-1 m, out = L^-T g.
  virtual void lower_solve(Index s, ConstVec m, Vec out, Vec scratch) const = 0;
  virtual void lower_solve_t(Index s, ConstVec g, Vec out, Vec scratch) const = 0;
  // out = Sigma^(-1/2) m, the symmetric root (its own transpose).
  virtual void root_solve(Index s, ConstVec m, Vec out, Vec scratch) const = 0;
  // out = Sigma w.
  virtual void apply(Index s, ConstVec w, Vec out, Vec scratch) const = 0;
  // out = Sigma e_j, the j-th column; how many products each of its entries takes.
  virtual void column(Index s, Index j, Vec out, Vec scratch) const = 0;
  virtual Index column_work() const { return 1; }
  // out (|K|, |K|) = Sigma_KK, both triangles.
  virtual void submatrix(Index s, std::span<const Index> K, Mat out, Vec scratch) const = 0;

  // The soft restriction to a mask p: factor F(p) = P Sigma P + (I - P^2) D into `factor`
  // (restriction_size() doubles), then out = F(p)^-1 v. restrict_to returns false if F(p) is
  // not numerically positive definite.
  virtual Index restriction_size() const = 0;
  virtual bool restrict_to(Index s, ConstVec p, Vec factor, Vec scratch) const = 0;
  virtual void restricted_solve(Index s, ConstVec p, ConstVec factor, ConstVec v, Vec out,
                                Vec scratch) const = 0;
};

struct RiskSettings {
  double shrinkage = kWindowShrinkage;  // lambda in [0, 1]
  Form form = Form::automatic;          // low_rank needs lambda >= 1e-5
  Parts parts;

  void validate() const;  // throws InputError naming field, value and bound
  // dense or low_rank: what from_windows takes for windows of T rows over n assets.
  Form form_for(Index n, Index T) const;
};

// Sigma_s from the windows returns[end_s - lookback, end_s), s = 0..S-1 (rows are periods).
// The low-rank form keeps a reference to `returns`, which must outlive the Risk; overlapping
// windows are never copied. Rows at or after end_s are not read for sample s. Between samples it
// says how far it is, and throws Interrupted when asked to stop.
std::unique_ptr<Risk> from_windows(ConstMat returns, Index lookback, std::span<const Index> ends,
                                   const RiskSettings& settings, const Threads& threads,
                                   const Control& control = {});

// Samples from given covariances (n, n), each shrunk like a window's; always dense. Throws
// InputError if one is not square, finite, symmetric (to 1e-8 of its diagonal) or positive
// semidefinite.
std::unique_ptr<Risk> from_covariances(std::span<const ConstMat> Sigmas,
                                       const RiskSettings& settings, const Threads& threads,
                                       const Control& control = {});
std::unique_ptr<Risk> from_covariance(ConstMat Sigma, const RiskSettings& settings);

// From S to Sigma = (1 - lambda) S + lambda (trace S / n) I, backwards: dL_dSigma (n, n) becomes
// dL_dS, in place.
void shrinkage_vjp(double shrinkage, Mat dL_dSigma);

}  // namespace sharpen::risk
