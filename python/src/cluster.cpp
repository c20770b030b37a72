// A study whose tasks are done by workers that Python has: processes here or on other machines.
// One Coordinator owns the study's file; workers know of tasks and markets as bytes only.
#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>

#include "module.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/command/study.hpp"
#include "sharpen/study/task.hpp"
#include "work.hpp"

namespace sharpen::python {

namespace {

std::string_view view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }
nb::bytes bytes_of(const std::string& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

class Coordinator {
 public:
  Coordinator(const SettingTexts& given, const std::string& config, nb::object report, int workers)
      : work_(std::move(report)),
        log_(
            [this](LogLevel, std::string_view message) {
              const std::lock_guard lock(mutex_);
              messages_.emplace_back(message);
            },
            LogLevel::warning),
        control_(work_.control()),
        watch_([this](const study::StudyProgress& now) { tell(now); }) {
    study_ = work_.run([&] {
      return std::make_unique<command::OpenStudy>(study_values(given, config), workers, log_,
                                                  control_, watch_);
    });
  }

  nb::object next() {
    const auto found = work_.run([&] { return study().next(); });
    if (!found) return nb::none();
    return nb::make_tuple(found->number, found->market, bytes_of(found->task));
  }

  nb::bytes market(const std::string& hash) {
    return bytes_of(*work_.run([&] { return &study().market(hash); }));
  }

  // Why the bytes are refused; "": they are not.
  std::string put(Index number, const nb::bytes& bytes) {
    const std::string_view result = view(bytes);
    std::string refused;
    {
      const nb::gil_scoped_release release;
      try {
        study().put(number, result);
      } catch (const InputError& error) {
        refused = error.marked();
      }
    }
    return in_python_words(refused);
  }

  void lost(Index number, const std::string& reason) {
    const nb::gil_scoped_release release;
    study().lost(number, reason);
  }

  void commit() {
    work_.run([&] {
      study().commit();
      return true;
    });
  }

  bool finished() {
    const nb::gil_scoped_release release;
    return study().finished();
  }
  Index waiting() { return study().waiting(); }
  void stop() { study().stop(); }

  // The answer of `sharpen study --json`, and what the program would print besides.
  nb::tuple close() {
    const std::string json = work_.run([&] { return command::study_json(study_->close()); });
    const std::lock_guard lock(mutex_);
    return nb::make_tuple(json, in_python_words(messages_));
  }

 private:
  study::Coordinator& study() { return study_->coordinator(); }

  void tell(const study::StudyProgress& now) {
    constexpr double kHour = 3600.0;
    work_.note(fmt::format("{} of {} cells, {:.3g} worker-hours", now.cells_done, now.cells,
                           now.worker_seconds / kHour));
    work_.progress(std::min(now.done, now.total), now.total);
  }

  Work work_;
  std::mutex mutex_;
  std::vector<std::string> messages_;
  const Log log_;
  const Control control_;
  const study::Watch watch_;
  std::unique_ptr<command::OpenStudy> study_;
};

// A worker reads a market once, for all its tasks.
study::TaskMarket market_of(const nb::bytes& bytes) {
  const std::string_view given = view(bytes);
  const nb::gil_scoped_release release;
  return study::market_from_bytes(given);
}

nb::bytes run_task(const nb::bytes& task, const study::TaskMarket& market, int threads) {
  const std::string_view given = view(task);
  Work work{nb::none()};
  return bytes_of(work.run([&] {
    return study::to_bytes(
        study::run(study::task_from_bytes(given), market, Threads(threads), work.control()));
  }));
}

}  // namespace

void add_cluster(nb::module_& module) {
  nb::class_<Coordinator>(module, "Coordinator")
      .def(nb::init<const SettingTexts&, const std::string&, nb::object, int>(),
           nb::arg("settings"), nb::arg("config"), nb::arg("report").none(), nb::arg("workers"))
      .def("next", &Coordinator::next)
      .def("market", &Coordinator::market, nb::arg("hash"))
      .def("put", &Coordinator::put, nb::arg("number"), nb::arg("result"))
      .def("lost", &Coordinator::lost, nb::arg("number"), nb::arg("reason"))
      .def("commit", &Coordinator::commit)
      .def("finished", &Coordinator::finished)
      .def("waiting", &Coordinator::waiting)
      .def("stop", &Coordinator::stop)
      .def("close", &Coordinator::close);
  nb::class_<study::TaskMarket>(module, "TaskMarket").def(nb::new_(&market_of), nb::arg("bytes"));
  module.def("run_task", &run_task, nb::arg("task"), nb::arg("market"), nb::arg("threads"));
  module.def("program", &study::program, "The program whose tasks and results are understood.");
}

}  // namespace sharpen::python
