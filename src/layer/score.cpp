#include "sharpen/layer/score.hpp"

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"

namespace sharpen::layer {

namespace {

void whiten(Score kind, const risk::Risk& risk, Index s, ConstVec m, Vec z, Vec scratch) {
  if (kind == Score::cholesky)
    risk.lower_solve(s, m, z, scratch);
  else
    risk.root_solve(s, m, z, scratch);
}

void whiten_vjp(Score kind, const risk::Risk& risk, Index s, ConstVec dL_dz, Vec dL_dm,
                Vec scratch) {
  if (kind == Score::cholesky)
    risk.lower_solve_t(s, dL_dz, dL_dm, scratch);
  else
    risk.root_solve(s, dL_dz, dL_dm, scratch);
}

// x = |z| / q: dz = sign(z) dx / q - (dx^T x / q) dq/dz, where q grows by `slope` along z / |z|.
// Returns dL_dq.
double scaled_vjp(const ScoreCache& cache, double slope, ConstVec z, ConstVec dL_dx, Vec dL_dz) {
  const double inverse = 1.0 / cache.q;
  double along = 0.0;  // dL_dx^T x
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double sign = (z[i] > 0.0) - (z[i] < 0.0);
    dL_dz[i] = sign * dL_dx[i] * inverse;
    along += dL_dz[i] * z[i];
  }
  const double dL_dq = -along * inverse;
  const double radial = dL_dq * slope / cache.norm;
  for (std::size_t i = 0; i < z.size(); ++i) dL_dz[i] += radial * z[i];
  return dL_dq;
}

}  // namespace

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
  whiten(settings.kind, risk, s, m, z, scratch);
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
  // dq/d|z| is c or 1/sqrt(n), and dq/dmu = b where q holds B.
  const double slope =
      settings.raw ? settings.offset : 1.0 / std::sqrt(static_cast<double>(risk.n()));
  const double dL_dq = scaled_vjp(cache, slope, z, dL_dx, g);
  whiten_vjp(settings.kind, risk, s, g, dL_dmu, scratch);
  face_vjp(cache.face, risk.ones_solution(s), dL_dmu);
  if (settings.raw && !cache.face.neutral) {
    const ConstVec b = risk.ones_solution(s);
    for (std::size_t i = 0; i < z.size(); ++i) dL_dmu[i] += dL_dq * b[i];
  }
  for (double& d : dL_dmu) d *= cache.scale;
}

void portfolio_score_forward(const ScoreSettings& settings, const risk::Risk& risk, Index s,
                             ConstVec Sigma_w, ScoreCache& cache, Vec z, Vec x, Vec scratch) {
  cache = {};
  whiten(settings.kind, risk, s, Sigma_w, z, scratch);
  cache.norm = std::sqrt(dot(ConstVec(z), ConstVec(z)));
  cache.q = cache.norm / std::sqrt(static_cast<double>(risk.n()));
  const double inverse = cache.q > 0.0 ? 1.0 / cache.q : 0.0;
  for (std::size_t i = 0; i < z.size(); ++i) x[i] = std::abs(z[i]) * inverse;
}

void portfolio_score_vjp(const ScoreSettings& settings, const risk::Risk& risk, Index s,
                         const ScoreCache& cache, ConstVec z, ConstVec dL_dx, Vec dL_dSigma_w,
                         Vec g, Vec scratch) {
  if (!(cache.q > 0.0)) {
    std::fill(dL_dSigma_w.begin(), dL_dSigma_w.end(), 0.0);
    return;
  }
  scaled_vjp(cache, 1.0 / std::sqrt(static_cast<double>(risk.n())), z, dL_dx, g);
  whiten_vjp(settings.kind, risk, s, g, dL_dSigma_w, scratch);
}

}  // namespace sharpen::layer
