// Re-optimisation under a mask p: direction y of unit risk and t from (mu, p).
//
//   masked      the tangent of p * mu (the paper). Dense even under a hard mask.
//   restricted  Sigma^-1 of the tangent replaced by G(p) = P F^-1 P, F = P Sigma P + (I - P^2) D,
//               P = diag p, D = diag Sigma: at p in {0, 1} the optimum on the support, zero off it.
//               b = G 1, A = 1^T b, B = b^T mu, m as in tangent.hpp, u = F^-1 P m, a = P u,
//               N = a^T Sigma a, y = a / sqrt(N), t = B / sqrt(N) or 0.
//     vjp: g = dL_dy + dL_dt 1 (dL_dt only off the face);
//          dL_da = (g - (g^T y) Sigma y) / sqrt(N);
//          h = dL_da, on the face dL_da - (b^T dL_da / A) 1;  v = F^-1 P h;
//          dL_dmu = P v;
//          dL_dp = h u + v m - v (Sigma P u) - u (Sigma P v) + 2 p D v u, entry by entry.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "sharpen/base/named.hpp"
#include "sharpen/base/status.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/layer/tangent.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::layer {

enum class Reoptimization { masked, restricted };
constexpr std::array<std::string_view, 2> names(Reoptimization) { return {"masked", "restricted"}; }

class CovarianceSums;

// One mode of re-optimisation for one risk model. Stateless: what the vjp needs lies in `kept`.
class Reoptimizer {
 public:
  struct Cache {
    TangentCache tangent;  // restricted: root_C is sqrt(N)
  };

  virtual ~Reoptimizer() = default;
  virtual Index kept_size() const = 0;     // doubles per instance that vjp reads
  virtual Index scratch_size() const = 0;  // doubles of work space, the risk's included

  virtual Status forward(Index s, ConstVec mu, ConstVec p, Cache& cache, Vec y, double& t, Vec kept,
                         Vec scratch) const = 0;
  // Only after ok or neutral_face.
  virtual void vjp(Index s, ConstVec mu, ConstVec p, const Cache& cache, ConstVec y, ConstVec dL_dy,
                   double dL_dt, Vec dL_dmu, Vec dL_dp, ConstVec kept, Vec scratch) const = 0;
  // What the loss gains through Sigma at a given p (covariance_gradient.hpp), for the sample of
  // `sums`. Likewise only after ok or neutral_face.
  virtual void covariance_vjp(ConstVec p, const Cache& cache, ConstVec y, ConstVec dL_dy,
                              double dL_dt, CovarianceSums& sums, ConstVec kept,
                              Vec scratch) const = 0;
};

// `risk` must outlive the result.
std::unique_ptr<Reoptimizer> make_reoptimizer(Reoptimization kind, const risk::Risk& risk, Net net);

}  // namespace sharpen::layer
