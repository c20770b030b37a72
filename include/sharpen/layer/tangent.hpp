// The tangent direction (the paper's QCQP in closed form):
//   max mu^T y  s.t.  1^T y = t,  |L^T y| <= 1,  t >= 0.
// With b = Sigma^-1 1, A = 1^T b and B = b^T mu, choose the face first and project the signal:
//   m = mu               if B > 0 (net long), or under Net::any,
//   m = mu - (B / A) 1   otherwise (the t = 0 face);
// then a = Sigma^-1 m, C = m^T a, y = a / sqrt(C), t = B / sqrt(C) or 0. Projecting before
// solving keeps C a sum of squares: C - B^2 / A would cancel.
//   vjp: g = dL_dy + dL_dt 1 (dL_dt only off the face);
//        dL_dm = (Sigma^-1 g - (g^T y) y) / sqrt(C);
//        dL_dmu = dL_dm, on the face dL_dm - b (1^T dL_dm) / A.
// y is continuous across B = 0 with a kink; the face's vjp is used at B = 0.
#pragma once

#include "sharpen/base/status.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/layer/sizing.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::layer {

// A power of two that brings max|mu| into [1, 2): everything below is scale-free in mu. 0 if the
// signal is zero (below 2^-960, where its gradient would overflow); NaN if it is not finite.
double signal_scale(ConstVec mu);

// What a problem without answer leaves in y and t: 0 where there is no signal, else NaN. Returns
// `status`.
Status without_answer(Status status, Vec y, double& t);

// Which face a signal is on, and what the projection needs. b and A belong to whatever inverse
// is in force: Sigma^-1, or G(p) under a soft restriction.
struct Face {
  bool neutral = false;  // t = 0
  double A = 0.0;
  double B = 0.0;
};

// m = scale * mu, projected.
Face face_forward(ConstVec b, double A, ConstVec mu, double scale, Net net, Vec m);
// In place: dL_dm becomes dL_d(scale * mu).
void face_vjp(const Face& face, ConstVec b, Vec dL_dm);
// y -= (1^T y / A) b: on the face 1^T y = 0, but the rounding of m leaves a net position that a
// nearly constant mu would multiply into a wrong result.
void net_zero(ConstVec b, double A, Vec y);
// Whether C = m^T Sigma^-1 m is more than the rounding of the signal it was projected from.
bool has_direction(const Face& face, double C, Index n);

struct TangentCache {
  double scale = 0.0;
  double root_C = 0.0;
  Face face;
};

// y (n) and t for sample s; m (n) and scratch (risk.scratch_size()) are work space. Returns ok,
// neutral_face, no_signal (y = 0, t = 0) or invalid_input (y = NaN).
Status tangent_forward(const risk::Risk& risk, Index s, ConstVec mu, Net net, TangentCache& cache,
                       Vec y, double& t, Vec m, Vec scratch);

// dL_dmu (n); y as forward gave it. Only after ok or neutral_face. g (n) is work space.
void tangent_vjp(const risk::Risk& risk, Index s, const TangentCache& cache, ConstVec y,
                 ConstVec dL_dy, double dL_dt, Vec dL_dmu, Vec g, Vec scratch);

}  // namespace sharpen::layer
