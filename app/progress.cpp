#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string_view>

#include "sharpen/base/text.hpp"

namespace sharpen::app {

namespace {

constexpr double kQuick = 2.0;          // seconds that need no word
constexpr double kBetweenBars = 0.1;    // seconds
constexpr double kBetweenLines = 60.0;  // seconds
constexpr Index kBarWidth = 30;
constexpr double kSteps = 1000.0;  // of a study's bar
constexpr std::size_t kWidestTitle = 66;

void print_raw(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

// All that a signal handler may touch.
volatile std::sig_atomic_t signal_seen = 0;

// Nobody asks yet, and what is being written has no name yet (new_file.hpp).
extern "C" void end_now(int) {
  constexpr std::string_view text = "sharpen: error: interrupted\n";
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
  ::_exit(1);
}

extern "C" void note_signal(int number) {
  signal_seen = 1;
  std::signal(number, SIG_DFL);
}

bool handle_by(void (*handler)(int)) {
  for (const int number : {SIGINT, SIGTERM})
    // What the caller wants ignored, as shells do for work in the background, stays so.
    if (std::signal(number, handler) == SIG_IGN) std::signal(number, SIG_IGN);
  return true;
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

void expect_signals() { handle_by(end_now); }

bool interrupted() {
  [[maybe_unused]] static const bool listening = handle_by(note_signal);
  return signal_seen != 0;
}

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
  bar_.note(fmt::format("{} of {}{}; {}", now.cells_done, counted(now.cells, "cell"),
                        now.failed > 0 ? fmt::format(", {} failed", now.failed) : "",
                        printable(now.doing)));
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
  print_raw(fmt::format("sharpen: {}: {} of {}{} after {:.0f} s{}; {}\n", title_, now.cells_done,
                        counted(now.cells, "cell"),
                        now.failed > 0 ? fmt::format(" ({} failed)", now.failed) : "", elapsed,
                        left, printable(now.doing)));
}

}  // namespace sharpen::app
