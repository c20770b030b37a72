#include "sharpen/base/error.hpp"

#include <gtest/gtest.h>

namespace sharpen {
namespace {

std::string shouted(std::string_view message) {
  return spelled(message, [](std::string_view text) { return "<" + std::string(text) + ">"; });
}

TEST(Reference, IsSpelledByTheFrontDoor) {
  EXPECT_EQ(shouted("give ‹--prices FILE› or ‹--returns FILE›."),
            "give <--prices FILE> or <--returns FILE>.");
  EXPECT_EQ(shouted(reference("max-gap") + " = 5"), "<max-gap> = 5");
  EXPECT_EQ(plain("see ‹sharpen doctor›, or give ‹-k 5›"), "see sharpen doctor, or give -k 5");
}

TEST(Reference, LeavesDataAlone) {
  for (const std::string text : {"", "‹", "›", "‹›", "‹ABC›", "‹--open", "a › b ‹ c", "‹\n›"})
    EXPECT_EQ(plain(text), text);
  EXPECT_EQ(plain("‹‹--prices›"), "‹--prices");
}

TEST(Reference, AnErrorIsPlainAndKeepsItsMarks) {
  const InputError error("give ‹--prices FILE›");
  EXPECT_STREQ(error.what(), "give --prices FILE");
  EXPECT_EQ(error.marked(), "give ‹--prices FILE›");
  const Failure longer("a.csv: " + error.marked());
  EXPECT_STREQ(longer.what(), "a.csv: give --prices FILE");
}

}  // namespace
}  // namespace sharpen
