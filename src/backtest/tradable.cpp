// Names that cannot be traded on some dates.
#include "backtest/tradable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "market/file_or_text.hpp"
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

std::vector<Index> columns_in(const market::Panel& tradable, const std::string& file,
                              const market::Panel& returns) {
  std::vector<Index> columns;
  for (const std::string& ticker : returns.tickers)
    columns.push_back(column_in(tradable, file, ticker));
  return columns;
}

void freeze_row(const market::Panel& tradable, const std::string& file,
                const market::Panel& returns, std::span<const Index> columns, Index row,
                std::span<char> out) {
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
          fmt::format("{} has {} for ticker {} on {}; write 1 where it can be traded, 0 where not",
                      printable(file), std::isnan(value) ? "no value" : shortest(value),
                      printable(returns.tickers[j]), date));
    out[j] = value == 0.0;
  }
}

market::Panel read_tradable(const std::string& file) {
  const market::FileOrText content(file, "tradable");
  return market::parse_panel(content.text(), market::name_of_file(file, "tradable"),
                             market::PanelKind::prices, market::Cells::raw);
}

}  // namespace

std::vector<char> frozen_names(const market::Panel& tradable, const std::string& file,
                               const market::Panel& returns, Index first) {
  const std::vector<Index> columns = columns_in(tradable, file, returns);
  std::vector<char> frozen(at(returns.rows() * returns.n()), 0);
  for (Index row = std::max<Index>(0, first); row + 1 < returns.rows(); ++row)
    freeze_row(tradable, file, returns, columns, row,
               std::span(frozen).subspan(at(row * returns.n()), at(returns.n())));
  return frozen;
}

std::vector<char> frozen_at(const std::string& file, const market::Panel& returns, Index row) {
  const market::Panel tradable = read_tradable(file);
  const std::string name = market::name_of_file(file, "tradable");
  std::vector<char> frozen(at(returns.n()), 0);
  freeze_row(tradable, name, returns, columns_in(tradable, name, returns), row, frozen);
  return frozen;
}

std::vector<char> frozen_others(const std::string& file, std::span<const std::string> assets,
                                const std::string& date) {
  const market::Panel tradable = read_tradable(file);
  market::Panel known{{date}, {}, {}, {}};
  for (const std::string& asset : assets)
    if (std::ranges::find(tradable.tickers, asset) != tradable.tickers.end())
      known.tickers.push_back(asset);
  const std::string name = market::name_of_file(file, "tradable");
  std::vector<char> frozen(known.tickers.size(), 0), out;
  freeze_row(tradable, name, known, columns_in(tradable, name, known), 0, frozen);
  for (const std::string& asset : assets) {
    const auto found = std::ranges::find(known.tickers, asset);
    out.push_back(found == known.tickers.end() ? 0 : frozen[at(found - known.tickers.begin())]);
  }
  return out;
}

std::vector<char> frozen_names(const BacktestSettings& settings, const market::Panel& returns,
                               Index first) {
  std::vector<char> frozen;
  if (const std::string& file = settings.account.tradable; !file.empty()) {
    frozen =
        frozen_names(read_tradable(file), market::name_of_file(file, "tradable"), returns, first);
  }
  std::unordered_map<std::string_view, Index> columns;
  for (Index j = 0; j < returns.n(); ++j) columns.emplace(returns.tickers[at(j)], j);
  for (const market::Standstill& still : settings.standstills) {
    const auto column = columns.find(still.ticker);
    if (column == columns.end()) continue;
    frozen.resize(at(returns.rows() * returns.n()), 0);
    const auto from = std::ranges::lower_bound(returns.dates, still.first);
    const auto to = std::ranges::upper_bound(returns.dates, still.last);
    for (auto date = from; date < to; ++date)
      frozen[at((date - returns.dates.begin()) * returns.n() + column->second)] = 1;
  }
  return frozen;
}

}  // namespace sharpen::backtest
