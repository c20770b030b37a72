// Decisions as files have them, and what they make of panels.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sharpen/market/decisions.hpp"

namespace sharpen::market {

// A decision as a file has it, without the keys that are "".
inline std::string decision(const std::string& rule, const std::string& ticker,
                            const std::string& day, const std::string& action,
                            const std::string& more = "") {
  std::string out = "\n[[decision]]\n";
  if (!rule.empty()) out += fmt::format("rule = \"{}\"\n", rule);
  if (!ticker.empty()) out += fmt::format("tickers = [\"{}\"]\n", ticker);
  if (!day.empty()) out += fmt::format("from = \"{}\"\nto = \"{}\"\n", day, day);
  return out + fmt::format("action = \"{}\"\n{}\n", action, more);
}

inline Cleaned decided(const Panel& panel, const std::string& text,
                       CleaningSettings settings = {}) {
  settings.decisions = text;
  Decisions decisions = read_decisions(text);
  decisions.absent = check_known(decisions, panel);
  return clean(panel, settings, decisions);
}

inline std::string proposed(const Panel& panel, const CleaningSettings& settings = {}) {
  return propose(panel, "panel.csv", clean(panel, settings), settings, "").text;
}

// Where prices differ by more than rounding.
inline std::vector<std::string> differences(const Panel& a, const Panel& b) {
  EXPECT_EQ(a.tickers, b.tickers);
  EXPECT_EQ(a.dates, b.dates);
  std::vector<std::string> out;
  if (a.values.size() != b.values.size()) return {"another size"};
  for (Index t = 0; t < a.rows(); ++t)
    for (Index j = 0; j < a.n(); ++j)
      if (!(std::abs(a.matrix()(t, j) / b.matrix()(t, j) - 1.0) < 1e-12))
        out.push_back(fmt::format("{} {}", t, a.tickers[static_cast<std::size_t>(j)]));
  return out;
}

}  // namespace sharpen::market
