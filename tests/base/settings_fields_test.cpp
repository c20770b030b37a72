// Rows bound to fields: what is filled, what is checked, and that no row is left unbound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/layer/sizing.hpp"
#include "sharpen/learn/settings.hpp"
#include "sharpen/market/simulate.hpp"

namespace sharpen::settings {
namespace {

using ::testing::ElementsAre;

TEST(SettingsFields, EveryRowFillsAFieldOrSaysThatACommandReadsIt) {
  for (const Setting& setting : table())
    EXPECT_NE(setting.fields.empty(), !setting.is(steers)) << setting.name;
}

TEST(SettingsFields, FieldsOfOneRowStartAlike) {
  for (const Setting& setting : table())
    for (const Field& field : setting.fields) {
      if (field.kind != setting.fields.front().kind) continue;  // 100, and 100 or all
      EXPECT_EQ(field.initial, setting.fields.front().initial) << setting.name;
    }
}

TEST(SettingsFields, KindChoicesAndDefaultComeFromTheField) {
  EXPECT_EQ(find("sizing").kind, Kind::choice);
  EXPECT_THAT(find("sizing").all_choices(), ElementsAre("budget", "volatility", "gross"));
  EXPECT_EQ(find("sizing").preset, name_of(layer::SizingSettings().kind));
  EXPECT_EQ(find("alpha").kind, Kind::real);
  EXPECT_EQ(find("alpha").preset, "0.2");
  EXPECT_EQ(find("hidden").preset, "64,32");
  EXPECT_EQ(find("start-date").preset, market::SimulationSettings().start_date);
  EXPECT_EQ(find("shrinkage").preset, "");  // words say on what it depends
}

TEST(SettingsFields, FillWritesWhatIsGivenAndLeavesTheRest) {
  Values values(simulate);
  values.set_flag("assets", "7");
  values.set_flag("start-date", "2020-02-03");
  market::SimulationSettings out;
  out.factors = 9;
  fill(values, out);
  EXPECT_EQ(out.assets, 7);
  EXPECT_EQ(out.start_date, "2020-02-03");
  EXPECT_EQ(out.factors, 4);  // a default is a value, too
  EXPECT_EQ(out.days, market::SimulationSettings().days);

  learn::TrainSettings training;
  training.beta_final = 3.0;
  fill(Values(train), training);
  EXPECT_EQ(training.beta_final, 3.0);  // a setting without a value
}

TEST(SettingsFields, FillNamesTheValueThatAFieldCannotHold) {
  Values values(train);
  values.set_flag("hidden", "64,wide");
  learn::TrainSettings out;
  try {
    fill(values, out);
    ADD_FAILURE() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "--hidden = wide: the width of a layer is a whole number such as 256");
  }
}

TEST(SettingsFields, CheckHoldsEveryFieldToTheBoundsOfItsRow) {
  const auto error_of = [](const auto& settings) -> std::string {
    try {
      check(settings);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  learn::TrainSettings training;
  EXPECT_EQ(error_of(training), "");
  training.alpha = 1.5;
  EXPECT_EQ(error_of(training), "alpha = 1.5 is outside [0, 1]");
  training = {};
  training.lookback = 1;
  EXPECT_EQ(error_of(training), "lookback = 1 is outside [2, inf)");
  training = {};
  training.beta_final = -1.0;  // 0 stands for none
  EXPECT_EQ(error_of(training), "beta-final = -1 is outside (0, 1000000]");
  market::SimulationSettings simulation;
  simulation.days = 1;
  EXPECT_EQ(error_of(simulation), "days = 1 is outside [2, 25000]");
}

std::vector<std::string_view> colors() { return {"red", "green"}; }

TEST(SettingsFields, ChoicesMayComeFromARegistry) {
  Setting setting{.name = "color", .kind = Kind::choice, .registry = &colors};
  EXPECT_EQ(std::get<std::string>(parse(setting, "green")), "green");
  EXPECT_THROW(parse(setting, "blue"), InputError);
  setting.leave_out("green");
  EXPECT_THAT(setting.all_choices(), ElementsAre("red"));
}

}  // namespace
}  // namespace sharpen::settings
