// Better supports than single exchanges find: exchanges of two names for two others, and starts
// from supports that chance has disturbed. For problems without limits but net >= 0.
#pragma once

#include <span>
#include <vector>

#include "select/kernels.hpp"
#include "select/proof_problem.hpp"
#include "sharpen/base/control.hpp"

namespace sharpen::select {

class ProofSearch {
 public:
  // `net_positive`: S(K) is C - B^2 / A where B <= 0 (select.hpp).
  ProofSearch(const ProofProblem& problem, bool net_positive);

  double value(std::span<const Index> K);
  // Exchanges one for one while the value grows, which it returns. Throws Interrupted once `stop`
  // says so; K is then as far as it has come.
  double exchange(std::vector<Index>& K, const Stop& stop = {});
  // The same, and two for two where that is affordable, from K and from `starts` disturbed ones.
  // Throws Interrupted once `stop` says so.
  double run(std::vector<Index>& K, int starts, const Stop& stop);

 private:
  struct Scalars {
    double A = 0.0, B = 0.0, C = 0.0;
  };
  double worth(const Scalars& of) const;
  bool load(std::span<const Index> K);
  bool best_exchange(double value, Index& out, Index& in) const;
  bool exchange_two(std::vector<Index>& K, double now);
  void load_outside();
  double best_pair(Index first, Index second, double to_beat, Index& a, Index& b);

  const ProofProblem& problem_;
  const bool net_positive_;
  const Kernels& kernels_;
  Index k_ = 0;
  ProofMatrix L_, H_, W_;    // (k, k), (k, k), (k, n)
  ProofVector ones_;         // in the problem's units
  ProofVector alpha_, eta_;  // Sigma_KK^-1 mu_K and ones
  ProofVector rm_, r1_, rv_;
  double shift_ = 0.0;  // nu: mu + nu 1 has the value of K where its net position may not be short
  ProofMatrix R_, W_outside_;  // (m, m) residual covariances of the m names outside; (m, k) W^T
  ProofVector m_outside_, v_outside_;
  Scalars of_;
  std::vector<char> taken_;
  std::vector<Index> K_, outside_, trial_;
  std::vector<double> c_, mu_, v_, gain_;
};

}  // namespace sharpen::select
