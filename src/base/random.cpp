// Every machine must compute the same bits here, so multiplications and additions must not be
// fused where a CPU could: contraction is off for this file, whatever the build asks for.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#include "sharpen/base/random.hpp"

#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>

#include "sharpen/base/error.hpp"

#if defined(__FAST_MATH__)
#error "random numbers must have the same bits everywhere: build without -ffast-math"
#endif
static_assert(FLT_EVAL_METHOD == 0, "doubles must be evaluated as doubles");
static_assert(std::numeric_limits<double>::is_iec559);

namespace sharpen {

namespace {

// Horner's rule, highest power first.
template <std::size_t N>
double polynomial(const std::array<double, N>& c, double x) {
  double sum = c[0];
  for (std::size_t i = 1; i < N; ++i) sum = sum * x + c[i];
  return sum;
}

// Natural logarithm of a normal positive x, to about 2 ulp: x = 2^e m with m in
// [sqrt(1/2), sqrt(2)), f = (m - 1)/(m + 1), log m = 2 (f + f^3/3 + f^5/5 + ...), |f| < 0.172.
double portable_log(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int e = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++e;
  }
  const double f = (m - 1.0) / (m + 1.0);
  constexpr std::array<double, 11> series = {1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17,
                                             1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9,
                                             1.0 / 7,  1.0 / 5,  1.0 / 3};
  const double f2 = f * f;
  const double log_m = 2.0 * f + 2.0 * f * (f2 * polynomial(series, f2));
  // ln 2 in two parts: e * high is exact.
  constexpr double ln2_high = 6.93147180369123816490e-01;  // 33 bits
  constexpr double ln2_low = 1.90821492927058770002e-10;
  return e * ln2_high + (log_m + e * ln2_low);
}

}  // namespace

PhiloxBlock philox4x32_10(PhiloxBlock counter, PhiloxKey key) {
  constexpr std::uint64_t multiplier0 = 0xD2511F53u, multiplier1 = 0xCD9E8D57u;
  constexpr std::uint32_t weyl0 = 0x9E3779B9u, weyl1 = 0xBB67AE85u;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = multiplier0 * counter[0];
    const std::uint64_t product1 = multiplier1 * counter[2];
    const auto high0 = static_cast<std::uint32_t>(product0 >> 32);
    const auto high1 = static_cast<std::uint32_t>(product1 >> 32);
    counter = {high1 ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               high0 ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += weyl0;
    key[1] += weyl1;
  }
  return counter;
}

// Wichura's PPND16 (Applied Statistics 37, 1988), coefficients as published.
double normal_quantile(double p) {
  if (!(p >= 0.0 && p <= 1.0)) return std::numeric_limits<double>::quiet_NaN();
  if (p == 0.0) return -std::numeric_limits<double>::infinity();
  if (p == 1.0) return std::numeric_limits<double>::infinity();
  const double q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) {
    constexpr std::array<double, 8> a = {2.5090809287301226727e+3, 3.3430575583588128105e+4,
                                         6.7265770927008700853e+4, 4.5921953931549871457e+4,
                                         1.3731693765509461125e+4, 1.9715909503065514427e+3,
                                         1.3314166789178437745e+2, 3.3871328727963666080e+0};
    constexpr std::array<double, 8> b = {5.2264952788528545610e+3, 2.8729085735721942674e+4,
                                         3.9307895800092710610e+4, 2.1213794301586595867e+4,
                                         5.3941960214247511077e+3, 6.8718700749205790830e+2,
                                         4.2313330701600911252e+1, 1.0};
    const double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  // A subnormal tail (p below 2^-1022) has no exponent for portable_log to read: scale it.
  const double tail = q < 0.0 ? p : 1.0 - p;
  const double log_tail = tail < DBL_MIN ? portable_log(tail * 0x1p64) - 64 * 0.69314718055994530942
                                         : portable_log(tail);
  double r = std::sqrt(-log_tail);
  double value;
  if (r <= 5.0) {
    constexpr std::array<double, 8> c = {7.74545014278341407640e-4, 2.27238449892691845833e-2,
                                         2.41780725177450611770e-1, 1.27045825245236838258e+0,
                                         3.64784832476320460504e+0, 5.76949722146069140550e+0,
                                         4.63033784615654529590e+0, 1.42343711074968357734e+0};
    constexpr std::array<double, 8> d = {1.05075007164441684324e-9, 5.47593808499534494600e-4,
                                         1.51986665636164571966e-2, 1.48103976427480074590e-1,
                                         6.89767334985100004550e-1, 1.67638483018380384940e+0,
                                         2.05319162663775882187e+0, 1.0};
    r -= 1.6;
    value = polynomial(c, r) / polynomial(d, r);
  } else {
    constexpr std::array<double, 8> e = {2.01033439929228813265e-7, 2.71155556874348757815e-5,
                                         1.24266094738807843860e-3, 2.65321895265761230930e-2,
                                         2.96560571828504891230e-1, 1.78482653991729133580e+0,
                                         5.46378491116411436990e+0, 6.65790464350110377720e+0};
    constexpr std::array<double, 8> f = {2.04426310338993978564e-15, 1.42151175831644588870e-7,
                                         1.84631831751005468180e-5,  7.86869131145613259100e-4,
                                         1.48753612908506148525e-2,  1.36929880922735805310e-1,
                                         5.99832206555887937690e-1,  1.0};
    r -= 5.0;
    value = polynomial(e, r) / polynomial(f, r);
  }
  return q < 0.0 ? -value : value;
}

std::uint64_t Random::bits() {
  if (unused_ == 0) {
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    block_ = philox4x32_10({low(next_block_), high(next_block_), low(stream_), high(stream_)},
                           {low(seed_), high(seed_)});
    ++next_block_;
    unused_ = 2;
  }
  const std::size_t at = unused_ == 2 ? 0 : 2;
  --unused_;
  return block_[at] | static_cast<std::uint64_t>(block_[at + 1]) << 32;
}

double Random::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

// 52 bits and a half: with 53 the largest value would round to 1.
double Random::uniform_open() { return (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52; }

double Random::normal() { return normal_quantile(uniform_open()); }

std::uint64_t Random::below(std::uint64_t n) {
  if (n == 0) throw InputError("a random integer below 0 does not exist; ask for n >= 1");
  // The lowest 2^64 mod n values would make the small remainders likelier: draw again.
  const std::uint64_t unfair = (0 - n) % n;
  std::uint64_t x = bits();
  while (x < unfair) x = bits();
  return x % n;
}

}  // namespace sharpen
