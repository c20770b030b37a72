// How far a study is, on standard error: a bar on a terminal; otherwise a line now and then.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "progress.hpp"
#include "sharpen/study/run.hpp"

namespace sharpen::app {

class StudyBar {
 public:
  // `title`: "study NAME"
  explicit StudyBar(std::string_view title);
  // By one thread at a time.
  void show(const study::StudyProgress& now);

 private:
  using Clock = std::chrono::steady_clock;
  void say(const study::StudyProgress& now, double share);

  std::string title_;
  bool terminal_;
  Clock::time_point started_, said_;
  bool spoken_ = false;
  Progress bar_;
};

}  // namespace sharpen::app
