#include "layer/free_factor.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>

namespace sharpen::layer {

namespace {

// A row is dependent whose part that no other row has is this share of its square.
constexpr double kDependent = 1e-11;
// Sigma is positive definite; what rounding leaves of a pivot may not be.
constexpr double kLeastPivot = 1e-14;

void lower_solve(CBLAS_TRANSPOSE transposed, const double* L, Index size, Index stride, double* x) {
  cblas_dtrsv(CblasRowMajor, CblasLower, transposed, CblasNonUnit, static_cast<int>(size), L,
              static_cast<int>(stride), x, 1);
}

}  // namespace

void FreeFactor::clear() {
  for (const Index asset : assets_) position_[at(asset)] = -1;
  assets_.clear();
  active_.clear();
}

void FreeFactor::grow() {
  const Index old = capacity_;
  capacity_ = std::min(n_, std::max<Index>(32, 2 * old));
  std::vector<double> L(at(capacity_ * capacity_));
  for (Index a = 0; a < size(); ++a)
    std::copy_n(L_.begin() + a * old, a + 1, L.begin() + a * capacity_);
  L_ = std::move(L);
  columns_.resize(at(capacity_ * n_));
  Y_.resize(at(capacity_ * rows_));
  forward_.resize(at(capacity_));
}

Vec FreeFactor::next_column() {
  if (size() == capacity_) grow();
  return {columns_.data() + size() * n_, at(n_)};
}

void FreeFactor::append(Index asset, ConstVec coefficients) {
  const Index f = size();
  const ConstVec H = column(f);
  double* row = L_.data() + f * capacity_;
  for (Index a = 0; a < f; ++a) row[a] = H[at(assets_[at(a)])];
  const double own = H[at(asset)];
  double pivot = own;
  if (f > 0) {
    lower_solve(CblasNoTrans, L_.data(), f, capacity_, row);
    pivot -= cblas_ddot(static_cast<int>(f), row, 1, row, 1);
  }
  row[f] = std::sqrt(std::max(pivot, kLeastPivot * own));
  double* Y = Y_.data() + f * rows_;
  for (std::size_t q = 0; q < active_.size(); ++q) {
    double rest = coefficients[q];
    for (Index a = 0; a < f; ++a) rest -= row[a] * Y_[at(a * rows_) + q];
    Y[q] = rest / row[f];
  }
  position_[at(asset)] = f;
  assets_.push_back(asset);
}

// Without its row, the factor has one entry right of the diagonal in every row below: rotations of
// neighbouring columns take them away, and turn Y alike.
void FreeFactor::remove(Index asset) {
  const Index k = position_[at(asset)];
  const Index f = size() - 1;
  position_[at(asset)] = -1;
  assets_.erase(assets_.begin() + k);
  for (Index a = k; a < f; ++a) {
    position_[at(assets_[at(a)])] = a;
    const double* below = L_.data() + (a + 1) * capacity_;
    std::copy(below, below + a + 2, L_.data() + a * capacity_);
    const double* next = columns_.data() + (a + 1) * n_;
    std::copy(next, next + n_, columns_.data() + a * n_);
  }
  const int rest = static_cast<int>(active_.size());
  for (Index a = k; a < f; ++a) {
    double* row = L_.data() + a * capacity_;
    const double x = row[a], y = row[a + 1];
    const double length = std::hypot(x, y);
    const double c = x / length, s = y / length;
    row[a] = length;
    const int stride = static_cast<int>(capacity_);
    cblas_drot(static_cast<int>(f - a - 1), row + capacity_ + a, stride, row + capacity_ + a + 1,
               stride, c, s);
    cblas_drot(rest, Y_.data() + a * rows_, 1, Y_.data() + (a + 1) * rows_, 1, c, s);
  }
}

void FreeFactor::set_column_of_Y(Index q, ConstVec coefficients) {
  if (size() == 0) return;
  std::copy(coefficients.begin(), coefficients.end(), forward_.begin());
  lower_solve(CblasNoTrans, L_.data(), size(), capacity_, forward_.data());
  for (Index a = 0; a < size(); ++a) Y_[at(a * rows_ + q)] = forward_[at(a)];
}

void FreeFactor::add_row(Index row, ConstVec coefficients) {
  active_.push_back(row);
  set_column_of_Y(static_cast<Index>(active_.size()) - 1, coefficients);
}

void FreeFactor::set_row(Index row, ConstVec coefficients) {
  set_column_of_Y(std::find(active_.begin(), active_.end(), row) - active_.begin(), coefficients);
}

void FreeFactor::remove_row(Index row) {
  const auto found = std::find(active_.begin(), active_.end(), row);
  const Index q = found - active_.begin();
  active_.erase(found);
  for (Index a = 0; a < size(); ++a) {
    double* Y = Y_.data() + a * rows_;
    std::copy(Y + q + 1, Y + active_.size() + 1, Y + q);
  }
}

Index FreeFactor::factor_rows() {
  const Index count = static_cast<Index>(active_.size());
  for (Index q = 0; q < count; ++q) {
    double* row = S_.data() + q * most_;
    for (Index b = 0; b <= q; ++b) {
      row[b] = 0.0;
      for (Index a = 0; a < size(); ++a) row[b] += Y_[at(a * rows_ + q)] * Y_[at(a * rows_ + b)];
    }
    const double whole = row[q];
    for (Index b = 0; b < q; ++b) {
      const double* above = S_.data() + b * most_;
      for (Index i = 0; i < b; ++i) row[b] -= row[i] * above[i];
      row[b] /= above[b];
      row[q] -= row[b] * row[b];
    }
    if (q >= size() || !(row[q] > kDependent * whole)) return q;
    row[q] = std::sqrt(row[q]);
  }
  return -1;
}

void FreeFactor::dependence(Index q, Vec y) const {
  std::fill(y.begin(), y.end(), 0.0);
  const double* row = S_.data() + q * most_;
  for (Index b = 0; b < q; ++b) y[at(b)] = -row[b];
  if (q > 0) lower_solve(CblasTrans, S_.data(), q, most_, y.data());
  y[at(q)] = 1.0;
}

void FreeFactor::solve(Vec r, Vec b) const {
  if (size() == 0) return;
  lower_solve(CblasNoTrans, L_.data(), size(), capacity_, r.data());
  const auto f = static_cast<int>(size()), q = static_cast<int>(active_.size());
  const auto stride = static_cast<int>(rows_);
  if (q > 0) {
    cblas_dgemv(CblasRowMajor, CblasTrans, f, q, 1.0, Y_.data(), stride, r.data(), 1, -1.0,
                b.data(), 1);
    lower_solve(CblasNoTrans, S_.data(), q, most_, b.data());
    lower_solve(CblasTrans, S_.data(), q, most_, b.data());
    cblas_dgemv(CblasRowMajor, CblasNoTrans, f, q, -1.0, Y_.data(), stride, b.data(), 1, 1.0,
                r.data(), 1);
  }
  lower_solve(CblasTrans, L_.data(), size(), capacity_, r.data());
}

void FreeFactor::solve_many(std::span<double> r, std::span<double> b, Index count) const {
  const auto f = static_cast<int>(size()), q = static_cast<int>(active_.size());
  const auto m = static_cast<int>(count), stride = static_cast<int>(rows_);
  if (f == 0 || m == 0) return;
  const auto lower = [&](CBLAS_TRANSPOSE transposed, const double* L, int side, Index leading,
                         double* x) {
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, transposed, CblasNonUnit, side, m, 1.0, L,
                static_cast<int>(leading), x, m);
  };
  lower(CblasNoTrans, L_.data(), f, capacity_, r.data());
  if (q > 0) {
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, q, m, f, 1.0, Y_.data(), stride, r.data(),
                m, -1.0, b.data(), m);
    lower(CblasNoTrans, S_.data(), q, most_, b.data());
    lower(CblasTrans, S_.data(), q, most_, b.data());
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, f, m, q, -1.0, Y_.data(), stride,
                b.data(), m, 1.0, r.data(), m);
  }
  lower(CblasTrans, L_.data(), f, capacity_, r.data());
}

}  // namespace sharpen::layer
