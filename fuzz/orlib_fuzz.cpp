// The OR-Library reader: any bytes give moments that keep their promises, or an InputError.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "check.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/market/moments.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sharpen;
  try {
    const market::Moments moments =
        market::parse_orlib({reinterpret_cast<const char*>(data), size}, "fuzz.txt");
    const Index n = moments.n();
    SHARPEN_FUZZ_CHECK(n >= 1 && moments.mean.size() == moments.tickers.size());
    const ConstMat Sigma = moments.covariance_matrix();
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j)
        SHARPEN_FUZZ_CHECK(std::isfinite(Sigma(i, j)) && Sigma(i, j) == Sigma(j, i));
  } catch (const InputError&) {
    return 0;
  }
  return 0;
}
