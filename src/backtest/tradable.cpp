// Names that cannot be traded on some dates.
#include "backtest/tradable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::backtest {

namespace {

Index column_in(const market::Panel& tradable, const std::string& file, const std::string& ticker) {
  const auto found = std::ranges::find(tradable.tickers, ticker);
  if (found == tradable.tickers.end())
    throw InputError(fmt::format(
        "{} has no column for ticker {}; add it, with 1 where it can be traded, or leave the asset "
        "out by ‹--tickers›",
        printable(file), printable(ticker)));
  return found - tradable.tickers.begin();
}

}  // namespace

std::vector<char> frozen_names(const market::Panel& tradable, const std::string& file,
                               const market::Panel& returns, Index first) {
  std::vector<Index> columns;
  for (const std::string& ticker : returns.tickers)
    columns.push_back(column_in(tradable, file, ticker));
  std::vector<char> frozen(at(returns.rows() * returns.n()), 0);
  for (Index row = std::max<Index>(0, first); row + 1 < returns.rows(); ++row) {
    const std::string& date = returns.dates[at(row)];
    const auto found = std::ranges::lower_bound(tradable.dates, date);
    if (found == tradable.dates.end() || *found != date)
      throw InputError(fmt::format(
          "{} has no row for {}, at whose end something may be traded; add it, with 1 for names "
          "that can be traded, or choose the periods by ‹--split DATE› and ‹--to DATE›",
          printable(file), date));
    const ConstVec values = tradable.matrix().row(found - tradable.dates.begin());
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const double value = values[at(columns[j])];
      if (value != 0.0 && value != 1.0)
        throw InputError(
            fmt::format("{} has {} for ticker {} on {}; write 1 where it can be traded, 0 where "
                        "not",
                        printable(file), std::isnan(value) ? "no value" : shortest(value),
                        printable(returns.tickers[j]), date));
      frozen[at(row * returns.n()) + j] = value == 0.0;
    }
  }
  return frozen;
}

}  // namespace sharpen::backtest
