// Ctrl-C (SIGINT) and SIGTERM as a question the work can ask. From the making of an Interrupts on,
// the first signal is noted; a second one ends the program as usual. It stays so when the
// Interrupts is gone: a signal between the last file and the end of the program has nothing to
// stop.
#pragma once

namespace sharpen::app {

class Interrupts {
 public:
  Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  bool seen() const;
};

}  // namespace sharpen::app
