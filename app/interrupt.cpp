#include "interrupt.hpp"

#include <csignal>

namespace sharpen::app {

namespace {

// The only thing a signal handler may touch.
volatile std::sig_atomic_t signal_seen = 0;

extern "C" void note_signal(int number) {
  signal_seen = 1;
  std::signal(number, SIG_DFL);
}

}  // namespace

bool interrupted() {
  [[maybe_unused]] static const bool listening = [] {
    std::signal(SIGINT, note_signal);
    std::signal(SIGTERM, note_signal);
    return true;
  }();
  return signal_seen != 0;
}

}  // namespace sharpen::app
