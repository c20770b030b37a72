// Thread control. A Threads is a bound on how many threads a call may use; work is split by
// item, every item is computed by one thread in the same order of operations, so results have
// equal bits for any count. BLAS and LAPACK calls run on one thread each while any Threads lives,
// in the whole process; when the last one dies, OpenBLAS has the count it had before the first.
// What calls BLAS between the calls of its user (a risk model, a solver) keeps a Threads(1).
#pragma once

#include <memory>

#include "sharpen/base/view.hpp"

namespace sharpen {

class Threads {
 public:
  // count >= 1, or 0 for one thread per core. Throws InputError for anything else.
  explicit Threads(int count = 1);
  ~Threads();
  Threads(Threads&&) noexcept;
  Threads& operator=(Threads&&) noexcept;

  int count() const { return count_; }

  // Calls body(i, slot) for i = 0..items-1. Calls that run at the same time have different
  // slots in [0, count()): index scratch memory by slot. An exception thrown by body is
  // rethrown here after the other items have stopped.
  template <class Body>
  void for_each(Index items, const Body& body) const {
    run(items, const_cast<void*>(static_cast<const void*>(&body)),
        [](void* context, Index i, int slot) { (*static_cast<const Body*>(context))(i, slot); });
  }

 private:
  using Call = void (*)(void* context, Index i, int slot);
  void run(Index items, void* context, Call call) const;

  struct Arena;
  // One of those for whom OpenBLAS stays on one thread.
  class SingleThreadedBlas {
   public:
    SingleThreadedBlas();
    ~SingleThreadedBlas();
    SingleThreadedBlas(SingleThreadedBlas&&) noexcept : SingleThreadedBlas() {}
    SingleThreadedBlas& operator=(SingleThreadedBlas&&) noexcept { return *this; }
  };

  int count_;
  SingleThreadedBlas blas_;
  std::unique_ptr<Arena> arena_;
};

}  // namespace sharpen
