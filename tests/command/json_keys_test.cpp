#include "command/json_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "sharpen/command/json_page.hpp"

namespace sharpen::command {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Item {
  std::string name;
};

struct Answer {
  double figure = 1.5;
  std::optional<int> steps;
  std::vector<Item> items;
};

Keys<Answer> keys() {
  return {{"figure", "a number", &Answer::figure},
          {"steps", "only where it steps", [](auto& a) { return value_or_absent(a.steps); }},
          group<Answer>("inner", "an object",
                        {{"twice", "of it", [](auto& a) { return 2 * a.figure; }}}),
          list<Answer>("items", "a list", Keys<Item>{{"name", "of each", &Item::name}},
                       &Answer::items)};
}

TEST(JsonKeys, AreWrittenInTheOrderOfTheTable) {
  EXPECT_EQ(
      json_of(keys(), Answer{.steps = 3, .items = {{"a"}, {"b"}}}).dump(),
      R"({"figure":1.5,"steps":3,"inner":{"twice":3.0},"items":[{"name":"a"},{"name":"b"}]})");
}

TEST(JsonKeys, LeaveOutWhatIsAbsentAndKeepWhatIsNull) {
  EXPECT_EQ(json_of(keys(), Answer{}).dump(), R"({"figure":1.5,"inner":{"twice":3.0},"items":[]})");
  const Keys<Answer> null = {{"steps", "", [](auto& a) { return value_or_null(a.steps); }}};
  EXPECT_EQ(json_of(null, Answer{}).dump(), R"({"steps":null})");
}

TEST(JsonKeys, AreListedWithWhatIsInsideThem) {
  std::vector<std::string> names;
  for (const ListedKey& key : listed(keys())) names.push_back(key.name);
  EXPECT_THAT(names,
              ElementsAre("figure", "steps", "inner", "inner.twice", "items", "items[].name"));
}

TEST(JsonKeys, MoveToAnotherPartWithWhatIsInsideThem) {
  for (const ListedKey& key : listed(in_part(2, keys()))) EXPECT_EQ(key.part, 2) << key.name;
}

TEST(JsonText, HoldsNoControlCharacterAsItIs) {
  const std::string name = "a\x1b\x7F\xC2\x80\xC2\x9B\xE2\x80\xAE é\xC2\xA0\xE2\x82\xAC";
  const std::string text = json_text(Json{{"name", name}});
  EXPECT_EQ(text, "{\n  \"name\": \"a\\u001b\\u007f\\u0080\\u009b\\u202e é\xC2\xA0€\"\n}\n");
  EXPECT_EQ(Json::parse(text)["name"], name);
}

TEST(JsonPage, PutsKeysOfOneMeaningIntoOneRow) {
  const std::string page = json_page();
  EXPECT_THAT(page, HasSubstr("| `replications`, `seed` | the settings used |"));
  EXPECT_THAT(page, HasSubstr("| `a`, `b` | the two runs, over the common periods |"));
  EXPECT_THAT(page, HasSubstr("| `assets`, `days` | its size |"));
}

}  // namespace
}  // namespace sharpen::command
