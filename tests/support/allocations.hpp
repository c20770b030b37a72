// Counts heap allocations of the program, for tests of calls that must not allocate. Included by
// one source file of a test program: it replaces the global operator new. Sanitizers bring their
// own, which cannot be replaced: the count then stays 0.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

namespace sharpen::testing {

inline std::atomic<long>& allocation_counter() {
  static std::atomic<long> count{0};
  return count;
}
inline long allocation_count() { return allocation_counter().load(); }

}  // namespace sharpen::testing

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Inlined into a test, malloc and operator delete look like a mismatch to GCC.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t size) {
  ++sharpen::testing::allocation_counter();
  if (void* p = std::malloc(size ? size : 1)) return p;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
#endif
