#include "study_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "sharpen/base/text.hpp"

namespace sharpen::app {

namespace {

constexpr double kQuick = 2.0;          // seconds that need no word
constexpr double kBetweenLines = 60.0;  // seconds
constexpr double kSteps = 1000.0;       // of the bar
constexpr std::size_t kWidestTitle = 66;

}  // namespace

StudyBar::StudyBar(std::string_view title)
    : title_(printable(title, kWidestTitle)),
      terminal_(isatty(STDERR_FILENO) == 1),
      started_(Clock::now()),
      said_(started_) {
  bar_.stage(title_);
}

void StudyBar::show(const study::StudyProgress& now) {
  const double share = now.total > 0.0 ? std::clamp(now.done / now.total, 0.0, 1.0) : 0.0;
  if (!terminal_) return say(now, share);
  bar_.note(fmt::format(
      "{} of {} cell{}{}; {}", now.cells_done, now.cells, now.cells == 1 ? "" : "s",
      now.failed > 0 ? fmt::format(", {} failed", now.failed) : "", printable(now.doing)));
  bar_.update(static_cast<Index>(kSteps * share), static_cast<Index>(kSteps));
}

void StudyBar::say(const study::StudyProgress& now, double share) {
  const auto since = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  if (since(said_) < (spoken_ ? kBetweenLines : kQuick)) return;
  said_ = Clock::now();
  spoken_ = true;
  const double elapsed = since(started_);
  const std::string left =
      share > 0.02 ? fmt::format(", about {:.0f} s left", elapsed * (1.0 - share) / share) : "";
  const std::string line = fmt::format(
      "sharpen: {}: {} of {} cell{}{} after {:.0f} s{}; {}\n", title_, now.cells_done, now.cells,
      now.cells == 1 ? "" : "s", now.failed > 0 ? fmt::format(" ({} failed)", now.failed) : "",
      elapsed, left, printable(now.doing));
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

}  // namespace sharpen::app
