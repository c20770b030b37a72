#include "sharpen/base/control.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "sharpen/base/new_file.hpp"
#include "sharpen/base/threads.hpp"
#include "support/files.hpp"

namespace sharpen {
namespace {

using ::testing::ElementsAre;

TEST(Control, WithoutFunctionsAsksAndTellsNobody) {
  const Control control;
  EXPECT_NO_THROW(control.ask());
  control.begin("anything");
  Conductor conductor(control, 3);
  EXPECT_NO_THROW(conductor.ask());
  conductor.done();
}

TEST(Control, ThrowsWhenAskedToStop) {
  const Control control{.stop = [] { return true; }};
  EXPECT_THROW(control.ask(), Interrupted);
}

TEST(PathLock, SaysThatItWaitsAndCanBeStopped) {
  const testing::Folder folder;
  const PathLock first(folder.path(""), PathLock::If::free);
  ASSERT_TRUE(first.held());
  EXPECT_TRUE(PathLock(folder.path(""), PathLock::If::free).taken());
  int said = 0;
  const auto wait = [&] {
    PathLock(
        folder.path(""), PathLock::If::waiting, [&] { return said > 0; }, [&] { ++said; });
  };
  EXPECT_THROW(wait(), Interrupted);
  EXPECT_EQ(said, 1);
}

TEST(Conductor, CountsPiecesAndIsSilentAboutNone) {
  std::vector<Index> told;
  const Control control{.progress = [&](Index done, Index total) {
    EXPECT_EQ(total, 9);
    told.push_back(done);
  }};
  Conductor conductor(control, 9);
  conductor.done();
  conductor.done(0);
  conductor.done(4);
  EXPECT_THAT(told, ElementsAre(1, 5));
}

TEST(Conductor, AsksNobodyAgainOnceToldToStop) {
  int asked = 0;
  const Control control{.stop = [&] { return ++asked == 2; }};
  Conductor conductor(control, 1);
  EXPECT_NO_THROW(conductor.ask());
  EXPECT_THROW(conductor.ask(), Interrupted);
  EXPECT_THROW(conductor.ask(), Interrupted);
  EXPECT_EQ(asked, 2);
}

TEST(Conductor, LetsOneThreadAtATimeCallTheControl) {
  std::atomic<int> inside = 0;
  Index last = 0;
  const auto alone = [&] {
    EXPECT_EQ(++inside, 1);
    --inside;
  };
  const Control control{.progress =
                            [&](Index done, Index) {
                              alone();
                              last = done;
                            },
                        .stop =
                            [&] {
                              alone();
                              return false;
                            }};
  Conductor conductor(control, 200);
  Threads(4).for_each(200, [&](Index, int) {
    conductor.ask();
    conductor.done();
    conductor.alone(alone);
  });
  EXPECT_EQ(last, 200);
}

}  // namespace
}  // namespace sharpen
