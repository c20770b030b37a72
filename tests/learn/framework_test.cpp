#include "sharpen/learn/framework.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sharpen/base/error.hpp"

namespace sharpen::learn {
namespace {

TEST(Frameworks, AreFoundByNameAndByValue) {
  for (const FrameworkInfo& row : frameworks()) {
    EXPECT_EQ(&info(row.framework), &row);
    EXPECT_EQ(&framework_named(row.name), &row);
    EXPECT_TRUE(row.learns || !row.decides) << row.name;
    EXPECT_TRUE(row.trains() || !row.learns) << row.name;
  }
  EXPECT_EQ(find_framework("dfI"), nullptr);
  EXPECT_THROW(framework_named("dfI"), InputError);
}

TEST(Frameworks, OfNetworksAreToldByAlpha) {
  EXPECT_EQ(framework_of(0.0).name, "pfl");
  EXPECT_EQ(framework_of(0.5).name, "dfl");
  EXPECT_EQ(framework_of(1.0).name, "dfl");
}

TEST(Frameworks, SentencesAreThoseOfTheDocumentation) {
  std::ifstream file(std::string(SHARPEN_SOURCE_DIR) + "/docs/backtest.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const FrameworkInfo& row : frameworks())
    EXPECT_THAT(page.str(), ::testing::HasSubstr("| `" + std::string(row.name) + "` | " +
                                                 std::string(row.sentence)));
}

}  // namespace
}  // namespace sharpen::learn
