// The kernels of kernels.hpp, included once per instruction set. Raw loops over vector types
// only: nothing here may be shared with the rest of the program by the linker.
#pragma once

#include "base/lanes.hpp"
#include "select/kernels.hpp"

namespace sharpen::select {
namespace {

constexpr Index kLane = 4;
// Vectors per strip: as many as the register file holds beside the loop's other operands.
#if defined(__AVX2__)
constexpr int kSums = 8;
constexpr int kPairs = 4;
#else
constexpr int kSums = 4;
constexpr int kPairs = 2;
#endif

// Not Blocked::block, which other translation units use too.
inline double* block_of(const Blocked& G, Index b) { return G.data + b * G.capacity * kWidth; }

// strip -= sum over s in [first, last) of a_s G_s, on kSums * kLane columns from G on.
inline void subtract_rows(const double* G, Index first, Index last, const double* a,
                          Lanes (&strip)[kSums]) {
  for (Index s = first; s < last; ++s) {
    const Lanes coefficient = splat(a[s]);
    const double* row = G + s * kWidth;
    for (int c = 0; c < kSums; ++c) strip[c] -= coefficient * load(row + c * kLane);
  }
}

void project(const Blocked& G, const double* a, double* out) {
  for (Index b = 0; b < G.blocks; ++b) {
    for (Index first = 0; first < kWidth; first += kSums * kLane) {
      double* target = out + b * kWidth + first;
      Lanes strip[kSums];
      for (int c = 0; c < kSums; ++c) strip[c] = load(target + c * kLane);
      subtract_rows(block_of(G, b) + first, 0, G.rows, a, strip);
      for (int c = 0; c < kSums; ++c) store(target + c * kLane, strip[c]);
    }
  }
}

// The residuals of one strip once row s of G is final there.
inline void take_row(const Lanes (&row)[kSums], double z, double u, const Residuals& to, Index at) {
  for (int c = 0; c < kSums; ++c) {
    const Index j = at + c * kLane;
    store(to.rm + j, load(to.rm + j) - splat(z) * row[c]);
    store(to.r1 + j, load(to.r1 + j) - splat(u) * row[c]);
    store(to.rv + j, load(to.rv + j) - row[c] * row[c]);
  }
}

void forward(const Blocked& G, const double* L, const double* z, const double* u,
             const Residuals& residuals) {
  for (Index b = 0; b < G.blocks; ++b) {
    for (Index first = 0; first < kWidth; first += kSums * kLane) {
      double* strip_of = block_of(G, b) + first;
      for (Index r = 0; r < G.rows; ++r) {
        double* target = strip_of + r * kWidth;
        Lanes strip[kSums];
        for (int c = 0; c < kSums; ++c) strip[c] = load(target + c * kLane);
        subtract_rows(strip_of, 0, r, L + r * G.rows, strip);
        const Lanes scale = splat(1.0 / L[r * G.rows + r]);
        for (int c = 0; c < kSums; ++c) {
          strip[c] *= scale;
          store(target + c * kLane, strip[c]);
        }
        take_row(strip, z[r], u[r], residuals, b * kWidth + first);
      }
    }
  }
}

void backward(const Blocked& G, const double* U) {
  for (Index b = 0; b < G.blocks; ++b) {
    for (Index first = 0; first < kWidth; first += kSums * kLane) {
      double* strip_of = block_of(G, b) + first;
      for (Index r = G.rows - 1; r >= 0; --r) {
        double* target = strip_of + r * kWidth;
        Lanes strip[kSums];
        for (int c = 0; c < kSums; ++c) strip[c] = load(target + c * kLane);
        subtract_rows(strip_of, r + 1, G.rows, U + r * G.rows, strip);
        const Lanes scale = splat(1.0 / U[r * G.rows + r]);
        for (int c = 0; c < kSums; ++c) store(target + c * kLane, strip[c] * scale);
      }
    }
  }
}

// One strip of one block: the row of the new asset first, then two rank-one updates in one pass.
inline void exchange_strip(const Exchange& x, double* W, Index rows, const Residuals& residuals,
                           Index at) {
  Lanes old_row[kPairs], new_row[kPairs];
  for (int c = 0; c < kPairs; ++c) {
    old_row[c] = load(W + x.row * kWidth + c * kLane);
    new_row[c] = load(x.column + at + c * kLane);
  }
  for (Index s = 0; s < rows; ++s) {
    const Lanes cross = splat(x.cross[s]);
    for (int c = 0; c < kPairs; ++c) new_row[c] -= cross * load(W + s * kWidth + c * kLane);
  }
  const Lanes lift = splat(x.lift), scale = splat(1.0 / x.v);
  for (int c = 0; c < kPairs; ++c) new_row[c] = (new_row[c] + lift * old_row[c]) * scale;

  for (Index s = 0; s < rows; ++s) {
    const Lanes drop = splat(x.drop[s]), gain = splat(x.load[s]);
    double* row = W + s * kWidth;
    for (int c = 0; c < kPairs; ++c) {
      const Lanes dropped = load(row + c * kLane) - drop * old_row[c];
      store(row + c * kLane, dropped - gain * new_row[c]);
    }
  }
  for (int c = 0; c < kPairs; ++c) {
    const Index j = at + c * kLane;
    const Lanes a = old_row[c], e = new_row[c];
    store(residuals.rm + j, load(residuals.rm + j) + splat(x.gm) * a - splat(x.q) * e);
    store(residuals.r1 + j, load(residuals.r1 + j) + splat(x.g1) * a - splat(x.o) * e);
    store(residuals.rv + j, load(residuals.rv + j) + splat(x.h) * a * a - splat(x.v) * e * e);
  }
}

inline bool strip_of_interest(const Screen& screen, const double* W, Index rows,
                              const Residuals& residuals, Index at) {
  Lanes signal[kPairs], variance[kPairs], excess[kPairs];
  for (int c = 0; c < kPairs; ++c) {
    const Index j = at + c * kLane;
    signal[c] = load(residuals.rm + j) - splat(screen.t) * load(residuals.r1 + j);
    variance[c] = load(residuals.rv + j) + load(screen.bar + j);
    excess[c] = splat(0.0);
  }
  for (Index s = 0; s < rows; ++s) {
    const Lanes g = splat(screen.g[s]), h = splat(screen.h[s]), bound = splat(screen.bound[s]);
    for (int c = 0; c < kPairs; ++c) {
      const Lanes w = load(W + s * kWidth + c * kLane);
      const Lanes p = signal[c] + w * g;
      const Lanes d = variance[c] + (w * w) * h;
      const Lanes e = p * p - bound * d;
      excess[c] = e > excess[c] ? e : excess[c];
    }
  }
  for (int c = 0; c < kPairs; ++c)
    for (Index l = 0; l < kLane; ++l)
      if (excess[c][l] > 0.0) return true;
  return false;
}

Index sweep(const Blocked& W, const Residuals& residuals, const Exchange* exchange,
            const Screen& screen, Index first) {
  for (Index b = first; b < W.blocks; ++b) {
    double* block = block_of(W, b);
    bool found = false;
    for (Index strip = 0; strip < kWidth; strip += kPairs * kLane) {
      const Index at = b * kWidth + strip;
      if (exchange != nullptr) exchange_strip(*exchange, block + strip, W.rows, residuals, at);
      found |= strip_of_interest(screen, block + strip, W.rows, residuals, at);
    }
    if (found) return b;
  }
  return W.blocks;
}

double pairs(const double* c, const double* m, const double* v, double r, double m_a, Index count,
             double* gain) {
  constexpr double kNoVariance = 1e300;
  const double slope = r * m_a;
  Lanes largest = splat(0.0);
  Index b = 0;
  for (; b + kLane <= count; b += kLane) {
    const Lanes cb = load(c + b), e = load(m + b) - cb * splat(slope);
    const Lanes left = load(v + b) - cb * cb * splat(r);
    const Lanes value = left > 0.0 ? e * e / left : splat(kNoVariance);
    store(gain + b, value);
    largest = value > largest ? value : largest;
  }
  double most = 0.0;
  for (int i = 0; i < kLane; ++i) most = largest[i] > most ? largest[i] : most;
  for (; b < count; ++b) {
    const double e = m[b] - c[b] * slope, left = v[b] - c[b] * c[b] * r;
    gain[b] = left > 0.0 ? e * e / left : kNoVariance;
    most = gain[b] > most ? gain[b] : most;
  }
  return most;
}

constexpr Kernels kSet{project, forward, backward, sweep, pairs};

}  // namespace
}  // namespace sharpen::select
