#include "sharpen/market/panel_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharpen/base/error.hpp"

namespace sharpen::market {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// A training on it would end with a model that cannot be written.
TEST(MemoryPanel, RefusesLabelsThatNoFileCanHold) {
  for (const std::string label : {"B\x1b[2J", "B\n", "", "\xC2\x9B", "\xff"}) {
    MemoryPanel panel;
    panel.raw.file = "prices";
    panel.raw.panel = {.dates = {"2020-01-01", "2020-01-02", "2020-01-03"},
                       .tickers = {"A", label},
                       .values = {1.0, 2.0, 1.1, 2.1, 1.2, 2.3}};
    const settings::Values train(settings::train), doctor(settings::doctor);
    const auto refused =
        ThrowsMessage<InputError>(HasSubstr("of column 1 is empty, holds control characters or is "
                                            "not UTF-8; give the column another name"));
    EXPECT_THAT([&] { panel_input(train, panel, Log()); }, refused) << label;
    EXPECT_THAT([&] { raw_panel(doctor, panel, Log()); }, refused) << label;
  }
}

}  // namespace
}  // namespace sharpen::market
