// Both kernel sets against plain Eigen, at sizes around every block boundary.
#include "risk/kernels.hpp"

#include <gtest/gtest.h>

#include "support/problems.hpp"

namespace sharpen::risk {
namespace {

using testing::Problems;
using testing::RowMatrix;

class RiskKernels : public ::testing::TestWithParam<const Kernels*> {
 protected:
  Problems random{51};

  static void expect_near(const Eigen::VectorXd& got, const Eigen::VectorXd& want) {
    EXPECT_LE((got - want).norm(), 1e-13 * (1.0 + want.norm()));
  }
};

TEST_P(RiskKernels, PackedProducts) {
  const Kernels& k = *GetParam();
  for (const Index n : {1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 31, 64, 101}) {
    const Index np = padded(n);
    Eigen::MatrixXd L = random.matrix(n, n).triangularView<Eigen::Lower>();
    std::vector<double> P(static_cast<std::size_t>(packed_size(n)), 0.0), S = P;
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j <= i; ++j) {
        P[static_cast<std::size_t>(packed_row(i) + j)] = L(i, j);
        S[static_cast<std::size_t>(packed_row(i) + j)] = i == j ? 0.5 * L(i, j) : L(i, j);
      }
    Eigen::VectorXd x = Eigen::VectorXd::Zero(np), out(np);
    x.head(n) = random.vector(n);
    k.lower_mul(P.data(), np, x.data(), out.data());
    expect_near(out.head(n), L * x.head(n));
    k.lower_mul_t(P.data(), np, x.data(), out.data());
    expect_near(out.head(n), L.transpose() * x.head(n));
    const double norm2 = k.gram_mul(P.data(), np, x.data(), out.data());
    expect_near(out.head(n), L.transpose() * (L * x.head(n)));
    EXPECT_NEAR(norm2, (L * x.head(n)).squaredNorm(), 1e-12 * (1 + norm2));
    k.sym_mul(S.data(), np, x.data(), out.data());
    expect_near(out.head(n), L.selfadjointView<Eigen::Lower>() * x.head(n));
    EXPECT_EQ(out.tail(np - n), Eigen::VectorXd::Zero(np - n));
  }
}

TEST_P(RiskKernels, RowProducts) {
  const Kernels& k = *GetParam();
  for (const Index rows : {1, 2, 3, 4, 5, 9})
    for (const Index cols : {1, 3, 4, 5, 8, 13, 2047, 2048, 2049, 4100}) {
      const RowMatrix R = random.matrix(rows, cols + 3);  // a stride that is not the width
      const Eigen::VectorXd x = random.vector(cols), v = random.vector(rows);
      Eigen::VectorXd q(rows), out(cols);
      k.rows_dot(R.data(), rows, cols, cols + 3, x.data(), q.data());
      expect_near(q, R.leftCols(cols) * x);
      k.rows_combine(R.data(), rows, cols, cols + 3, v.data(), out.data());
      expect_near(out, R.leftCols(cols).transpose() * v);
    }
}

// A row's dot product has the same bits wherever the row stands among the others.
TEST_P(RiskKernels, RowDotDoesNotDependOnItsNeighbours) {
  const Kernels& k = *GetParam();
  const RowMatrix R = random.matrix(9, 37);
  const Eigen::VectorXd x = random.vector(37);
  Eigen::VectorXd all(9);
  k.rows_dot(R.data(), 9, 37, 37, x.data(), all.data());
  for (Index t = 0; t < 9; ++t) {
    double alone = 0;
    k.rows_dot(R.data() + t * 37, 1, 37, 37, x.data(), &alone);
    EXPECT_EQ(alone, all[t]);
  }
}

std::vector<const Kernels*> sets() {
  if (&kernels() == &kPortableKernels) return {&kPortableKernels};
  return {&kPortableKernels, &kernels()};
}
INSTANTIATE_TEST_SUITE_P(Sets, RiskKernels, ::testing::ValuesIn(sets()));

}  // namespace
}  // namespace sharpen::risk
