// Long work that somebody waits for: what it does now, how far it is, and whether to give up.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "sharpen/base/view.hpp"

namespace sharpen {

// The work was asked to stop.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

// What long work asks now and then: true to give up. Empty: nobody will say so.
using Stop = std::function<bool()>;

inline void ask(const Stop& stop) {
  if (stop && stop()) throw Interrupted();
}

// A short sleep before somebody else's lock is tried again, the `waits`-th in a row: asks `stop`
// first, and calls `say`, if there is one, after a second and every minute. Throws Interrupted.
inline void wait_for_others(int waits, const Stop& stop, const std::function<void()>& say) {
  constexpr int kLongest = 50, kLong = 40, kMinute = 1200;  // milliseconds; waits
  ask(stop);
  if (say && waits % kMinute == kLong) say();
  std::this_thread::sleep_for(std::chrono::milliseconds(std::min(waits + 1, kLongest)));
}

// Each may be empty. Called by one thread at a time, but for `stop`: any thread may ask it.
struct Control {
  std::function<void(std::string_view)> stage = {};            // what the work is now
  std::function<void(Index done, Index total)> progress = {};  // in pieces of this stage
  Stop stop = {};

  // Throws Interrupted.
  void ask() const { sharpen::ask(stop); }
  void begin(std::string_view text) const {
    if (stage) stage(text);
  }
};

// A control for pieces of work that run at the same time: it is called by one of them at a time,
// and whoever was told to stop is not asked again.
class Conductor {
 public:
  // `control` must outlive it.
  Conductor(const Control& control, Index total) : control_(control), total_(total) {}

  // Before a piece of work. Throws Interrupted.
  void ask() {
    if (stopped()) throw Interrupted();
  }
  // The same within a piece.
  bool stopped() {
    if (!control_.stop) return false;
    const std::lock_guard lock(mutex_);
    return stopped_ = stopped_ || control_.stop();
  }
  // After `pieces` of the total.
  void done(Index pieces = 1) {
    if (!control_.progress || pieces == 0) return;
    const std::lock_guard lock(mutex_);
    control_.progress(done_ += pieces, total_);
  }
  // Runs what must not run beside the control's own functions.
  template <class Body>
  void alone(const Body& body) {
    const std::lock_guard lock(mutex_);
    body();
  }

 private:
  const Control& control_;
  std::mutex mutex_;
  Index done_ = 0, total_;
  bool stopped_ = false;
};

}  // namespace sharpen
