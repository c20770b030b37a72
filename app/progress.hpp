// Ctrl-C (SIGINT) and SIGTERM as a question the work can ask; and how far long work is, on standard
// error: a bar on a terminal; otherwise one line for each stage that takes more than two seconds,
// of a study one now and then. Quick work says nothing.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "sharpen/base/control.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/study/run.hpp"

namespace sharpen::app {

// The first thing the program does: a signal ends it at once, with exit code 1 and a word.
void expect_signals();

// Whether a signal came since the question was first asked: until then it ends the program. From
// then on the first is noted, and a second one ends the program. It stays so after the work: a
// signal between the last file and the end of the program has nothing to stop.
bool interrupted();

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
