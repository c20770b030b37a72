// Long work that Python waits for: the library runs in a thread of its own, while the calling one
// looks for Ctrl-C and tells how far the work is, twenty times a second. So no thread of the
// library ever runs Python.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "sharpen/base/control.hpp"

namespace sharpen::python {

namespace nb = nanobind;

class Work {
 public:
  // `report`: None, or called with (stage, done, total, note) after a change.
  explicit Work(nb::object report) : report_(std::move(report)) {}

  // By the work, from any thread.
  void stage(std::string_view text);
  void note(std::string_view text);
  void progress(double done, double total);
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }
  // The same for the library.
  Control control();

  // Runs `body` without the GIL, which the caller holds. Rethrows what it throws, and raises
  // KeyboardInterrupt, or whatever a signal handler or `report` raises, after it has stopped.
  template <class Body>
  auto run(Body body) {
    std::optional<decltype(body())> out;
    run_to_end([&] { out.emplace(body()); });
    return std::move(*out);
  }

 private:
  struct State {
    std::string stage, note;
    double done = 0.0, total = 0.0;
  };

  void run_to_end(const std::function<void()>& body);
  void tell();  // with the GIL

  nb::object report_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  State state_;
  bool changed_ = false, finished_ = false;
};

}  // namespace sharpen::python
