#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "interrupt.hpp"

namespace sharpen::app {

namespace {

constexpr double kQuick = 2.0;        // seconds that need no word
constexpr double kBetweenBars = 0.1;  // seconds
constexpr Index kBarWidth = 30;

void print_raw(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Control control_of(Progress& progress) {
  return {.stage = [&progress](std::string_view text) { progress.stage(text); },
          .progress = [&progress](Index done, Index total) { progress.update(done, total); },
          .stop = interrupted};
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1), started_(Clock::now()) {}

Progress::~Progress() {
  if (terminal_ && drawn_ >= 0.0) print_raw("\r\033[K");
}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - started_).count();
}

void Progress::stage(std::string_view text) {
  stage_ = text;
  note_.clear();
  started_ = Clock::now();
  told_ = false;
}

void Progress::update(Index done, Index total) {
  const double now = seconds();
  if (terminal_) {
    if (now >= drawn_ + kBetweenBars || now < drawn_) draw(done, total);
  } else if (!told_ && now > kQuick) {
    told_ = true;
    print_raw(fmt::format("sharpen: {}: {} of {} after {:.0f} s\n", stage_, done, total, now));
  }
}

void Progress::draw(Index done, Index total) {
  drawn_ = seconds();
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1.0;
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kBarWidth));
  const double left = share > 0.0 ? drawn_ * (1.0 - share) / share : 0.0;
  print_raw(fmt::format("\r\033[Ksharpen: {} [{}{}] {:3.0f} %, {:.0f} s left{}{}", stage_,
                        std::string(filled, '#'), std::string(kBarWidth - filled, '.'),
                        100.0 * share, left, note_.empty() ? "" : "; ", note_));
}

}  // namespace sharpen::app
