// The program, asked to prove what it finds.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sharpen/market/panel.hpp"
#include "sharpen/market/simulate.hpp"
#include "support/program.hpp"

namespace sharpen::testing {

class AskedToProve : public ::testing::Test {
 protected:
  std::string prices(Index assets, Index days) const {
    const std::string file = folder_.path(std::to_string(assets) + ".csv");
    market::write_panel(market::simulate({.assets = assets, .days = days, .seed = 3}), file);
    return file;
  }

  static nlohmann::json answer_to(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    const Finished run = run_program(arguments);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return nlohmann::json::parse(run.out, nullptr, false);
  }

  static std::string refusal_of(const std::vector<std::string>& arguments) {
    const Finished run = run_program(arguments);
    EXPECT_EQ(run.exit_code, 2) << run.out;
    return run.err;
  }

  const Folder folder_;
};

}  // namespace sharpen::testing
