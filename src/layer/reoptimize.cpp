#include "sharpen/layer/reoptimize.hpp"

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "sharpen/layer/covariance_gradient.hpp"

namespace sharpen::layer {

namespace {

// Cuts a piece of memory into vectors of n, front to back.
class Cutter {
 public:
  Cutter(Vec memory, Index n) : rest_(memory), n_(at(n)) {}
  Vec next() {
    const Vec piece = rest_.first(n_);
    rest_ = rest_.subspan(n_);
    return piece;
  }
  Vec rest() const { return rest_; }

 private:
  Vec rest_;
  std::size_t n_;
};

class Masked final : public Reoptimizer {
 public:
  Masked(const risk::Risk& risk, Net net) : risk_(risk), net_(net) {}

  Index kept_size() const override { return 0; }
  Index scratch_size() const override { return 2 * risk_.n() + risk_.scratch_size(); }

  Status forward(Index s, ConstVec mu, ConstVec p, Cache& cache, Vec y, double& t, Vec,
                 Vec scratch) const override {
    Cutter cut(scratch, risk_.n());
    const Vec masked = cut.next(), m = cut.next();
    for (std::size_t i = 0; i < mu.size(); ++i) masked[i] = p[i] * mu[i];
    return tangent_forward(risk_, s, masked, net_, cache.tangent, y, t, m, cut.rest());
  }

  void vjp(Index s, ConstVec mu, ConstVec p, const Cache& cache, ConstVec y, ConstVec dL_dy,
           double dL_dt, Vec dL_dmu, Vec dL_dp, ConstVec, Vec scratch) const override {
    Cutter cut(scratch, risk_.n());
    const Vec dL_dmasked = cut.next(), g = cut.next();
    tangent_vjp(risk_, s, cache.tangent, y, dL_dy, dL_dt, dL_dmasked, g, cut.rest());
    for (std::size_t i = 0; i < mu.size(); ++i) {
      dL_dmu[i] = p[i] * dL_dmasked[i];
      dL_dp[i] = mu[i] * dL_dmasked[i];
    }
  }

  void covariance_vjp(ConstVec, const Cache& cache, ConstVec y, ConstVec dL_dy, double dL_dt,
                      CovarianceSums& sums, ConstVec, Vec scratch) const override {
    const TangentCache& c = cache.tangent;
    Cutter cut(scratch, risk_.n());
    const Vec dL_dmasked = cut.next(), g = cut.next();
    tangent_vjp(risk_, sums.sample(), c, y, dL_dy, dL_dt, dL_dmasked, g, cut.rest());
    sums.add(-c.root_C / c.scale, dL_dmasked, y);
    sums.add(-0.5 * dot(ConstVec(g), y), y, y);
  }

 private:
  const risk::Risk& risk_;
  Net net_;
};

class Restricted final : public Reoptimizer {
 public:
  Restricted(const risk::Risk& risk, Net net) : risk_(risk), net_(net) {}

  // F^-1 p, m, u, Sigma y, then the factor of F(p).
  Index kept_size() const override { return 4 * risk_.n() + risk_.restriction_size(); }
  Index scratch_size() const override { return 3 * risk_.n() + risk_.scratch_size(); }

  Status forward(Index s, ConstVec mu, ConstVec p, Cache& cache, Vec y, double& t, Vec kept,
                 Vec scratch) const override;
  void vjp(Index s, ConstVec mu, ConstVec p, const Cache& cache, ConstVec y, ConstVec dL_dy,
           double dL_dt, Vec dL_dmu, Vec dL_dp, ConstVec kept, Vec scratch) const override;
  void covariance_vjp(ConstVec p, const Cache& cache, ConstVec y, ConstVec dL_dy, double dL_dt,
                      CovarianceSums& sums, ConstVec kept, Vec scratch) const override;

 private:
  double adjoint(Index s, ConstVec p, const TangentCache& c, ConstVec y, ConstVec dL_dy,
                 double dL_dt, ConstVec kept, Vec h, Vec v, Vec scratch) const;

  const risk::Risk& risk_;
  Net net_;
};

// On the face 1^T P u = 0. Where p is nearly hard on one name, the projected m there is the tiny
// difference of two large numbers, and its rounding would drown everything else in u. The sum
// of P u shows what was lost: subtracting it along F^-1 p gives back the digits. Returns what
// has to be subtracted from m (or h) to match.
double project_again(ConstVec p, ConstVec ones, double A, Vec u) {
  const double shift = dot(p, ConstVec(u)) / A;
  for (std::size_t i = 0; i < u.size(); ++i) u[i] -= shift * ones[i];
  return shift;
}

Status Restricted::forward(Index s, ConstVec mu, ConstVec p, Cache& cache, Vec y, double& t,
                           Vec kept, Vec scratch) const {
  const std::size_t n = mu.size();
  TangentCache& c = cache.tangent;
  c = {};
  c.scale = signal_scale(mu);
  if (risk_.status(s) != Status::ok || std::isnan(c.scale))
    return without_answer(Status::invalid_input, y, t);
  if (c.scale == 0.0) return without_answer(Status::no_signal, y, t);

  Cutter keep(kept, risk_.n());
  const Vec ones = keep.next(), m = keep.next(), u = keep.next(), Sigma_y = keep.next();
  const Vec factor = keep.rest();
  Cutter cut(scratch, risk_.n());
  const Vec Pm = cut.next(), b = cut.next();
  if (!risk_.restrict_to(s, p, factor, cut.rest()))
    return without_answer(Status::invalid_input, y, t);

  risk_.restricted_solve(s, p, factor, p, ones, cut.rest());  // P 1 = p
  for (std::size_t i = 0; i < n; ++i) b[i] = p[i] * ones[i];
  c.face = face_forward(b, sum(ConstVec(b)), mu, c.scale, net_, m);
  for (std::size_t i = 0; i < n; ++i) Pm[i] = p[i] * m[i];
  risk_.restricted_solve(s, p, factor, Pm, u, cut.rest());
  if (c.face.neutral) {
    const double shift = project_again(p, ones, c.face.A, u);
    for (std::size_t i = 0; i < n; ++i) {
      m[i] -= shift;
      Pm[i] = p[i] * m[i];
    }
  }
  const double C = dot(ConstVec(Pm), ConstVec(u));
  if (!std::isfinite(C)) return without_answer(Status::invalid_input, y, t);
  if (!has_direction(c.face, C, risk_.n())) return without_answer(Status::no_signal, y, t);

  for (std::size_t i = 0; i < n; ++i) y[i] = p[i] * u[i];
  risk_.apply(s, y, Sigma_y, cut.rest());
  const double N = dot(ConstVec(y), ConstVec(Sigma_y));
  if (!std::isfinite(N)) return without_answer(Status::invalid_input, y, t);
  if (!(N > 0.0)) return without_answer(Status::no_signal, y, t);
  c.root_C = std::sqrt(N);
  const double inverse = 1.0 / c.root_C;
  for (std::size_t i = 0; i < n; ++i) {
    y[i] *= inverse;
    Sigma_y[i] *= inverse;
  }
  t = c.face.neutral ? 0.0 : c.face.B * inverse;
  return c.face.neutral ? Status::neutral_face : Status::ok;
}

// h (n) and v (n). Returns g^T y.
double Restricted::adjoint(Index s, ConstVec p, const TangentCache& c, ConstVec y, ConstVec dL_dy,
                           double dL_dt, ConstVec kept, Vec h, Vec v, Vec scratch) const {
  const std::size_t n = y.size();
  const ConstVec ones = kept.first(n), Sigma_y = kept.subspan(3 * n, n),
                 factor = kept.subspan(4 * n);
  const Vec Ph = scratch.first(n), rest = scratch.subspan(n);
  const double shift = c.face.neutral ? 0.0 : dL_dt;
  for (std::size_t i = 0; i < n; ++i) h[i] = dL_dy[i] + shift;
  const double along = dot(ConstVec(h), y);
  const double inverse = 1.0 / c.root_C;
  for (std::size_t i = 0; i < n; ++i) h[i] = (h[i] - along * Sigma_y[i]) * inverse;
  if (c.face.neutral) {
    double level = 0.0;  // b^T h with b = P F^-1 p
    for (std::size_t i = 0; i < n; ++i) level += p[i] * ones[i] * h[i];
    for (double& x : h) x -= level / c.face.A;
  }

  for (std::size_t i = 0; i < n; ++i) Ph[i] = p[i] * h[i];
  risk_.restricted_solve(s, p, factor, Ph, v, rest);
  if (c.face.neutral) {
    const double shift_h = project_again(p, ones, c.face.A, v);
    for (double& x : h) x -= shift_h;
  }
  return along;
}

void Restricted::vjp(Index s, ConstVec, ConstVec p, const Cache& cache, ConstVec y, ConstVec dL_dy,
                     double dL_dt, Vec dL_dmu, Vec dL_dp, ConstVec kept, Vec scratch) const {
  const std::size_t n = y.size();
  const TangentCache& c = cache.tangent;
  const ConstVec m = kept.subspan(n, n), u = kept.subspan(2 * n, n),
                 Sigma_y = kept.subspan(3 * n, n);
  const ConstVec D = risk_.diagonal(s);
  Cutter cut(scratch, risk_.n());
  const Vec h = cut.next(), v = cut.next();
  adjoint(s, p, c, y, dL_dy, dL_dt, kept, h, v, cut.rest());
  const Vec Sigma_Pv = cut.next();
  for (std::size_t i = 0; i < n; ++i) dL_dmu[i] = p[i] * v[i];
  risk_.apply(s, dL_dmu, Sigma_Pv, cut.rest());
  for (std::size_t i = 0; i < n; ++i) {
    const double Sigma_Pu = Sigma_y[i] * c.root_C;
    dL_dp[i] = h[i] * u[i] + v[i] * m[i] - v[i] * Sigma_Pu - u[i] * Sigma_Pv[i] +
               2.0 * p[i] * D[i] * v[i] * u[i];
    dL_dmu[i] *= c.scale;
  }
}

void Restricted::covariance_vjp(ConstVec p, const Cache& cache, ConstVec y, ConstVec dL_dy,
                                double dL_dt, CovarianceSums& sums, ConstVec kept,
                                Vec scratch) const {
  const std::size_t n = y.size();
  const TangentCache& c = cache.tangent;
  const ConstVec u = kept.subspan(2 * n, n);
  Cutter cut(scratch, risk_.n());
  const Vec h = cut.next(), v = cut.next();
  const double along = adjoint(sums.sample(), p, c, y, dL_dy, dL_dt, kept, h, v, cut.rest());
  const Vec Pv = h;
  for (std::size_t i = 0; i < n; ++i) Pv[i] = p[i] * v[i];
  sums.add(-c.root_C, Pv, y);  // P u = sqrt(N) y
  sums.add(-0.5 * along, y, y);
  for (std::size_t i = 0; i < n; ++i) v[i] *= 1.0 - p[i] * p[i];
  sums.add_diagonal(-1.0, v, u);
}

}  // namespace

std::unique_ptr<Reoptimizer> make_reoptimizer(Reoptimization kind, const risk::Risk& risk,
                                              Net net) {
  if (kind == Reoptimization::masked) return std::make_unique<Masked>(risk, net);
  return std::make_unique<Restricted>(risk, net);
}

}  // namespace sharpen::layer
