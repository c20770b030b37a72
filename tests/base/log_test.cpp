#include "sharpen/base/log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sharpen/base/threads.hpp"

namespace sharpen {
namespace {

TEST(Log, WithoutASinkSwallowsEverything) {
  const Log log;
  EXPECT_FALSE(log.wants(LogLevel::error));
  log.error("nobody hears this");
  EXPECT_FALSE(Log(Log::Sink()).wants(LogLevel::error));
}

TEST(Log, PassesOnWhatIsImportantEnough) {
  std::vector<std::string> heard;
  const Log log(
      [&](LogLevel level, std::string_view message) {
        heard.push_back(std::string(name(level)) + ": " + std::string(message));
      },
      LogLevel::warning);
  log.debug("a");
  log.info("b");
  log.warning("c");
  log.error("d");
  EXPECT_EQ(heard, (std::vector<std::string>{"warning: c", "error: d"}));
  EXPECT_FALSE(log.wants(LogLevel::info));
  EXPECT_TRUE(log.wants(LogLevel::warning));
}

TEST(Log, CallsItsSinkForOneMessageAtATime) {
  int inside = 0, most = 0, calls = 0;  // plain ints: the thread sanitizer watches them
  const Log log([&](LogLevel, std::string_view) {
    most = std::max(most, ++inside);
    ++calls;
    --inside;
  });
  const Threads threads(4);
  threads.for_each(2000, [&, copy = log](Index, int) { copy.info("x"); });
  EXPECT_EQ(calls, 2000);
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace sharpen
