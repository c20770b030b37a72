// Ensembles: the expectations of M members become one signal.
//
// With C_m = mu_m^T Sigma^-1 mu_m, the squared Sharpe ratio member m expects, its direction of unit
// risk is y_m = Sigma^-1 mu_m / sqrt(C_m). The mean direction is
//   ybar = mean_m y_m = Sigma^-1 mean_m(mu_m / sqrt(C_m)),
// so a signal that leads to it needs no further solve:
//   mu = s mean_m(mu_m / sqrt(C_m)),  s = mean_m sqrt(C_m),
// where the scale s, which no selection depends on, makes it a return again: of M equal members it
// is theirs. How much they agree is the risk of the mean direction, |ybar|_Sigma in [0, 1]: 1 if
// all say the same, about 1/sqrt(M) if they have nothing in common, 0 if they cancel.
// Selection then solves on the signal, with whatever constraints there are.
#pragma once

#include <span>
#include <vector>

#include "sharpen/base/view.hpp"
#include "sharpen/risk/risk.hpp"
#include "sharpen/select/select.hpp"

namespace sharpen::learn {

// Combines with memory set up once, for risk models like the one given.
class Combiner {
 public:
  explicit Combiner(const risk::Risk& risk);

  // signal (n) of the members' mu (M, n), M >= 1; returns the agreement. Allocates nothing. One
  // member's signal is its mu, bit for bit; a member without direction (mu = 0) counts as zero; a
  // member that is not finite makes the signal and the agreement NaN, as does, for several
  // members, a sample without risk. Throws InputError for shapes that do not fit.
  double run(const risk::Risk& risk, Index sample, ConstMat mu, Vec signal);
  // The same without s, also of one member: mean_m(mu_m / sqrt(C_m)), short where they disagree
  // (trade/memory.hpp).
  double run_unscaled(const risk::Risk& risk, Index sample, ConstMat mu, Vec signal);

 private:
  double mean(const risk::Risk& risk, Index sample, ConstMat mu, Vec signal, double& scale);
  double direction(const risk::Risk& risk, Index sample, ConstVec mu);

  Index n_;
  std::vector<double> scaled_, solved_, direction_, scratch_;
};

// What the members would hold, each by itself.
struct MemberSpread {
  std::vector<double> held;      // (n) share of the members that hold the asset
  std::vector<double> mean, sd;  // (n) of their weights; sd (ddof 1) is NaN for one member
};

// Of every member's own portfolio over the same n assets. One that could not be computed holds
// nothing and makes means and deviations NaN.
MemberSpread member_spread(std::span<const select::Portfolio> own);

}  // namespace sharpen::learn
