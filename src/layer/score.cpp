#include "sharpen/layer/score.hpp"

#include <cmath>

#include "base/vec.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"

namespace sharpen::layer {

void ScoreSettings::validate() const {
  if (!raw) return;
  if (net == Net::any)
    throw InputError("‹raw-score› = true needs net = positive: it is the paper's budget scale");
  settings::check(*this);
}

Status score_forward(const ScoreSettings& settings, const risk::Risk& risk, Index s, ConstVec mu,
                     ScoreCache& cache, Vec z, Vec x, Vec m, Vec scratch) {
  cache = {};
  cache.scale = signal_scale(mu);
  if (risk.status(s) != Status::ok || std::isnan(cache.scale)) return Status::invalid_input;
  if (cache.scale == 0.0) return Status::no_signal;
  cache.face =
      face_forward(risk.ones_solution(s), risk.ones_norm2(s), mu, cache.scale, settings.net, m);
  if (settings.kind == Score::cholesky)
    risk.lower_solve(s, m, z, scratch);
  else
    risk.root_solve(s, m, z, scratch);
  const double C = dot(ConstVec(z), ConstVec(z));
  if (!std::isfinite(C)) return Status::invalid_input;
  if (!has_direction(cache.face, C, risk.n())) return Status::no_signal;
  cache.norm = std::sqrt(C);
  if (settings.raw)
    cache.q = (cache.face.neutral ? 0.0 : cache.face.B) + settings.offset * cache.norm;
  else
    cache.q = cache.norm / std::sqrt(static_cast<double>(risk.n()));
  const double inverse = 1.0 / cache.q;
  if (!std::isfinite(inverse)) return Status::invalid_input;
  for (std::size_t i = 0; i < z.size(); ++i) x[i] = std::abs(z[i]) * inverse;
  return cache.face.neutral ? Status::neutral_face : Status::ok;
}

void score_vjp(const ScoreSettings& settings, const risk::Risk& risk, Index s,
               const ScoreCache& cache, ConstVec z, ConstVec dL_dx, Vec dL_dmu, Vec g,
               Vec scratch) {
  // x = |z| / q: dz = sign(z) dx / q - (dx^T x / q) dq/dz, with dq/d|z| = c or 1/sqrt(n) along
  // z / |z|, and dq/dmu = b where q holds B.
  const double inverse = 1.0 / cache.q;
  double along = 0.0;  // dL_dx^T x
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double sign = (z[i] > 0.0) - (z[i] < 0.0);
    g[i] = sign * dL_dx[i] * inverse;
    along += g[i] * z[i];
  }
  const double dL_dq = -along * inverse;
  const double slope =
      settings.raw ? settings.offset : 1.0 / std::sqrt(static_cast<double>(risk.n()));
  const double radial = dL_dq * slope / cache.norm;
  for (std::size_t i = 0; i < z.size(); ++i) g[i] += radial * z[i];

  if (settings.kind == Score::cholesky)
    risk.lower_solve_t(s, g, dL_dmu, scratch);
  else
    risk.root_solve(s, g, dL_dmu, scratch);
  face_vjp(cache.face, risk.ones_solution(s), dL_dmu);
  if (settings.raw && !cache.face.neutral) {
    const ConstVec b = risk.ones_solution(s);
    for (std::size_t i = 0; i < z.size(); ++i) dL_dmu[i] += dL_dq * b[i];
  }
  for (double& d : dL_dmu) d *= cache.scale;
}

}  // namespace sharpen::layer
