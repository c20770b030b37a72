// Running under a limit of the address space (ulimit -v). OpenBLAS asks for its buffers again and
// again, for ever, where it cannot have them: it must have them before anything else takes the
// room.
#pragma once

#include <cstdint>
#include <optional>

namespace sharpen::app {

// As many buffers, and processors to use them, as fit beside the work: the most threads there may
// be; none without a limit. Throws Failure where not even one fits.
std::optional<std::int64_t> fit_into_address_space();

}  // namespace sharpen::app
