#include "sharpen/layer/tangent.hpp"

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"

namespace sharpen::layer {

namespace {

constexpr int kLeastExponent = -960;

}  // namespace

Status without_answer(Status status, Vec y, double& t) {
  t = status == Status::no_signal ? 0.0 : kNaN;
  std::fill(y.begin(), y.end(), t);
  return status;
}

double signal_scale(ConstVec mu) {
  double largest = 0.0;
  double check = 0.0;  // NaN or infinity survive the sum of x - x
  for (const double x : mu) {
    largest = std::max(largest, std::abs(x));
    check += x - x;
  }
  if (!(check == 0.0)) return kNaN;
  if (largest < std::ldexp(1.0, kLeastExponent)) return 0.0;
  return std::ldexp(1.0, -std::ilogb(largest));
}

Face face_forward(ConstVec b, double A, ConstVec mu, double scale, Net net, Vec m) {
  for (std::size_t i = 0; i < mu.size(); ++i) m[i] = scale * mu[i];
  Face face;
  face.A = A;
  face.B = dot(b, m);
  face.neutral = net == Net::positive && !(face.B > 0.0);
  if (face.neutral) {
    const double shift = face.B / A;
    for (double& x : m) x -= shift;
  }
  return face;
}

void face_vjp(const Face& face, ConstVec b, Vec dL_dm) {
  if (!face.neutral) return;
  const double shift = sum(ConstVec(dL_dm)) / face.A;
  for (std::size_t i = 0; i < dL_dm.size(); ++i) dL_dm[i] -= shift * b[i];
}

bool has_direction(const Face& face, double C, Index n) {
  const double rounding = 64.0 * static_cast<double>(n) * kEps;
  const double lost = face.neutral ? face.B * (face.B / face.A) : 0.0;  // mu itself has C + lost
  return C > rounding * rounding * (C + lost);
}

void net_zero(ConstVec b, double A, Vec y) {
  const double shift = sum(ConstVec(y)) / A;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] -= shift * b[i];
}

Status tangent_forward(const risk::Risk& risk, Index s, ConstVec mu, Net net, TangentCache& cache,
                       Vec y, double& t, Vec m, Vec scratch) {
  cache = {};
  cache.scale = signal_scale(mu);
  if (risk.status(s) != Status::ok || std::isnan(cache.scale))
    return without_answer(Status::invalid_input, y, t);
  if (cache.scale == 0.0) return without_answer(Status::no_signal, y, t);
  cache.face = face_forward(risk.ones_solution(s), risk.ones_norm2(s), mu, cache.scale, net, m);
  const double C = risk.solve(s, m, y, scratch);
  if (!std::isfinite(C)) return without_answer(Status::invalid_input, y, t);
  if (!has_direction(cache.face, C, risk.n())) return without_answer(Status::no_signal, y, t);
  if (cache.face.neutral) net_zero(risk.ones_solution(s), cache.face.A, y);
  cache.root_C = std::sqrt(C);
  const double inverse = 1.0 / cache.root_C;
  for (double& yi : y) yi *= inverse;
  t = cache.face.neutral ? 0.0 : cache.face.B * inverse;
  return cache.face.neutral ? Status::neutral_face : Status::ok;
}

void tangent_vjp(const risk::Risk& risk, Index s, const TangentCache& cache, ConstVec y,
                 ConstVec dL_dy, double dL_dt, Vec dL_dmu, Vec g, Vec scratch) {
  const double shift = cache.face.neutral ? 0.0 : dL_dt;
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = dL_dy[i] + shift;
  risk.solve(s, g, dL_dmu, scratch);
  const double along = dot(ConstVec(g), y);
  const double inverse = 1.0 / cache.root_C;
  for (std::size_t i = 0; i < g.size(); ++i) dL_dmu[i] = (dL_dmu[i] - along * y[i]) * inverse;
  face_vjp(cache.face, risk.ones_solution(s), dL_dmu);
  for (double& x : dL_dmu) x *= cache.scale;
}

}  // namespace sharpen::layer
