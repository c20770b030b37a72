// How far long work is, on standard error: a bar on a terminal; otherwise one line for each stage
// that takes more than two seconds. Quick work says nothing.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "sharpen/base/control.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen::app {

class Progress {
 public:
  Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // takes the bar away

  void stage(std::string_view text);
  // What is shown behind the bar, until the next stage.
  void note(std::string_view text) { note_ = text; }
  // By one thread at a time.
  void update(Index done, Index total);

 private:
  using Clock = std::chrono::steady_clock;
  double seconds() const;  // since the stage began
  void draw(Index done, Index total);

  bool terminal_;
  std::string stage_, note_;
  Clock::time_point started_;
  double drawn_ = -1.0;  // when the bar was last drawn, in seconds of the stage
  bool told_ = false;    // the line of this stage is printed
};

// What the library asks and tells: signals stop the work, `progress` shows how far it is.
Control control_of(Progress& progress);

}  // namespace sharpen::app
