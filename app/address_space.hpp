// Running under a limit of the address space (ulimit -v). OpenBLAS asks for its buffers again and
// again, for ever, where it cannot have them: it must have them before anything else takes the
// room.
#pragma once

namespace sharpen::app {

// As many buffers, and processors to use them, as fit beside the work; nothing without a limit.
// Throws Failure where not even one fits.
void fit_into_address_space();

}  // namespace sharpen::app
