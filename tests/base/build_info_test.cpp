#include "sharpen/base/build_info.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

namespace sharpen {
namespace {

// Workers name their BLAS with every result; OpenBLAS itself has one buffer for all who ask.
TEST(BuildInfo, IsTheSameForAllWhoAskAtOnce) {
  const std::string alone = build_info().blas;
  EXPECT_FALSE(alone.empty());
  std::atomic<int> others = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 2000; ++j) others += build_info().blas != alone;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(others, 0);
}

// Not those of a processor of 2004, which are slow and depend on where numbers lie.
TEST(BuildInfo, BlasKernelsAreThoseOfTheProcessor) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "an older processor";
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr) GTEST_SKIP() << "OPENBLAS_CORETYPE is set";
  EXPECT_EQ(build_info().blas.find("Prescott"), std::string::npos) << build_info().blas;
  EXPECT_EQ(cpu_kind().find("Prescott"), std::string::npos) << cpu_kind();
}

}  // namespace
}  // namespace sharpen
