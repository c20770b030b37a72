#include "sharpen/base/threads.hpp"

#include <cblas.h>
#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <thread>

#include "base/blas_kernels.hpp"
#include "sharpen/base/error.hpp"

#if defined(SHARPEN_ANNOTATE_THREADS)
// TBB's library is not instrumented, so under the thread sanitizer this file, which instantiates
// TBB's tasks, is not either: tell the sanitizer what spawn and join order.
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#else
namespace {
void __tsan_acquire(void*) {}
void __tsan_release(void*) {}
}  // namespace
#endif

namespace sharpen {

namespace {

constexpr int kMostThreads = 1024;

// When the program or the module is loaded, and before it does anything.
[[maybe_unused]] const bool kMended = mend_blas_kernels();

// Tells the sanitizer at the end of a scope, however it ends: bodies may throw.
struct TellAtEnd {
  void (*tell)(void*);
  void* address;
  ~TellAtEnd() { tell(address); }
};

// OpenBLAS keeps one thread count per process. Ours are per call, so it gets one thread, for as
// long as anybody needs it: the process may be a user's, whose other work wants its own count back.
struct BlasThreads {
  std::mutex mutex;
  std::size_t users = 0;
  int before = 1;
};

BlasThreads& blas_threads() {
  static BlasThreads threads;
  return threads;
}

int checked_count(int count) {
  if (count < 0 || count > kMostThreads)
    throw InputError("threads = " + std::to_string(count) + " is outside [0, " +
                     std::to_string(kMostThreads) + "]; 0 means one per core");
  if (count == 0) return std::max(1u, std::thread::hardware_concurrency());
  return count;
}

}  // namespace

// More threads than cores gain nothing, and TBB would print a warning of its own.
struct Threads::Arena {
  explicit Arena(int count) : arena(std::min(count, tbb::info::default_concurrency())) {}
  tbb::task_arena arena;
};

Threads::SingleThreadedBlas::SingleThreadedBlas() {
  BlasThreads& blas = blas_threads();
  const std::lock_guard lock(blas.mutex);
  if (blas.users++ > 0) return;
  blas.before = openblas_get_num_threads();
  if (blas.before != 1) openblas_set_num_threads(1);
}

// A count that somebody has set in the meantime stays.
Threads::SingleThreadedBlas::~SingleThreadedBlas() {
  BlasThreads& blas = blas_threads();
  const std::lock_guard lock(blas.mutex);
  if (--blas.users > 0) return;
  if (blas.before != 1 && openblas_get_num_threads() == 1) openblas_set_num_threads(blas.before);
}

Threads::Threads(int count) : count_(checked_count(count)) {
  if (count_ > 1) arena_ = std::make_unique<Arena>(count_);
}

Threads::~Threads() = default;
Threads::Threads(Threads&&) noexcept = default;
Threads& Threads::operator=(Threads&&) noexcept = default;

void Threads::run(Index items, void* context, Call call) const {
  if (!arena_ || items <= 1) {
    for (Index i = 0; i < items; ++i) call(context, i, 0);
    return;
  }
  char spawned = 0, joined = 0;
  __tsan_release(&spawned);
  const TellAtEnd join{__tsan_acquire, &joined};
  arena_->arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<Index>(0, items), [&](const tbb::blocked_range<Index>& r) {
      __tsan_acquire(&spawned);
      const TellAtEnd leave{__tsan_release, &joined};
      const int slot = tbb::this_task_arena::current_thread_index();
      for (Index i = r.begin(); i < r.end(); ++i) call(context, i, slot);
    });
  });
}

}  // namespace sharpen
