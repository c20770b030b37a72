// What a loss gains per unit of covariance: dL_dSigma, the symmetric G of dL = sum_ij G_ij
// dSigma_ij, for the layer of sparse_tangent.hpp. With sym(X) = (X + X^T) / 2, and Sigma that of
// the risk model (shrunk; its jitter a constant), each piece adds its own:
//
//   face      m = mu - (B / A) 1, a = Sigma^-1 m:  d(B / A) = -b^T dSigma a / A, hence
//             G += (1^T dL_dm / A) sym(b a^T); the B of a raw score: G -= dL_dB sym(b a^T).
//   score     z = R m, g = dL_dz.
//     symmetric  R = Sigma^(-1/2) = Q diag(rho) Q^T. dR is the divided difference of lambda^(-1/2)
//                times dSigma, entry by entry in the basis Q: -(rho_i rho_j)^2 / (rho_i + rho_j),
//                which has no difference in it and holds for equal eigenvalues, too. With m = R^-1
//                z, G += Q M Q^T,  M_ij = -rho_i rho_j / (rho_i + rho_j) sym(rho (Q^T g) (Q^T
//                z)^T)_ij.
//     cholesky   R = L^-1. dL = L Phi(L^-1 dSigma L^-T), Phi the lower triangle with half of the
//                diagonal, hence dz = -Phi(.) z and
//                G += -1/2 L^-T T L^-1,  T_ij = g_max(i,j) z_min(i,j).
//     Its scale, 1 / |z| or 1 / q, is in g (score.hpp). Top-k and sizing do not see Sigma.
//   masked    y = a / sqrt(C), with g = dL_dy + dL_dt 1 and d = dL_d(p mu):
//             G += -sqrt(C) sym(d y^T) - 1/2 (g^T y) y y^T, on both faces.
//   restricted  F = P Sigma P + (I - P^2) D, u = F^-1 P m, y = P u / sqrt(N), v = F^-1 P h
//             (reoptimize.hpp):
//             G += -sym((P v) (P u)^T) - diag((1 - p^2) v u) - 1/2 (g^T y) y y^T, on both faces.
//
// Under limits, w of limited.hpp takes the place of both solves, and adds what is said there. Its
// score, z = R Sigma w, adds sym((R^T g) w^T) besides, w = R^T z; and the risk more of restricted,
// (1 / p^2 - 1) diag(Sigma), adds diag(dL_dmore (1 / p^2 - 1)).
//
// Every piece costs O(n^2) an instance. What the scores add is turned back from their own basis
// once a sample, in O(n^3), whatever number of instances have met it: that is what the set-up of a
// dense sample costs.
#pragma once

#include <vector>

#include "sharpen/base/threads.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/layer/score.hpp"
#include "sharpen/layer/sparse_tangent.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::layer {

// Of one sample: the sum of what its instances add, in the order in which they do.
class CovarianceSums {
 public:
  CovarianceSums(Score score, const risk::Risk& risk);

  void begin(Index s);
  Index sample() const { return sample_; }
  // G += weight sym(x y^T), G += weight diag(x y), with x and y (n).
  void add(double weight, ConstVec x, ConstVec y);
  void add_diagonal(double weight, ConstVec x, ConstVec y);
  // What z = R m adds through R, of g = dL_dz and z (n).
  void add_score(ConstVec g, ConstVec z);
  // dL_dSigma (n, n) += G.
  void finish(Mat dL_dSigma);

 private:
  bool find_basis();
  void turn_back_symmetric(Mat dL_dSigma);
  void turn_back_cholesky(Mat dL_dSigma);

  Score score_;
  const risk::Risk* risk_;
  Index n_, sample_ = 0;
  bool any_ = false, any_score_ = false;
  std::vector<double> direct_;     // (n, n): G is its symmetric part
  std::vector<double> scored_;     // (n, n): the sum of g z^T, in the basis Q if symmetric
  std::vector<double> Q_, rho_;    // (n, n) column by column, (n)
  std::vector<double> turned_;     // (n, n)
  std::vector<double> by_basis_;   // (2 n)
  std::vector<double> work_;       // of LAPACK, or of the risk model
  std::vector<int> integer_work_;  // of LAPACK
};

// What the score adds, from dL_dx (n); z (n) and `cache` as score_forward left them. scratch: 2 n
// and the risk's.
void score_covariance_vjp(const ScoreSettings& settings, const risk::Risk& risk,
                          const ScoreCache& cache, ConstVec z, ConstVec dL_dx, CovarianceSums& sums,
                          Vec scratch);

// What the score of a portfolio w adds through R and Sigma at a given w, of g = dL_dz, z and
// dL_dSigma_w = R^T g (n each). scratch: n and the risk's.
void portfolio_covariance_vjp(const ScoreSettings& settings, const risk::Risk& risk, ConstVec z,
                              ConstVec g, ConstVec dL_dSigma_w, CovarianceSums& sums, Vec scratch);

// The memory for batches of at most max_batch instances on at most max_threads threads.
class CovarianceGradient {
 public:
  // `layer` must outlive it.
  CovarianceGradient(const SparseTangent& layer, Index max_batch, int max_threads);

  // dL_dSigma += from dL_dw (B, n), for the batch that `cache` saw last: of S samples, rows s n to
  // (s + 1) n - 1 of dL_dSigma (S n, n) are sample s. Every sample is added up by one thread, its
  // instances in their order: the same bits for any thread count. Allocates nothing.
  void add(LayerCache& cache, ConstMat dL_dw, Mat dL_dSigma, const Threads& threads);

 private:
  const SparseTangent* layer_;
  std::vector<Index> order_, starts_;
  std::vector<double> dL_dmu_;  // (threads, n)
  std::vector<CovarianceSums> sums_;
};

}  // namespace sharpen::layer
