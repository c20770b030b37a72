// Soft top-k: p_i = sigmoid(beta (x_i + tau)), tau the root of sum(p) = k.
//
// newton   Let K hold the k largest x and c lie midway between the smallest x in K and the
//          largest outside. With u = beta (tau + c), a_i = beta (x_i - c) + u,
//            S_out(u) = sum over i not in K of sigmoid(a_i),
//            S_in(u)  = sum over i in K of sigmoid(-a_i),
//          sum(p) = k says S_out = S_in. Newton runs on G(u) = log S_out - log S_in, which is
//          increasing, with slope 1 for small beta and 2 for saturated masks, nearly straight in
//          between, and free of cancellation: tau is right to relative precision even where
//          sum(p) - k is flat to rounding. Safeguarded by a bracket.
// bisection  the paper's: a fixed number of halvings of tau's bracket, with no promise.
//
// v_i = dp_i/da_i * beta = beta p_i (1 - p_i), computed without forming 1 - p_i.
#pragma once

#include <array>
#include <string_view>

#include "sharpen/base/named.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen::layer {

enum class TopKSolver { newton, bisection };
constexpr std::array<std::string_view, 2> names(TopKSolver) { return {"newton", "bisection"}; }

struct TopKSettings {
  Index k = 1;        // in [1, n]
  double beta = 5.0;  // in (0, 1e6]
  TopKSolver solver = TopKSolver::newton;
  int bisections = 32;  // in [1, 200]

  void validate(Index n) const;
};

struct TopKResult {
  double tau = 0.0;
  int iterations = 0;      // passes over x
  bool converged = false;  // |sum(p) - k| <= 1e-10 k; always true of newton on finite x
};

// p (n) and v (n) from x (n, finite); scratch of n doubles. k = n gives p = 1, v = 0, tau = inf.
TopKResult soft_topk_forward(const TopKSettings& settings, ConstVec x, Vec p, Vec v, Vec scratch);

// dL_dx = g v - (<g, v> / sum v) v with g = dL_dp; zero where every p is saturated.
void soft_topk_vjp(ConstVec v, ConstVec dL_dp, Vec dL_dx);

}  // namespace sharpen::layer
