// Seeded random numbers that have the same bits on every machine and for any thread count.
//
// The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011): block i of stream s under seed z is a fixed bijection
//   philox(counter = (i, s), key = z)
// so streams need no state in common: give every instance, path or network its own stream.
// Doubles are built by integer arithmetic and by +, -, *, / and sqrt only, which IEEE 754
// rounds the same way everywhere; no libm function is called.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace sharpen {

using PhiloxBlock = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

PhiloxBlock philox4x32_10(PhiloxBlock counter, PhiloxKey key);

// The quantile function of the standard normal, Phi^-1(p) for p in (0, 1), to about 1e-15
// relative (Wichura, AS 241); -inf and inf at 0 and 1, NaN outside.
double normal_quantile(double p);

class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  std::uint64_t bits();   // 64 random bits
  double uniform();       // [0, 1), a multiple of 2^-53
  double uniform_open();  // (0, 1), symmetric about 1/2: an odd multiple of 2^-53
  double normal();        // standard normal, by inversion: one draw consumes one bits()
  // 0 .. n-1, each exactly equally likely. Throws InputError for n = 0.
  std::uint64_t below(std::uint64_t n);

  // Fisher-Yates: every order is equally likely.
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      using std::swap;
      swap(items[i - 1], items[below(i)]);
    }
  }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t next_block_ = 0;
  PhiloxBlock block_{};
  int unused_ = 0;  // 64-bit halves of block_ not handed out yet
};

}  // namespace sharpen
