#include "backtest/benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::backtest {

std::vector<double> take_column(market::Panel& returns, const std::string& ticker) {
  const auto found = std::ranges::find(returns.tickers, ticker);
  if (found == returns.tickers.end()) {
    const std::vector<std::string_view> known(returns.tickers.begin(), returns.tickers.end());
    const std::string guess = did_you_mean(ticker, known);
    throw InputError(fmt::format("benchmark = {}: the panel has no such ticker{}",
                                 printable(ticker),
                                 guess.empty() ? "; name one of its columns" : guess));
  }
  if (returns.n() == 1)
    throw InputError(fmt::format(
        "benchmark = {} is the only asset, and nothing would be left to hold", printable(ticker)));
  const Index column = found - returns.tickers.begin();
  const ConstMat all = returns.matrix();
  std::vector<double> benchmark, others;
  for (Index t = 0; t < all.rows; ++t)
    for (Index j = 0; j < all.cols; ++j) (j == column ? benchmark : others).push_back(all(t, j));
  returns.left_out.push_back(ticker);
  returns.tickers.erase(found);
  returns.values = std::move(others);
  return benchmark;
}

std::vector<double> benchmark_over(const Run& run, const std::vector<double>& all,
                                   const std::string& ticker) {
  const auto first = all.begin() + run.first_row;
  std::vector<double> some(first, first + run.periods());
  for (std::size_t t = 0; t < some.size(); ++t)
    if (!std::isfinite(some[t]))
      throw InputError(fmt::format(
          "benchmark = {} has no return on {}; choose another one, or dates where it is complete",
          printable(ticker), run.dates[t]));
  return some;
}

}  // namespace sharpen::backtest
