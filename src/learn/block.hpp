// The loss of a block of consecutive samples, whose decisions remember and are charged.
//
// With mu_t (n) the expectations of day t of the block, and Sigma_t its covariance:
//   q_t = mu_t / sqrt(mu_t' Sigma_t^-1 mu_t),  x_t = q_t / sqrt(diag Sigma_t)     0 for mu_t = 0
//   s_t = sqrt(diag Sigma_t) xbar_t, the mean of x with the weights of trade/memory.hpp
//   w_t = the layer's weights of s_t
//   w+_t = w_t (1 + rho_t) / (1 + w_t' rho_t)          drifted over the next period's returns rho_t
//   net_t = r_t' w_t - c |w_t - w+_(t-1)|_1
// The first days of a block, as many as the memory needs before it is full, are in no loss; the
// first purchase after them is free. D is the decision loss (objective.hpp) of net_t, P the
// prediction loss, both over the days after. The gradient at mu is exact: through weights and
// drifted weights, and through the memory into the days that are in no loss.
// A day without a decision earns and costs nothing, and the next purchase is free. A name that was
// not there on a day (decisions.hpp) has x = 0 and w = 0 then: one that leaves is sold, and paid
// for.
#pragma once

#include <span>
#include <vector>

#include "learn/objective.hpp"
#include "sharpen/trade/memory.hpp"

namespace sharpen::learn {

class BlockObjective {
 public:
  // `layer` must outlive it. cost: c, per unit traded. max_days: of a
  // block, with those that only feed the memory.
  BlockObjective(const layer::SparseTangent& layer, const LossSettings& settings, Index memory,
                 double cost, Index max_days, int max_threads);
  BlockObjective(std::unique_ptr<Decisions> decisions, const LossSettings& settings, Index memory,
                 double cost, Index max_days, int max_threads);

  // The days of a block that are in no loss.
  Index warm() const { return memory_.rows() - 1; }

  // samples (W + L), of the layer's risk model, and mu (W + L, n) of all days; targets r (L, n) and
  // next returns rho (L, n) of the days in the loss; own: of those, too. dL_dmu (W + L, n).
  Loss evaluate(std::span<const Index> samples, ConstMat mu, ConstMat r, ConstMat rho, Mat dL_dmu,
                const Threads& threads, const layer::BatchLimits& own = {});

 private:
  void normalize(Index sample, ConstVec mu, Index day, Vec scratch);
  void remember(std::span<const Index> samples, Index scored, const Threads& threads);
  double charge(ConstMat w, ConstMat r, ConstMat rho);
  void charge_vjp(ConstMat w, ConstMat r, ConstMat rho);
  void remember_vjp(std::span<const Index> samples, Index scored, Index day, Vec dD_dmu) const;

  bool missing(Index day) const;
  Mat x(Index days) { return {x_.data(), days, n_}; }

  std::unique_ptr<Decisions> decisions_;
  LossSettings settings_;
  trade::Memory memory_;
  double cost_;
  Index n_;
  // Of every day: x, Sigma^-1 q and sqrt(mu' Sigma^-1 mu), NaN for a day that is not there.
  std::vector<double> x_, solved_, root_, dD_dmu_;
  // Of the days in the loss; dD_dw becomes the gradient that went through the layer in dD_ds.
  std::vector<double> s_, w_, drifted_, dD_dw_, dD_ds_, net_, dD_dnet_, growth_;
  std::vector<char> decided_, charged_;
  std::vector<Outcome> outcomes_;
  std::vector<double> scratch_;  // (threads, scratch_size)
};

}  // namespace sharpen::learn
