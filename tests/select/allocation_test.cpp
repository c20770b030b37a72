// Hot calls allocate nothing: counted in operator new itself.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

#include "select/naive.hpp"

namespace {
std::atomic<std::size_t> allocations = 0;
}

// Not inlined: the compiler would take malloc and delete for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  ++allocations;
  const auto a = static_cast<std::size_t>(alignment);
  if (void* p = std::aligned_alloc(a, (size + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}

namespace sharpen::select::testing {
namespace {

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
  for (const Optimizer o :
       {Optimizer::oscar, Optimizer::symmetric, Optimizer::greedy, Optimizer::swap})
    for (const Index k : {1, 12, 60}) {
      SelectSettings settings;
      settings.k = k;
      settings.optimizer = o;
      Selector selector(settings, *risk);
      Portfolio p;
      selector.run(*risk, 0, view(first), p);
      const std::size_t before = allocations.load();
      for (const VectorXd* mu : {&face, &zero, &bad, &first}) selector.run(*risk, 0, view(*mu), p);
      if (k == 12) selector.run_on(*risk, 0, view(face), K, p);
      EXPECT_EQ(allocations.load(), before) << name(o) << ", k = " << k;
    }
}

}  // namespace
}  // namespace sharpen::select::testing
