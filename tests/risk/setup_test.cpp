// Setting up many samples while somebody waits: told how far it is, and stopped.
#include <cblas.h>
#include <gtest/gtest.h>

#include <vector>

#include "sharpen/base/threads.hpp"
#include "sharpen/risk/risk.hpp"
#include "support/linear_algebra.hpp"
#include "support/problems.hpp"

namespace sharpen::risk {
namespace {

using testing::naive_covariance;
using testing::Problems;
using testing::RowMatrix;
using testing::view;

constexpr Index kLookback = 8, kSamples = 40, kAssets = 5;

class RiskSetup : public ::testing::TestWithParam<int> {
 protected:
  RiskSetup() : returns_(Problems(3).returns(kLookback + kSamples, kAssets)) {
    for (Index s = 0; s < kSamples; ++s) ends_.push_back(kLookback + s);
    for (Index s = 0; s < kSamples; ++s)
      Sigmas_.push_back(naive_covariance(returns_.middleRows(s, kLookback), 0.1));
    for (const RowMatrix& Sigma : Sigmas_) views_.push_back(view(Sigma));
  }

  // Every way to make a Risk: dense and low-rank windows, and covariances.
  std::unique_ptr<Risk> make(int way, const Control& control) const {
    const Threads threads(GetParam());
    if (way == 2) return from_covariances(views_, RiskSettings{}, threads, control);
    RiskSettings settings;
    settings.form = way == 0 ? Form::dense : Form::low_rank;
    return from_windows(view(returns_), kLookback, ends_, settings, threads, control);
  }

  RowMatrix returns_;
  std::vector<Index> ends_;
  std::vector<RowMatrix> Sigmas_;
  std::vector<ConstMat> views_;
};

TEST_P(RiskSetup, TellsOfEverySampleOnceAndChangesNoBit) {
  for (const int way : {0, 1, 2}) {
    std::vector<Index> told;
    const auto watched = make(way, {.progress = [&](Index done, Index samples) {
                                EXPECT_EQ(samples, kSamples);
                                told.push_back(done);
                              }});
    const auto plain = make(way, {});
    ASSERT_EQ(told.size(), static_cast<std::size_t>(kSamples)) << way;
    for (Index i = 0; i < kSamples; ++i) EXPECT_EQ(told[static_cast<std::size_t>(i)], i + 1);
    for (Index s = 0; s < kSamples; ++s) EXPECT_EQ(watched->ones_norm2(s), plain->ones_norm2(s));
  }
}

TEST_P(RiskSetup, StopsBeforeTheNextSample) {
  for (const int way : {0, 1, 2}) {
    bool wanted = false;
    Index done = 0, asked_after = 0;
    const Control control{.progress = [&](Index count, Index) { wanted = (done = count) >= 3; },
                          .stop =
                              [&] {
                                asked_after += wanted;
                                return wanted;
                              }};
    EXPECT_THROW(make(way, control), Interrupted) << way;
    // Samples that were in hand in other threads are finished.
    EXPECT_LT(done, 3 + GetParam()) << way;
    EXPECT_EQ(asked_after, 1) << way;
  }
}

TEST_P(RiskSetup, StopsBeforeTheFirstSample) {
  for (const int way : {0, 1, 2}) {
    Index done = 0;
    EXPECT_THROW(
        make(way, {.progress = [&](Index, Index) { ++done; }, .stop = [] { return true; }}),
        Interrupted);
    EXPECT_EQ(done, 0) << way;
  }
}

// Of a thousand assets each takes a good part of a second.
TEST(DenseSetup, IsAskedBetweenTheStepsOfASample) {
  const RowMatrix singular = RowMatrix::Ones(3, 3);
  const ConstMat Sigma{singular.data(), 3, 3};
  Index asked = 0;
  const Control control{.stop = [&] { return ++asked < 0; }};
  RiskSettings settings;
  settings.shrinkage = 0.0;
  from_covariances(std::span(&Sigma, 1), settings, Threads(1), control);
  EXPECT_GE(asked, 7) << "a try without jitter, one with it, the inverse, eigenvectors";
}

// Whoever solves with it calls BLAS, whether or not a Threads of theirs is alive.
TEST_P(RiskSetup, KeepsBlasOnOneThreadWhileTheModelLives) {
  openblas_set_num_threads(2);
  const int before = openblas_get_num_threads();
  for (const int way : {0, 1, 2}) {
    std::unique_ptr<Risk> risk = make(way, {});
    EXPECT_EQ(openblas_get_num_threads(), 1) << way;
    risk.reset();
    EXPECT_EQ(openblas_get_num_threads(), before) << way;
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, RiskSetup, ::testing::Values(1, 3));

}  // namespace
}  // namespace sharpen::risk
