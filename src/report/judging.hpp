// What the runs of a method come to together, day by day, and how far that can be trusted.
#pragma once

#include "sharpen/report/summary.hpp"

namespace sharpen::report {

constexpr std::size_t kFewestDays = 10;  // below which nothing is tested

// The daily columns of an entry whose cells are counted: means over those that are done, on the
// days that all of them have.
void average_days(const study::Results& results, Entry& entry);

// Intervals of every entry that can have them.
void judge_entries(Summary& summary, const backtest::BootstrapSettings& settings,
                   const Threads& threads);

}  // namespace sharpen::report
