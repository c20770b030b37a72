// The readers of means and covariances; the first form feed separates the two files.
#include <cmath>
#include <cstdint>
#include <string_view>

#include "check.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/market/moments.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sharpen;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto cut = text.find('\f');
  const std::string_view mean = text.substr(0, cut);
  const std::string_view cov =
      cut == std::string_view::npos ? std::string_view() : text.substr(cut + 1);
  try {
    const market::Moments moments = market::parse_moments_csv(mean, "mean.csv", cov, "cov.csv");
    const Index n = moments.n();
    SHARPEN_FUZZ_CHECK(n >= 1 && moments.mean.size() == moments.tickers.size());
    const ConstMat Sigma = moments.covariance_matrix();
    for (Index i = 0; i < n; ++i) {
      SHARPEN_FUZZ_CHECK(Sigma(i, i) >= 0.0);
      for (Index j = 0; j < n; ++j)
        SHARPEN_FUZZ_CHECK(std::isfinite(Sigma(i, j)) && Sigma(i, j) == Sigma(j, i));
    }
  } catch (const InputError&) {
    return 0;
  }
  return 0;
}
