// Columns of a symmetric matrix (n, n), each computed when it is first asked for: a sparse
// iteration touches few of them.
#pragma once

#include <algorithm>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::baseline {

class Columns {
 public:
  explicit Columns(Index n) : n_(n), slot_(at(n), -1) {}

  // Forgets every column and keeps the memory.
  void clear() {
    std::fill(slot_.begin(), slot_.end(), -1);
    used_ = 0;
  }

  // Column j; fill(j, column) computes it.
  template <class Fill>
  const double* get(Index j, const Fill& fill) {
    Index& slot = slot_[at(j)];
    if (slot < 0) {
      if (used_ == static_cast<Index>(pool_.size())) pool_.emplace_back(at(n_));
      slot = used_++;
      fill(j, Vec(pool_[at(slot)]));
    }
    return pool_[at(slot)].data();
  }

 private:
  Index n_;
  Index used_ = 0;
  std::vector<Index> slot_;                // (n), or -1
  std::vector<std::vector<double>> pool_;  // its buffers never move
};

// y += sum_s coefficients[s] columns[s], y (n).
inline void add_columns(const std::vector<const double*>& columns,
                        const std::vector<double>& coefficients, Vec y) {
  const std::size_t n = y.size(), count = columns.size();
  double* out = y.data();
  std::size_t s = 0;
  for (; s + 4 <= count; s += 4) {
    const double *a = columns[s], *b = columns[s + 1], *c = columns[s + 2], *d = columns[s + 3];
    const double x = coefficients[s], z = coefficients[s + 1], p = coefficients[s + 2],
                 q = coefficients[s + 3];
    for (std::size_t i = 0; i < n; ++i) out[i] += (x * a[i] + z * b[i]) + (p * c[i] + q * d[i]);
  }
  for (; s < count; ++s) {
    const double* a = columns[s];
    const double x = coefficients[s];
    for (std::size_t i = 0; i < n; ++i) out[i] += x * a[i];
  }
}

// The same for entry i alone, from y on, to the bit.
inline double with_columns(const std::vector<const double*>& columns,
                           const std::vector<double>& coefficients, std::size_t i, double y) {
  const std::size_t count = columns.size();
  const auto term = [&](std::size_t s) { return coefficients[s] * columns[s][i]; };
  std::size_t s = 0;
  for (; s + 4 <= count; s += 4) y += (term(s) + term(s + 1)) + (term(s + 2) + term(s + 3));
  for (; s < count; ++s) y += term(s);
  return y;
}

}  // namespace sharpen::baseline
