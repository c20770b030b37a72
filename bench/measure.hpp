// Timing for benchmark programs: several things alternated in one process, the median of each,
// so that ratios mean something on a noisy machine; and the lines that tools/bench collects.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

namespace sharpen::bench {

// cpu: the time this thread really ran, for work on one thread; what else the machine does only
// reaches it through the caches. wall: for work on several threads. process: what all threads of
// this process ran.
enum class Clock { cpu, wall, process };

inline double now(Clock clock) {
  timespec time{};
  clock_gettime(clock == Clock::cpu    ? CLOCK_THREAD_CPUTIME_ID
                : clock == Clock::wall ? CLOCK_MONOTONIC
                                       : CLOCK_PROCESS_CPUTIME_ID,
                &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

inline double median(std::vector<double> t) {
  const auto middle = t.begin() + static_cast<std::ptrdiff_t>(t.size() / 2);
  std::nth_element(t.begin(), middle, t.end());
  return *middle;
}

// Median seconds of each, over `rounds` rounds in which all take their turn. One round first to
// warm up.
inline std::vector<double> alternate(const std::vector<std::function<void()>>& runs, int rounds,
                                     Clock clock = Clock::cpu) {
  std::vector<std::vector<double>> times(runs.size());
  for (const auto& run : runs) run();
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const double start = now(clock);
      runs[i]();
      times[i].push_back(now(clock) - start);
    }
  std::vector<double> medians;
  for (const auto& t : times) medians.push_back(median(t));
  return medians;
}

// The same, but each takes several turns in a row, of which the first is not counted: a run finds
// the caches as it left them, not as the others did.
inline std::vector<double> alternate_warm(const std::vector<std::function<void()>>& runs,
                                          int rounds) {
  constexpr int kInARow = 10;
  std::vector<std::vector<double>> times(runs.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < runs.size(); ++i)
      for (int turn = 0; turn <= kInARow; ++turn) {
        const double start = now(Clock::cpu);
        runs[i]();
        if (turn > 0) times[i].push_back(now(Clock::cpu) - start);
      }
  std::vector<double> medians;
  for (const auto& t : times) medians.push_back(median(t));
  return medians;
}

inline void at_most(const std::string& name, double value, double bound) {
  fmt::print("bench: {} {:.3g} <={:g} {}\n", name, value, bound, value <= bound ? "ok" : "short");
}
inline void at_least(const std::string& name, double value, double bound) {
  fmt::print("bench: {} {:.3g} >={:g} {}\n", name, value, bound, value >= bound ? "ok" : "short");
}

// A result that is wrong is not worth timing.
inline void require(bool right, const std::string& what) {
  if (right) return;
  std::fflush(stdout);
  fmt::print(stderr, "validation failed: {}\n", what);
  std::exit(1);
}

}  // namespace sharpen::bench
