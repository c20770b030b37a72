// The perspective bound (bounds.hpp): Sigma = diag(d) + G, d > 0, G PSD.
//
//   max over K, |K| <= k, of C_K  <=  min over x of  x^T G x + top_k (mu_i - (G x)_i)^2 / d_i
//                                  =  max over z in [0, 1]^n, sum z <= k, of g(z),
//   g(z) = mu^T Z^(1/2) (diag(d) + Z^(1/2) G Z^(1/2))^-1 Z^(1/2) mu, Z = diag(z),
// concave, with gradient r_i = (mu_i - (G x)_i)^2 / d_i at x = Z^(1/2) (...)^-1 Z^(1/2) mu. Every
// x on the way gives a valid bound; g(z) says how far it is from the best one. Only the assets with
// z_i > 0 enter the solve, and they are soon few.
#pragma once

#include "baseline/sdr_algebra.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::baseline {

struct PerspectiveBound {
  double value = 0.0;  // Sharpe^2; +infinity if nothing was proved
  double gap = 0.0;    // relative: how much another x could gain at most
};

class Perspective {
 public:
  // Throws Interrupted once `stop`, which must outlive it, says so.
  Perspective(const risk::Risk& risk, Index sample, ConstVec mu, Index k, const Stop& stop);

  // The bound with this d (n), for which G must be known to be PSD.
  PerspectiveBound bound(const Vector& d);

 private:
  struct Point {
    Vector z, x, r;
    double g = 0.0;
  };
  bool evaluate(Point& at);
  double certified(const Point& at);
  void project(Vector& z);
  bool climb();

  const risk::Risk& risk_;
  Index sample_, n_, k_;
  const Stop& stop_;
  Vector mu_, deviation_;  // deviation: sqrt(Sigma_ii)
  Vector d_, Gx_;
  Point at_, trial_;
  double step_ = 1.0;
  std::vector<double> scratch_, block_, above_;
  std::vector<Index> support_;
};

// A diagonal d with Sigma - diag(d) PSD, proved by a Cholesky factor: scale * weights with the
// largest scale that can be proved, weights > 0. Empty if none can.
Vector proved_diagonal(const Matrix& Sigma, const Vector& weights, const Stop& stop);

}  // namespace sharpen::baseline
