// Prices of six significant digits, the same on every machine.
#pragma once

namespace sharpen::market {

// The price nearest to `price` that has six significant digits, as the double that its decimal
// text reads back to; kept within [1e-16, 1e16].
double rounded_price(double price);

}  // namespace sharpen::market
