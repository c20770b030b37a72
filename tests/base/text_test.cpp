#include "sharpen/base/text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace sharpen {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("swap", "swop"), 1u);
  EXPECT_EQ(edit_distance("swap", "wsap"), 1u);
  EXPECT_EQ(edit_distance("swap", "swaps"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("MSFT", "msft"), 0u);
}

TEST(Nearest, GivesTheClosestNameOrNone) {
  constexpr std::array<std::string_view, 4> names = {"shrinkage", "sizing", "seed", "k"};
  EXPECT_EQ(nearest("shrinkag", names), "shrinkage");
  EXPECT_EQ(nearest("sizign", names), "sizing");
  EXPECT_EQ(nearest("zebra", names), "");
  EXPECT_EQ(nearest("x", names), "");
  EXPECT_EQ(nearest("K", names), "k");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest(std::string(100000, 's'), names), "");
  EXPECT_EQ(did_you_mean("sed", names), "; did you mean seed?");
  EXPECT_EQ(did_you_mean("zebra", names), "");
}

TEST(Printable, LeavesOrdinaryTextAlone) { EXPECT_EQ(printable("BRK.B 日経 é"), "BRK.B 日経 é"); }

TEST(Printable, EscapesWhatCouldSteerATerminal) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable(std::string_view("a\0\n\x7f", 4)), "a\\x00\\x0a\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");           // C1 CSI
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // right-to-left override
  EXPECT_EQ(printable("\xff\xc0\xaf"), "\\xff\\xc0\\xaf");  // broken and overlong UTF-8
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("ab\xe6\x97"), "ab\\xe6\\x97");       // cut short
}

TEST(Printable, EscapesMarksThatAreNotToBeSeen) {
  EXPECT_EQ(printable("A\xD8\x9C"
                      "B"),
            "A\\xd8\\x9cB");                                  // U+061C, the Arabic letter mark
  EXPECT_EQ(printable("A\xEF\xBB\xBF"), "A\\xef\\xbb\\xbf");  // U+FEFF, no-break space
  EXPECT_EQ(json_escaped("\xD8\x9C\xEF\xBB\xBF"), "\\u061c\\ufeff");
  EXPECT_TRUE(is_plain_text("\xD8\x9B\xEF\xBB\xBE"));
}

TEST(Printable, NeverExceedsItsWidth) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdef", 5), "abcd…");
  EXPECT_EQ(printable("日日日日", 3), "日日…");
  EXPECT_EQ(printable("abc\x01", 4), "abc…");
  EXPECT_EQ(printable("abc", 0), "");
  for (std::size_t width = 1; width < 12; ++width)
    EXPECT_LE(display_width(printable("a\x1b"
                                      "b\xff"
                                      "cdefgh",
                                      width)),
              width);
}

TEST(IsUtf8, AcceptsOnlyWellFormedText) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("aé日😀\xc2\x80"));
  EXPECT_FALSE(is_utf8("\x80"));
  EXPECT_FALSE(is_utf8("\xc1\x81"));
  EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80"));
  EXPECT_FALSE(is_utf8("\xed\xbf\xbf"));
}

TEST(FewDecimals, ShowsFourAtMost) {
  EXPECT_EQ(few_decimals(5.0), "5");
  EXPECT_EQ(few_decimals(100.0), "100");
  EXPECT_EQ(few_decimals(13.025000000000002), "13.025");
  EXPECT_EQ(few_decimals(40.0 / 3.0), "13.3333");
  EXPECT_EQ(few_decimals(0.00123456), "0.001235");
  EXPECT_EQ(few_decimals(0.0), "0");
}

TEST(Shortest, ReadsBackToTheSameDouble) {
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(1e-300), "1e-300");
  EXPECT_EQ(shortest(-0.0), "-0");
  EXPECT_EQ(shortest(NAN), "nan");
  EXPECT_EQ(shortest(INFINITY), "inf");
  for (double x : {1.0 / 3, 2.2250738585072014e-308, 1.7976931348623157e308})
    EXPECT_EQ(std::stod(shortest(x)), x);
}

}  // namespace
}  // namespace sharpen
