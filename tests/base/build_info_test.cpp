#include "sharpen/base/build_info.hpp"

#include <gtest/gtest.h>

#include <atomic>
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

}  // namespace
}  // namespace sharpen
