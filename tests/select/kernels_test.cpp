// Both builds of the kernels against plain loops.
#include "select/kernels.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <vector>

#include "base/cpu.hpp"
#include "support/problems.hpp"

namespace sharpen::select {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using sharpen::testing::Problems;
using sharpen::testing::RowMatrix;

// A blocked copy of a matrix whose columns fill whole blocks, with spare rows.
struct Store {
  explicit Store(const MatrixXd& m)
      : data(static_cast<std::size_t>((m.rows() + 3) * m.cols())),
        blocked{data.data(), m.rows() + 3, m.rows(), m.cols() / kWidth} {
    for (Index s = 0; s < m.rows(); ++s)
      for (Index j = 0; j < m.cols(); ++j) blocked(s, j) = m(s, j);
  }
  MatrixXd dense() const {
    MatrixXd m(blocked.rows, blocked.blocks * kWidth);
    for (Index s = 0; s < m.rows(); ++s)
      for (Index j = 0; j < m.cols(); ++j) m(s, j) = blocked(s, j);
    return m;
  }
  std::vector<double> data;
  Blocked blocked;
};

class KernelSets : public ::testing::TestWithParam<const Kernels*> {};

constexpr Index kRows = 7, kColumns = 3 * kWidth;

TEST_P(KernelSets, ProjectRows) {
  Problems problems(41);
  const MatrixXd G = problems.matrix(kRows, kColumns);
  const VectorXd a = problems.vector(kRows), x = problems.vector(kColumns);
  VectorXd out = x;
  GetParam()->project(Store(G).blocked, a.data(), out.data());
  EXPECT_LT((out - (x - G.transpose() * a)).norm(), 1e-13);
}

TEST_P(KernelSets, SolveBothTriangles) {
  Problems problems(42);
  const MatrixXd G = problems.matrix(kRows, kColumns);
  RowMatrix L = problems.matrix(kRows, kRows).triangularView<Eigen::Lower>();
  L.diagonal().array() = L.diagonal().array().abs() + 1.0;
  const RowMatrix U = L.transpose();
  const VectorXd z = problems.vector(kRows), u = problems.vector(kRows);
  VectorXd rm = problems.vector(kColumns), r1 = problems.vector(kColumns),
           rv = problems.vector(kColumns);
  const MatrixXd X = L.triangularView<Eigen::Lower>().solve(G);
  const VectorXd want_m = rm - X.transpose() * z, want_1 = r1 - X.transpose() * u,
                 want_v = rv - X.colwise().squaredNorm().transpose();
  Store store(G);
  GetParam()->forward(store.blocked, L.data(), z.data(), u.data(),
                      {rm.data(), r1.data(), rv.data()});
  EXPECT_LT((store.dense() - X).norm(), 1e-11 * X.norm());
  EXPECT_LT((rm - want_m).norm() + (r1 - want_1).norm(), 1e-11 * X.norm());
  EXPECT_LT((rv - want_v).norm(), 1e-11 * want_v.norm());
  GetParam()->backward(store.blocked, U.data());
  const MatrixXd Y = U.triangularView<Eigen::Upper>().solve(X);
  EXPECT_LT((store.dense() - Y).norm(), 1e-10 * Y.norm());
}

// W, residuals and H of the support {0..k-1}, by plain algebra.
struct State {
  State(const MatrixXd& Sigma, const VectorXd& m, const std::vector<Index>& K)
      : H(MatrixXd(Sigma(K, K)).inverse()), W(H * Sigma(K, Eigen::all)) {
    const VectorXd ones = VectorXd::Ones(Sigma.rows());
    alpha = H * m(K);
    eta = H * ones(K);
    rm = m - Sigma(Eigen::all, K) * alpha;
    r1 = ones - Sigma(Eigen::all, K) * eta;
    rv = Sigma.diagonal() - (Sigma(K, Eigen::all).cwiseProduct(W)).colwise().sum().transpose();
  }
  MatrixXd H, W;
  VectorXd alpha, eta, rm, r1, rv;
};

TEST_P(KernelSets, ExchangeOneAssetForAnother) {
  Problems problems(43);
  const Index n = kColumns;
  const MatrixXd Sigma = sharpen::testing::naive_covariance(problems.returns(2 * n, n), 0.1);
  const VectorXd m = problems.vector(n);
  std::vector<Index> K{4, 90, 31, 32, 64, 2, 50};
  const State before(Sigma, m, K);
  const Index row = 2, j = 77;
  const double h = 1.0 / before.H(row, row), Wij = before.W(row, j);
  VectorXd cross = Sigma(K, Eigen::all).col(j);
  VectorXd drop = before.H.col(row) * h, load = before.W.col(j) - drop * Wij;
  drop[row] = 1.0;
  load[row] = -1.0;
  const VectorXd column = Sigma.col(j);
  Exchange x;
  x.row = row;
  x.column = column.data();
  x.cross = cross.data();
  x.drop = drop.data();
  x.load = load.data();
  x.lift = Wij * h;
  x.h = h;
  x.gm = before.alpha[row] * h;
  x.g1 = before.eta[row] * h;
  x.q = before.rm[j] + Wij * x.gm;
  x.o = before.r1[j] + Wij * x.g1;
  x.v = before.rv[j] + Wij * Wij * h;

  State at = before;
  Store W(before.W);
  const VectorXd bar = VectorXd::Constant(n, 1e300), none = VectorXd::Zero(kRows),
                 high = VectorXd::Ones(kRows);
  const Screen screen{bar.data(), none.data(), none.data(), high.data(), 0.0};
  EXPECT_EQ(GetParam()->sweep(W.blocked, {at.rm.data(), at.r1.data(), at.rv.data()}, &x, screen, 0),
            3);
  K[static_cast<std::size_t>(row)] = j;
  const State after(Sigma, m, K);
  EXPECT_LT((W.dense() - after.W).norm(), 1e-11 * after.W.norm());
  EXPECT_LT((at.rm - after.rm).norm(), 1e-11 * after.rm.norm());
  EXPECT_LT((at.r1 - after.r1).norm(), 1e-11 * after.r1.norm());
  EXPECT_LT((at.rv - after.rv).norm(), 1e-11 * after.rv.norm());
}

TEST_P(KernelSets, StopAtEveryBlockThatHoldsAPairAboveItsBound) {
  Problems problems(44);
  for (int round = 0; round < 200; ++round) {
    const MatrixXd W = problems.matrix(kRows, kColumns);
    VectorXd rm = problems.vector(kColumns), r1 = problems.vector(kColumns);
    VectorXd rv = problems.vector(kColumns).cwiseAbs();
    VectorXd bar = VectorXd::Zero(kColumns);
    for (Index j = 0; j < kColumns; j += 3) bar[j] = 1e300;
    const VectorXd g = problems.vector(kRows), h = problems.vector(kRows).cwiseAbs();
    const VectorXd bound = VectorXd::Constant(kRows, std::exp(4.0 + 2.0 * problems.normal()));
    const double t = 0.3;
    std::vector<Index> want, got;
    for (Index b = 0; b < 3; ++b) {
      bool any = false;
      for (Index j = b * kWidth; j < (b + 1) * kWidth; ++j)
        for (Index s = 0; s < kRows; ++s) {
          const double p = rm[j] - t * r1[j] + W(s, j) * g[s];
          any |= p * p > bound[s] * (rv[j] + bar[j] + W(s, j) * W(s, j) * h[s]);
        }
      if (any) want.push_back(b);
    }
    const Store store(W);
    const Residuals residuals{rm.data(), r1.data(), rv.data()};
    const Screen screen{bar.data(), g.data(), h.data(), bound.data(), t};
    for (Index b = -1;
         (b = GetParam()->sweep(store.blocked, residuals, nullptr, screen, b + 1)) < 3;)
      got.push_back(b);
    EXPECT_EQ(got, want);
  }
}

INSTANTIATE_TEST_SUITE_P(Portable, KernelSets, ::testing::Values(&kPortableKernels));
// What this processor runs: the v3 set where it can.
INSTANTIATE_TEST_SUITE_P(Chosen, KernelSets, ::testing::Values(&kernels()));

}  // namespace
}  // namespace sharpen::select
