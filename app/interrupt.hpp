// Ctrl-C (SIGINT) and SIGTERM as a question the work can ask.
#pragma once

namespace sharpen::app {

// Whether a signal came since the question was first asked: until then signals end the program as
// usual. From then on the first is noted, and a second one ends the program. It stays so after the
// work: a signal between the last file and the end of the program has nothing to stop.
bool interrupted();

}  // namespace sharpen::app
