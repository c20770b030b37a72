// What the tests of `sharpen predict` share: six assets, models for them, and the command line.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sharpen/learn/model.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/market/simulate.hpp"
#include "support/models.hpp"
#include "support/program.hpp"

namespace sharpen::testing {

inline constexpr Index kAssets = 6, kDays = 320, kLookback = 20;
inline constexpr const char* kLastDate = "2016-03-23";

// Six assets and models for them. A model is linear without inputs: member m expects its views,
// whatever the returns are, and decisions look at nothing that is held.
class Desk {
 public:
  Desk() : prices_(market::simulate({.assets = kAssets, .days = kDays, .seed = 3})) {
    EXPECT_EQ(prices_.dates.back(), kLastDate);
    prices("prices.csv", prices_);
    model("m.sharpen", {{3e-3, 1e-3, -1e-3, 2e-3, 0.5e-3, -2e-3}});
  }

  const market::Panel& prices() const { return prices_; }
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string file(const std::string& name, const std::string& text) const {
    return folder_.file(name, text);
  }
  std::string prices(const std::string& name, const market::Panel& panel) const {
    market::write_panel(panel, path(name));
    return path(name);
  }
  // With one asset more, GONE, that no model knows and that has no last price.
  std::string prices_with_gone(const std::string& name) const {
    market::Panel panel = prices_;
    panel.tickers.emplace_back("GONE");
    panel.values.clear();
    for (Index t = 0; t < prices_.rows(); ++t) {
      for (const double price : prices_.matrix().row(t)) panel.values.push_back(price);
      panel.values.push_back(t + 1 < prices_.rows() ? 7.0
                                                    : std::numeric_limits<double>::quiet_NaN());
    }
    prices(name, panel);
    return name;
  }
  learn::Model model(const std::string& name, const std::vector<std::vector<double>>& views) const {
    learn::Model model = made_model({.tickers = prices_.tickers,
                                     .network = learn::NetworkKind::joint,
                                     .lookback = kLookback,
                                     .hidden = {},
                                     .members = static_cast<Index>(views.size())});
    model.first_date = "2010-01-04";
    model.last_date = "2015-06-30";
    model.validation_from = "2014-01-02";
    model.settings.mandate.k = {.count = 2, .percent = 0.0};
    model.settings.mandate.sizing.kind = layer::Sizing::gross;
    model.settings.rules = {.rule = trade::Rule::none, .memory = 1};
    for (std::size_t m = 0; m < views.size(); ++m) {
      std::vector<float>& parameters = model.members[m].network.parameters;
      std::fill(parameters.begin(), parameters.end(), 0.0f);
      for (std::size_t i = 0; i < views[m].size(); ++i)
        parameters[parameters.size() - views[m].size() + i] = static_cast<float>(views[m][i]);
    }
    learn::write_model(model, path(name));
    return model;
  }

  std::vector<std::string> arguments(const std::vector<std::string>& more,
                                     const std::string& panel = "prices.csv") const {
    std::vector<std::string> all = {"predict", "--model", path("m.sharpen"), "--prices",
                                    path(panel)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  nlohmann::json predict(const std::vector<std::string>& more,
                         const std::string& panel = "prices.csv") const {
    std::vector<std::string> all = arguments(more, panel);
    all.push_back("--json");
    const Finished run = run_program(all);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err, "");
    return nlohmann::json::parse(run.out, nullptr, false);
  }
  void expect_refusal(const std::vector<std::string>& more, const std::string& message,
                      const std::string& panel = "prices.csv") const {
    const Finished run = run_program(arguments(more, panel));
    EXPECT_EQ(run.exit_code, 2) << message;
    EXPECT_EQ(run.out, "") << message;
    EXPECT_EQ(run.err, "sharpen: error: " + message + "\n");
  }

 private:
  Folder folder_;
  market::Panel prices_;
};

inline std::map<std::string, double> weights(const nlohmann::json& answer) {
  std::map<std::string, double> out;
  for (const nlohmann::json& holding : answer["holdings"])
    out[holding["asset"]] = holding["weight"];
  return out;
}

inline market::Panel without_rows(market::Panel panel, Index last) {
  panel.dates.resize(static_cast<std::size_t>(panel.rows() - last));
  panel.values.resize(panel.dates.size() * panel.tickers.size());
  return panel;
}

}  // namespace sharpen::testing
