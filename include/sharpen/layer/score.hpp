// Scores: what the selection ranks assets by. With m the signal projected onto its
// face (tangent.hpp),
//   cholesky   z = L^-1 m         (the paper; depends on the order of the columns)
//   symmetric  z = Sigma^(-1/2) m (does not)
// and C = |z|^2. The score is x = sqrt(n) |z_i| / |z|, of unit root mean square, so that beta
// means the same in every market; raw keeps the paper's scale, |L^T w| with budget sizing:
// x = |z_i| / q with q = B + c sqrt(C), or c sqrt(C) on the face.
// Under limits the score is that of a portfolio w, z = L^T w = L^-1 (Sigma w) or
// Sigma^(1/2) w = Sigma^(-1/2) (Sigma w), which is the same for w = Sigma^-1 m.
#pragma once

#include <array>
#include <string_view>

#include "sharpen/base/named.hpp"
#include "sharpen/base/status.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/layer/tangent.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::layer {

enum class Score { cholesky, symmetric };
constexpr std::array<std::string_view, 2> names(Score) { return {"cholesky", "symmetric"}; }

struct ScoreSettings {
  Score kind = Score::symmetric;
  bool raw = false;
  double offset = 0.01;  // c of the raw scale
  Net net = Net::positive;

  void validate() const;  // raw needs Net::positive
};

struct ScoreCache {
  double scale = 0.0;  // of the signal
  double norm = 0.0;   // |z|
  double q = 0.0;      // x = |z_i| / q
  Face face;
};

// x (n) from mu (n), z (n) kept for the vjp; m (n) is work space. Returns ok, neutral_face,
// no_signal or invalid_input; x is not touched by the last two.
Status score_forward(const ScoreSettings& settings, const risk::Risk& risk, Index s, ConstVec mu,
                     ScoreCache& cache, Vec z, Vec x, Vec m, Vec scratch);

// dL_dmu (n); the derivative of |.| at 0 is 0. g (n) is work space.
void score_vjp(const ScoreSettings& settings, const risk::Risk& risk, Index s,
               const ScoreCache& cache, ConstVec z, ConstVec dL_dx, Vec dL_dmu, Vec g, Vec scratch);

// The same of a portfolio, from Sigma w (n); x = 0 if that is zero. Not raw.
void portfolio_score_forward(const ScoreSettings& settings, const risk::Risk& risk, Index s,
                             ConstVec Sigma_w, ScoreCache& cache, Vec z, Vec x, Vec scratch);
// dL_dSigma_w (n).
void portfolio_score_vjp(const ScoreSettings& settings, const risk::Risk& risk, Index s,
                         const ScoreCache& cache, ConstVec z, ConstVec dL_dx, Vec dL_dSigma_w,
                         Vec g, Vec scratch);

}  // namespace sharpen::layer
