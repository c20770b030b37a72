#include <gtest/gtest.h>

#include "base/csv.hpp"

namespace sharpen {
namespace {

TEST(CsvField, IsQuotedOnlyWhereAReaderNeedsIt) {
  EXPECT_EQ(csv_field("AAPL"), "AAPL");
  EXPECT_EQ(csv_field("BRK B"), "BRK B");
  EXPECT_EQ(csv_field("BRK B", " "), "\"BRK B\"");
  EXPECT_EQ(csv_field(""), "\"\"");
  for (const char* text : {"a,b", "a;b", "a\tb", "a\nb", "a\rb", " a", "a "})
    EXPECT_EQ(csv_field(text), '"' + std::string(text) + '"');
}

TEST(CsvField, ReadsBackToTheSameText) {
  for (const char* text : {"AAPL", "", " a ", "say \"so\"", "a,b;c", "\"", "\"\""}) {
    const std::string line = csv_field(text) + ",x\n";
    EXPECT_EQ(CsvCursor(line, "test").field(), text);
  }
}

}  // namespace
}  // namespace sharpen
