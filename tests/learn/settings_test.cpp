#include "sharpen/learn/settings.hpp"

#include <gtest/gtest.h>

namespace sharpen::learn {
namespace {

// Field by field of what the table binds.
template <class Settings>
void expect_same(const Settings& filled, const Settings& fresh) {
  for (const settings::Setting& setting : settings::table())
    for (const settings::Field& field : setting.fields) {
      if (*field.owner != typeid(Settings) || !setting.taken_by(settings::train)) continue;
      EXPECT_EQ(field.get(&filled), field.get(&fresh)) << setting.name;
    }
}

TEST(TrainSettings, StartAsThoseOfThePresetDefault) {
  const TrainSettings filled = training_settings(settings::Values(settings::train));
  const TrainSettings fresh;
  expect_same(filled, fresh);
  expect_same(filled.adam, fresh.adam);
  expect_same(filled.mandate, fresh.mandate);
  expect_same(filled.layer, fresh.layer);
  expect_same(filled.mandate.sizing, fresh.mandate.sizing);
}

TEST(TrainSettings, OfThePaperAreThoseOfItsPreset) {
  settings::Values values(settings::train);
  values.use_paper_preset();
  const TrainSettings paper = training_settings(values);
  EXPECT_EQ(paper.network, NetworkKind::joint);
  EXPECT_EQ(paper.hidden, (std::vector<Index>{512, 256}));
  EXPECT_EQ(paper.ensemble, 1);
  EXPECT_EQ(paper.validation, 0.0);
  EXPECT_EQ(paper.layer.score, layer::Score::cholesky);
  EXPECT_EQ(paper.mandate.sizing.kind, layer::Sizing::budget);
}

TEST(TrainSettings, APredictionHasNoWeightOnDecisions) {
  settings::Values values(settings::train);
  values.set_flag("framework", "pfl");
  EXPECT_EQ(training_settings(values).alpha, 0.0);
}

}  // namespace
}  // namespace sharpen::learn
