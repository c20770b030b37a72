// A signal with a memory, against the sum that defines it.
#include "sharpen/trade/memory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "sharpen/base/error.hpp"
#include "support/problems.hpp"

namespace sharpen::trade {
namespace {

using sharpen::testing::kNaN;
using sharpen::testing::Problems;
using sharpen::testing::RowMatrix;
using sharpen::testing::view;

std::vector<double> signal_of(const Memory& memory, const RowMatrix& x, ConstVec variances) {
  std::vector<double> out(variances.size());
  memory.signal(view(x), variances, out);
  return out;
}

// The definition, entry by entry.
double naive(Index N, const RowMatrix& x, Index column, double variance) {
  const Index M = N == 1 ? 1 : 3 * N;
  double sum = 0.0, weights = 0.0;
  for (Index j = 0; j < M && j < x.rows(); ++j) {
    const Index row = x.rows() - 1 - j;
    if (x.row(row).hasNaN()) continue;
    const double weight = std::pow(1.0 - 1.0 / static_cast<double>(N), static_cast<double>(j));
    sum += weight * x(row, column);
    weights += weight;
  }
  return std::sqrt(variance) * sum / weights;
}

TEST(Memory, IsTheWeightedMeanOfThePeriodsThereAre) {
  Problems problems(1);
  const std::vector<double> variances = {1e-4, 4e-4, 9e-4};
  for (const Index N : {1, 2, 5, 10})
    for (const Index rows : {1, 4, 15, 40}) {
      RowMatrix x = problems.matrix(rows, 3);
      if (rows > 4) x(rows - 3, 1) = kNaN;  // skipped with its weight
      const std::vector<double> s = signal_of(Memory(N), x, variances);
      for (Index i = 0; i < 3; ++i)
        EXPECT_NEAR(s[at(i)], naive(N, x, i, variances[at(i)]), 1e-15) << N << " " << rows;
    }
}

TEST(Memory, ForgetsToTheBitAfterItsRows) {
  Problems problems(2);
  const std::vector<double> variances(4, 1e-4);
  const Memory memory(5);
  EXPECT_EQ(memory.rows(), 15);
  RowMatrix x = problems.matrix(30, 4);
  const std::vector<double> all = signal_of(memory, x, variances);
  EXPECT_EQ(all, signal_of(memory, x.bottomRows(15), variances));
  EXPECT_NE(all, signal_of(memory, x.bottomRows(14), variances));
  x.topRows(15).setConstant(1e9);
  EXPECT_EQ(all, signal_of(memory, x, variances));
}

TEST(Memory, OfOnePeriodIsTodayAlone) {
  Problems problems(3);
  const std::vector<double> variances(4, 4.0);
  const RowMatrix x = problems.matrix(6, 4);
  const std::vector<double> s = signal_of(Memory(1), x, variances);
  for (Index i = 0; i < 4; ++i) EXPECT_EQ(s[at(i)], 2.0 * x(5, i));
}

TEST(Memory, WithoutTodayThereIsNone) {
  const std::vector<double> variances(2, 1.0);
  RowMatrix x = RowMatrix::Ones(3, 2);
  x(2, 0) = kNaN;
  for (const double s : signal_of(Memory(2), x, variances)) EXPECT_TRUE(std::isnan(s));
  for (const double s : signal_of(Memory(2), RowMatrix(0, 2), variances))
    EXPECT_TRUE(std::isnan(s));
}

TEST(Memory, IsOnePeriodAtLeast) {
  EXPECT_THROW(Memory(0), InputError);
  EXPECT_THROW(Memory(-3), InputError);
}

}  // namespace
}  // namespace sharpen::trade
