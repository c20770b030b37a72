// Ctrl-C (SIGINT) and SIGTERM as a question the work can ask. While an Interrupts lives, the first
// signal is noted; a second one ends the program as usual.
#pragma once

namespace sharpen::app {

class Interrupts {
 public:
  Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();

  bool seen() const;
};

}  // namespace sharpen::app
