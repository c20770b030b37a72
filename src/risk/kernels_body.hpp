// The one source of both kernel sets; see kernels.hpp. Included by kernels.cpp and
// kernels_v3.cpp only.
#include "base/lanes.hpp"
#include "risk/kernels.hpp"

namespace sharpen::risk {
namespace {

// Four dot products of length len (a multiple of 4) with the same x.
inline Lanes dot4(const double* r0, const double* r1, const double* r2, const double* r3,
                  const double* x, Index len) {
  Lanes s0 = splat(0), s1 = s0, s2 = s0, s3 = s0, t0 = s0, t1 = s0, t2 = s0, t3 = s0;
  Index j = 0;
  for (; j + 8 <= len; j += 8) {
    const Lanes x0 = load(x + j), x1 = load(x + j + 4);
    s0 += load(r0 + j) * x0;
    s1 += load(r1 + j) * x0;
    s2 += load(r2 + j) * x0;
    s3 += load(r3 + j) * x0;
    t0 += load(r0 + j + 4) * x1;
    t1 += load(r1 + j + 4) * x1;
    t2 += load(r2 + j + 4) * x1;
    t3 += load(r3 + j + 4) * x1;
  }
  if (j < len) {
    const Lanes x0 = load(x + j);
    s0 += load(r0 + j) * x0;
    s1 += load(r1 + j) * x0;
    s2 += load(r2 + j) * x0;
    s3 += load(r3 + j) * x0;
  }
  return Lanes{sum(s0 + t0), sum(s1 + t1), sum(s2 + t2), sum(s3 + t3)};
}

// a[0..len) += c0 r0 + c1 r1 + c2 r2 + c3 r3.
inline void axpy4(const double* r0, const double* r1, const double* r2, const double* r3, Lanes c,
                  double* a, Index len) {
  const Lanes c0 = splat(c[0]), c1 = splat(c[1]), c2 = splat(c[2]), c3 = splat(c[3]);
  for (Index j = 0; j < len; j += 4) {
    Lanes v = load(a + j);
    v += c0 * load(r0 + j);
    v += c1 * load(r1 + j);
    v += c2 * load(r2 + j);
    v += c3 * load(r3 + j);
    store(a + j, v);
  }
}

void lower_mul(const double* P, Index np, const double* x, double* z) {
  for (Index len = 4; len <= np; len += 4) {
    store(z + len - 4, dot4(P, P + len, P + 2 * len, P + 3 * len, x, len));
    P += 4 * len;
  }
}

void lower_mul_t(const double* P, Index np, const double* z, double* a) {
  for (Index j = 0; j < np; j += 4) store(a + j, splat(0));
  for (Index len = 4; len <= np; len += 4) {
    axpy4(P, P + len, P + 2 * len, P + 3 * len, load(z + len - 4), a, len);
    P += 4 * len;
  }
}

double gram_mul(const double* P, Index np, const double* x, double* a) {
  Lanes norm2 = splat(0);
  for (Index j = 0; j < np; j += 4) store(a + j, splat(0));
  for (Index len = 4; len <= np; len += 4) {
    const Lanes z = dot4(P, P + len, P + 2 * len, P + 3 * len, x, len);
    norm2 += z * z;
    axpy4(P, P + len, P + 2 * len, P + 3 * len, z, a, len);
    P += 4 * len;
  }
  return sum(norm2);
}

void sym_mul(const double* P, Index np, const double* x, double* out) {
  for (Index j = 0; j < np; j += 4) store(out + j, splat(0));
  for (Index len = 4; len <= np; len += 4) {
    const Lanes d = dot4(P, P + len, P + 2 * len, P + 3 * len, x, len);
    axpy4(P, P + len, P + 2 * len, P + 3 * len, load(x + len - 4), out, len);
    store(out + len - 4, load(out + len - 4) + d);
    P += 4 * len;
  }
}

// Columns are taken in strips that keep x, or out, in the first-level cache.
constexpr Index kStrip = 2048;

double dot_tail(const double* r, const double* x, Index first, Index last) {
  double s = 0;
  for (Index j = first; j < last; ++j) s += r[j] * x[j];
  return s;
}

void rows_dot(const double* R, Index rows, Index cols, Index stride, const double* x, double* q) {
  for (Index t = 0; t < rows; ++t) q[t] = 0;
  for (Index c = 0; c < cols; c += kStrip) {
    const Index width = cols - c < kStrip ? cols - c : kStrip;
    const Index whole = width / 4 * 4;
    const double* xs = x + c;
    for (Index t = 0; t < rows; t += 4) {
      // Missing rows of the last group repeat its last row; their sums are not stored.
      const Index have = rows - t < 4 ? rows - t : 4;
      const double* r[4];
      for (Index i = 0; i < 4; ++i) r[i] = R + (t + (i < have ? i : have - 1)) * stride + c;
      const Lanes d = dot4(r[0], r[1], r[2], r[3], xs, whole);
      for (Index i = 0; i < have; ++i) q[t + i] += d[i] + dot_tail(r[i], xs, whole, width);
    }
  }
}

void rows_combine(const double* R, Index rows, Index cols, Index stride, const double* v,
                  double* out) {
  for (Index j = 0; j < cols; ++j) out[j] = 0;
  for (Index c = 0; c < cols; c += kStrip) {
    const Index width = cols - c < kStrip ? cols - c : kStrip;
    const Index whole = width / 4 * 4;
    double* o = out + c;
    Index t = 0;
    for (; t + 4 <= rows; t += 4) {
      const double* r = R + t * stride + c;
      axpy4(r, r + stride, r + 2 * stride, r + 3 * stride, load(v + t), o, whole);
      for (Index j = whole; j < width; ++j)
        o[j] += v[t] * r[j] + v[t + 1] * r[stride + j] + v[t + 2] * r[2 * stride + j] +
                v[t + 3] * r[3 * stride + j];
    }
    for (; t < rows; ++t) {
      const double* r = R + t * stride + c;
      for (Index j = 0; j < width; ++j) o[j] += v[t] * r[j];
    }
  }
}

constexpr Kernels kSet = {lower_mul, lower_mul_t, gram_mul, sym_mul, rows_dot, rows_combine};

}  // namespace
}  // namespace sharpen::risk
