#include "sharpen/base/status.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace sharpen {
namespace {

TEST(Status, HasItsOwnNameAndWords) {
  std::set<std::string_view> names, words;
  for (Status status : {Status::ok, Status::neutral_face, Status::no_signal, Status::not_converged,
                        Status::invalid_input}) {
    names.insert(name(status));
    words.insert(describe(status));
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"ok", "neutral_face", "no_signal", "not_converged",
                                               "invalid_input"}));
  EXPECT_EQ(words.size(), 5u);
}

TEST(Outcome, IsNotSolvedUntilSomethingSaysSo) {
  const Outcome untouched;
  EXPECT_FALSE(untouched.solved());
  EXPECT_FALSE(untouched.jittered());
  EXPECT_TRUE((Outcome{.status = Status::ok}.solved()));
  EXPECT_TRUE((Outcome{.status = Status::neutral_face}.solved()));
  EXPECT_FALSE((Outcome{.status = Status::no_signal}.solved()));
  EXPECT_TRUE((Outcome{.status = Status::ok, .jitter = 1e-12}.jittered()));
}

}  // namespace
}  // namespace sharpen
