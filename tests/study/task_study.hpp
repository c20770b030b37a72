// A study with every kind of task that takes a second, and what compares two of its stores.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "study/small_study.hpp"

namespace sharpen::study {

inline const std::string kTaskStudy =
    "k = [2, \"50%\"]\nseeds = 2\nlookback = 15\nhidden = [\"4\"]\nepochs = 2\nbatch = 32\n"
    "[[market]]\nname = \"a\"\nsimulate = { assets = 5, days = 140, seed = 1 }\n"
    "[[market]]\nname = \"b\"\nsimulate = { assets = 6, days = 120, seed = 2 }\nrisk-free = 0.02\n"
    "[[method]]\nframework = \"pfl\"\noptimizer = \"oscar\"\ntraining = \"paper\"\n"
    "[[method]]\nname = \"stops\"\nframework = \"pfl\"\noptimizer = \"swap\"\nensemble = 2\n"
    "validation = 0.2\n"
    "[[method]]\nframework = \"dfl\"\noptimizer = \"oscar\"\ntraining = \"paper\"\n"
    "[[method]]\noptimizer = \"equal\"\n";

inline const Plan& plan() {
  static const Plan planned = plan_of(kTaskStudy);
  return planned;
}

// Cell by cell and bit by bit; not the seconds.
inline void expect_same_study(const Results& a, const Results& b) {
  ASSERT_EQ(a.cells.size(), b.cells.size());
  for (std::size_t i = 0; i < a.cells.size(); ++i) {
    Cell x = a.cells[i], y = b.cells[i];
    x.seconds = y.seconds = 0.0;
    EXPECT_EQ(x.state, y.state) << i;
    EXPECT_EQ(x.reason, y.reason) << i;
    EXPECT_EQ(x.warnings, y.warnings) << i;
    EXPECT_EQ(fingerprint(x), fingerprint(y)) << i;
  }
}

}  // namespace sharpen::study
