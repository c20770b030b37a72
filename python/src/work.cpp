#include "work.hpp"

#include <chrono>
#include <thread>

namespace sharpen::python {

void Work::stage(std::string_view text) {
  const std::lock_guard lock(mutex_);
  state_ = {.stage = std::string(text), .note = {}, .done = 0.0, .total = 0.0};
  changed_ = true;
}

void Work::note(std::string_view text) {
  const std::lock_guard lock(mutex_);
  state_.note = text;
  changed_ = true;
}

void Work::progress(double done, double total) {
  const std::lock_guard lock(mutex_);
  state_.done = done;
  state_.total = total;
  changed_ = true;
}

Control Work::control() {
  return {.stage = [this](std::string_view text) { stage(text); },
          .progress =
              [this](Index done, Index total) {
                progress(static_cast<double>(done), static_cast<double>(total));
              },
          .stop = [this] { return stopped(); }};
}

void Work::tell() {
  if (report_.is_none()) return;
  State now;
  {
    const std::lock_guard lock(mutex_);
    if (!changed_) return;
    changed_ = false;
    now = state_;
  }
  report_(nb::str(now.stage.c_str(), now.stage.size()), now.done, now.total,
          nb::str(now.note.c_str(), now.note.size()));
}

void Work::run_to_end(const std::function<void()>& body) {
  constexpr auto kBetweenLooks = std::chrono::milliseconds(50);
  finished_ = false;          // work may follow work
  std::exception_ptr failed;  // in the work
  std::thread worker([&] {
    try {
      body();
    } catch (...) {
      failed = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    finished_ = true;
    ended_.notify_all();
  });
  std::exception_ptr raised;  // in Python
  for (bool finished = false; !finished;) {
    {
      const nb::gil_scoped_release release;
      std::unique_lock lock(mutex_);
      finished = ended_.wait_for(lock, kBetweenLooks, [&] { return finished_; });
    }
    if (raised) continue;  // it is ending
    try {
      if (PyErr_CheckSignals() != 0) nb::raise_python_error();
      tell();
    } catch (...) {
      raised = std::current_exception();
      stop_ = true;
    }
  }
  worker.join();
  if (raised) std::rethrow_exception(raised);
  if (failed) std::rethrow_exception(failed);
}

}  // namespace sharpen::python
