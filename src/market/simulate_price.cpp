// Contraction is off for this file: see simulate.cpp.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#include "market/simulate_price.hpp"

#include <array>
#include <cstdint>

namespace sharpen::market {

namespace {

// Powers of ten that are exact doubles.
constexpr std::array<double, 23> kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int kDigits = 6;
constexpr int kMostScale = 22;

double shifted(double price, int scale) {
  return scale >= 0 ? price * kPowers[static_cast<std::size_t>(scale)]
                    : price / kPowers[static_cast<std::size_t>(-scale)];
}

double within_bounds(double price) { return price < 1e-16 ? 1e-16 : price > 1e16 ? 1e16 : price; }

}  // namespace

double rounded_price(double price) {
  price = within_bounds(price);
  int scale = kDigits - 1;  // price = digits 10^-scale with six digits before the point
  while (scale < kMostScale && shifted(price, scale) < 1e5) ++scale;
  while (scale > -kMostScale && shifted(price, scale) >= 1e6) --scale;
  const auto digits = static_cast<std::int64_t>(shifted(price, scale) + 0.5);
  // Both are exact doubles, so one rounding gives the double that the text reads back to.
  return shifted(static_cast<double>(digits), -scale);
}

}  // namespace sharpen::market
