// Progress and stopping of a set-up whose samples are factored at the same time.
#pragma once

#include <mutex>

#include "sharpen/risk/setup.hpp"

namespace sharpen::risk {

class Conductor {
 public:
  Conductor(const SetupControl& control, Index samples) : control_(control), samples_(samples) {}

  // Before a piece of work. Throws Stopped.
  void ask() {
    if (!control_.stop) return;
    const std::lock_guard lock(mutex_);
    stopped_ = stopped_ || control_.stop();
    if (stopped_) throw Stopped();
  }
  // After a sample.
  void done() {
    if (!control_.progress) return;
    const std::lock_guard lock(mutex_);
    control_.progress(++done_, samples_);
  }

 private:
  const SetupControl& control_;
  std::mutex mutex_;
  Index done_ = 0, samples_;
  bool stopped_ = false;
};

}  // namespace sharpen::risk
