// The two forms of mSSRM-PGA, the m-sparse Sharpe ratio maximisation by projected gradients
// (docs/baselines.md).
//
// mssrm-long, as published (Lin et al., NeurIPS 2024): with m the expected returns and
// Q = Sigma + eps I,
//   min 1/2 v^T Q v - m^T v   s.t.  v >= 0, at most k entries of v other than zero,
// by v <- P(v - alpha (Q v - m)), alpha = 0.999 / lambda_max(Q), from v = m; P zeroes the
// negative entries and keeps the k largest. It stops when |v' - v| <= 1e-5 |v| or after 10^4
// steps; w = v / 1^T v, or cash if v = 0. Scale-free in m, but not in Sigma: eps is a number.
//
// mssrm, shorts allowed: ascent on S(w) = m^T w / sqrt(w^T Sigma w) over unit-risk w with at most
// k names, by w <- U P(w + eta g). g is the gradient scaled to unit risk, P keeps the k largest in
// magnitude, U scales to unit risk, eta is the first of 1, 1/2, 1/4, ... that raises S. It starts
// at U P(y), y the tangent direction of all n assets, stops when |w' - w| <= 1e-8 |w|, when no
// step raises S, or after 10^4 steps, and then solves exactly on its support. m is mu, or where
// that y has net position zero, mu - (B/A) 1 as for the scores (layer/score.hpp).
//
// Ties go to the lower column. Neither allocates per step.
#pragma once

#include <memory>
#include <vector>

#include "sharpen/base/control.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/layer/mandate.hpp"
#include "sharpen/risk/risk.hpp"
#include "sharpen/select/select.hpp"

namespace sharpen::baseline {

struct MssrmLongSettings {
  Index k = 1;  // counts as at most n
  double epsilon = 1e-3;
  double tolerance = 1e-5;
  Index max_iterations = 10000;

  void validate() const;  // throws InputError naming field, value and bound
};

struct MssrmLongResult {
  // ok, no_signal (cash: no entry of m is positive), not_converged or invalid_input. `value` is
  // not computed; `sharpe` is that of Sigma, without eps, and NaN where w has no risk.
  select::Portfolio portfolio;
  std::vector<double> v;  // (n) what the weights are scaled from; NaN for invalid input
  Index iterations = 0;
  // Globally optimal, up to the stopping rule. It converged, and holds fewer than k names or has
  // no entry outside its support whose gradient (Q v - m)_i is below -eps min_(held) v_j: then
  // eps-strong convexity pays for every exchange,
  //   g_i u_i + eps/2 u_i^2 + eps/2 v_j^2 >= u_i (g_i + eps v_j) >= 0.
  bool certified = false;
};

// Memory for problems of n assets, set up once.
class MssrmLong {
 public:
  MssrmLong(const MssrmLongSettings& settings, Index n);
  ~MssrmLong();
  MssrmLong(MssrmLong&&) noexcept;

  // Overwrites `out`. Never throws for values; throws InputError for wrong shapes, Interrupted
  // once `stop` says so.
  // Sigma (n, n), symmetric positive semidefinite, both triangles.
  void run(ConstMat Sigma, ConstVec m, MssrmLongResult& out, const Stop& stop = {});
  // Sigma is the covariance (divisor T - 1) of the window (T, n), T >= 2. Only the columns that
  // enter the support are computed.
  void run_on_window(ConstMat window, ConstVec m, MssrmLongResult& out, const Stop& stop = {});

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

struct MssrmSettings : layer::Mandate {
  double tolerance = 1e-8;
  Index max_iterations = 10000;

  void validate(Index n) const;  // throws InputError naming field, value and bound
};

struct MssrmResult {
  select::Portfolio portfolio;  // not_converged: the ascent ran out of steps
  Index iterations = 0;
};

class Mssrm {
 public:
  Mssrm(const MssrmSettings& settings, const risk::Risk& risk);
  ~Mssrm();
  Mssrm(Mssrm&&) noexcept;

  // Overwrites `out`. Never throws for the values of mu; throws InputError for wrong shapes and
  // a sample out of range, Interrupted once `stop` says so.
  void run(const risk::Risk& risk, Index sample, ConstVec mu, MssrmResult& out,
           const Stop& stop = {});

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace sharpen::baseline
