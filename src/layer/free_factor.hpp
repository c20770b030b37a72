// The factor of a quadratic programme on its free assets, kept while assets and rows come and go.
//
// F are the free assets and R the active rows, in the order in which they came. With H_FF = L L^T
// and Y = L^-1 A_RF^T, the optimality conditions
//   [H_FF A_RF^T; A_RF 0] [x; lambda] = [r; b]
// have the solution S lambda = Y^T L^-1 r - b, L^T x = L^-1 r - Y lambda with S = Y^T Y. An asset
// that comes or goes costs O(|F|^2) and, for the columns kept, O(n) or O(n |F|), a row O(|F|^2), a
// solution O(|F|^2 + |F| |R|^2).
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::layer {

class FreeFactor {
 public:
  FreeFactor(Index n, Index rows)
      : n_(n),
        rows_(rows),
        most_(std::min(rows, n + 1)),
        position_(at(n), -1),
        S_(at(most_ * most_)) {}

  void clear();
  std::span<const Index> assets() const { return assets_; }
  std::span<const Index> active() const { return active_; }
  bool is_free(Index asset) const { return position_[at(asset)] >= 0; }
  Index position(Index asset) const { return position_[at(asset)]; }  // in assets(); -1: none
  // The column H e_j of the a-th free asset.
  ConstVec column(Index a) const { return {columns_.data() + a * n_, at(n_)}; }
  const double* columns() const { return columns_.data(); }

  // Where the column H e_j of the next asset goes (n); append() then takes it, with the asset's
  // coefficients in the active rows (|R|).
  Vec next_column();
  void append(Index asset, ConstVec coefficients);
  void remove(Index asset);

  // Coefficients (|F|) in the order of assets().
  void add_row(Index row, ConstVec coefficients);
  void set_row(Index row, ConstVec coefficients);
  void remove_row(Index row);

  // Factors S. Returns the position in active() of the first row that, on the free assets, depends
  // on the rows before it; -1 if none does.
  Index factor_rows();
  // After that: y (|R|) with y[q] = 1 and zeros beyond, whose combination of the rows vanishes on
  // F.
  void dependence(Index q, Vec y) const;

  // r (|F|) becomes x, b (|R|) becomes lambda.
  void solve(Vec r, Vec b) const;
  // The same for `count` of them side by side: r (|F|, count), b (|R|, count).
  void solve_many(std::span<double> r, std::span<double> b, Index count) const;

 private:
  Index size() const { return static_cast<Index>(assets_.size()); }
  void set_column_of_Y(Index q, ConstVec coefficients);
  void grow();

  Index n_, rows_;
  Index most_;  // rows that can be factored: of more than |F| one depends on the others
  Index capacity_ = 0;
  std::vector<Index> assets_, active_, position_;
  std::vector<double> columns_;  // (capacity, n)
  std::vector<double> L_;        // (capacity, capacity), rows
  std::vector<double> Y_;        // (capacity, rows)
  std::vector<double> S_;        // (most, most), its factor
  std::vector<double> forward_;  // (capacity)
};

}  // namespace sharpen::layer
