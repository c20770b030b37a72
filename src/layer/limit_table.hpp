// Limits (sharpen/layer/limits.hpp) as the path of active_path.hpp reads them: as tables.
#pragma once

#include <memory>
#include <vector>

#include "sharpen/base/view.hpp"
#include "sharpen/layer/limits.hpp"

namespace sharpen::layer {

// The last two rows are gross and turnover. Copies share the coefficients of the others, so that
// limits can be changed from solve to solve in O(n).
struct LimitTable {
  // With rows that say nothing to make `rows` of them, gross and turnover aside.
  LimitTable(const Limits& limits, Index n, Index rows);

  Index n, rows;
  std::vector<double> lower, upper;  // (n)
  std::shared_ptr<const std::vector<double>> coefficients;
  ConstVec A, by_asset;                      // (rows - 2, n) and transposed, in `coefficients`
  std::vector<double> row_lower, row_upper;  // (rows)
  std::vector<double> row_size;              // (rows) the largest coefficient
  std::vector<double> holdings, costs;       // (n)
  bool zero_is_knot, trades_count;           // gross is limited; turnover is, or trading costs
  Index net = -1;                            // the row that holds 1^T w to 0 or more, or to 1

  Index plain() const { return rows - 2; }
  Index gross() const { return rows - 2; }
  Index turnover() const { return rows - 1; }
  bool equality(Index r) const { return row_lower[at(r)] == row_upper[at(r)]; }
  bool holding_is_knot(Index i) const {
    return trades_count && (row_upper[at(turnover())] < kUnlimited || costs[at(i)] > 0.0);
  }
  // What asset i adds to row r at a weight of w.
  double part(Index r, Index i, double w) const;
  double next_above(Index i, double w) const;
  double next_below(Index i, double w) const;
  bool is_knot(Index i, double w) const;
};

}  // namespace sharpen::layer
