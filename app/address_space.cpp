#include "address_space.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "sharpen/base/error.hpp"

extern "C" {  // of OpenBLAS, whose headers do not declare them
void* blas_memory_alloc(int place);
void blas_memory_free(void* buffer);
}

namespace sharpen::app {
namespace {

constexpr std::size_t kMegabyte = 1 << 20;
constexpr std::size_t kBuffer = 129 * kMegabyte;    // OpenBLAS maps 128 and aligns them
constexpr std::size_t kLeastRoom = 24 * kMegabyte;  // for the rest

bool limited = false;
cpu_set_t processors;  // that we may use; only if limited

// Runs before the libraries are initialised, when OpenBLAS starts a thread, and that one takes a
// buffer, for each processor but one that it sees: it shall see one.
__attribute__((no_sanitize("address", "thread", "undefined"))) void show_one_processor() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  if (sched_getaffinity(0, sizeof processors, &processors) != 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
  limited = sched_setaffinity(0, sizeof one, &one) == 0;
}
__attribute__((section(".preinit_array"),
               used)) void (*const kBeforeLibraries)() = show_one_processor;

std::size_t room_in(std::size_t limit) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const std::size_t used = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return limit - std::min(limit, used);
}

void use_processors(std::size_t count) {
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu)
    if (CPU_ISSET(cpu, &processors) && static_cast<std::size_t>(CPU_COUNT(&processors)) > count)
      CPU_CLR(cpu, &processors);
  sched_setaffinity(0, sizeof processors, &processors);
}

}  // namespace

std::optional<std::int64_t> fit_into_address_space() {
  if (!limited) return std::nullopt;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  const std::size_t room = room_in(limit.rlim_cur);
  if (room < kBuffer + kLeastRoom)
    throw Failure(fmt::format(
        "the address space is limited to {} MB (ulimit -v), and {} more are needed to begin; allow "
        "400 MB, and several times the size of the files",
        limit.rlim_cur / kMegabyte, (kBuffer + kLeastRoom - room) / kMegabyte + 1));
  // Half of the room is for the work.
  const std::size_t count = std::clamp<std::size_t>(
      room / 2 / kBuffer, 1, static_cast<std::size_t>(CPU_COUNT(&processors)));
  use_processors(count);
  std::vector<void*> buffers(count);
  for (void*& buffer : buffers) buffer = blas_memory_alloc(0);
  for (void* const buffer : buffers) blas_memory_free(buffer);  // kept by OpenBLAS for next time
  mallopt(M_ARENA_MAX, 1);  // else every thread takes 64 MB of addresses to allocate from
  return static_cast<std::int64_t>(count);
}

}  // namespace sharpen::app
