// Hot calls allocate nothing: counted in operator new itself.
#include <gtest/gtest.h>

#include <limits>

#include "select/naive.hpp"
#include "support/allocations.hpp"

namespace sharpen::select::testing {
namespace {

using sharpen::testing::allocation_count;
using sharpen::testing::Problems;
using sharpen::testing::view;

TEST(Selector, AllocatesNothingAfterItsFirstRun) {
  Problems problems(31);
  const MatrixXd Sigma = random_covariance(problems, 60);
  const auto risk = exact_risk(Sigma);
  const VectorXd first = problems.signal(Sigma, true), face = problems.signal(Sigma, false);
  const VectorXd zero = VectorXd::Zero(60),
                 bad = VectorXd::Constant(60, std::numeric_limits<double>::quiet_NaN());
  const Support K{3, 1, 2};
  if (allocation_count() == 0) GTEST_SKIP() << "a sanitizer brings its own operator new";
  for (const Optimizer o :
       {Optimizer::oscar, Optimizer::symmetric, Optimizer::greedy, Optimizer::swap})
    for (const Index k : {1, 12, 60}) {
      SelectSettings settings;
      settings.k = k;
      settings.optimizer = o;
      Selector selector(settings, *risk);
      Portfolio p;
      selector.run(*risk, 0, view(first), p);
      const long before = allocation_count();
      for (const VectorXd* mu : {&face, &zero, &bad, &first}) selector.run(*risk, 0, view(*mu), p);
      if (k == 12) selector.run_on(*risk, 0, view(face), K, p);
      EXPECT_EQ(allocation_count(), before) << name(o) << ", k = " << k;
    }
}

}  // namespace
}  // namespace sharpen::select::testing
