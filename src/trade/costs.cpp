#include "sharpen/trade/costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/csv.hpp"
#include "base/vec.hpp"
#include "market/asset_table.hpp"
#include "market/file_or_text.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::trade {

namespace {

using market::is_text;

constexpr double kBasisPoint = 1e-4;

// Of an asset, from a date on ("": always).
struct CostLine {
  std::string asset, from, where;
  double rate = 0.0;
};

std::string text_of(const std::string& file) {
  if (is_text(file)) return file;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    throw InputError(fmt::format(
        "cost-bps = {} is neither a number of basis points, such as 5, nor a file that is there: "
        "give one of them",
        printable(file)));
  return std::string(TextFile(file).text());
}

std::vector<CostLine> read_costs(std::string_view text, std::string_view name) {
  const market::AssetTable table = market::read_asset_table(text, name, "asset,bps");
  const Index bps = table.column("bps");
  if (bps < 0 || table.header.size() != (table.date < 0 ? 2 : 3))
    throw InputError(fmt::format(
        "{}:1: the columns of costs are asset, bps and perhaps date: write the header so",
        shown_file(name)));
  std::vector<CostLine> out;
  std::map<std::pair<std::string, std::string>, Index> seen;
  for (const market::TableLine& line : table.lines) {
    const std::optional<double> value = parse_number(line.fields[at(bps)]);
    if (!value) table.fail_number(line, at(bps));
    if (*value < 0.0)
      table.fail(line, fmt::format("the cost of asset {} is negative, {} basis points: write what "
                                   "a trade costs, 0 if nothing",
                                   shown(table.asset_of(line)), shortest(*value)));
    std::string from = table.date_of(line);
    table.refuse_twice(line, from, seen);
    std::string where = table.where(line);
    out.push_back({table.asset_of(line), std::move(from), std::move(where), *value * kBasisPoint});
  }
  std::ranges::stable_sort(out, {}, &CostLine::from);
  return out;
}

std::string name_of_costs(const settings::NumberOrFile& bps) {
  return market::name_of_file(bps.file, "cost-bps");
}

void check_assets(const std::vector<CostLine>& lines, std::span<const std::string> tickers,
                  std::span<const std::string> known) {
  const auto has = [](std::span<const std::string> names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  const std::vector<std::string_view> here(tickers.begin(), tickers.end());
  for (const CostLine& line : lines)
    if (!has(tickers, line.asset) && !has(known, line.asset))
      market::fail_unknown_asset(line.where, line.asset, here);
}

[[noreturn]] void fail_missing(std::string_view name, const std::string& ticker,
                               const std::vector<CostLine>& lines, std::string_view first) {
  const auto own = std::ranges::find(lines, ticker, &CostLine::asset);
  if (own == lines.end())
    throw InputError(fmt::format("{}: asset {} has no line: add one with what its trades cost",
                                 shown_file(name), shown(ticker)));
  throw InputError(
      fmt::format("{}: asset {} has no cost on {}, the first is of {}: add an earlier line",
                  own->where, shown(ticker), first, own->from));
}

}  // namespace

CostBook::CostBook(const settings::NumberOrFile& bps, std::span<const std::string> tickers,
                   std::span<const std::string> known, std::string_view first)
    : n_(std::ssize(tickers)) {
  if (bps.file.empty()) {
    settings::check("cost-bps", bps.number);
    from_.emplace_back();
    one_ = bps.number * kBasisPoint;
    rates_.assign(tickers.size(), *one_);
    return;
  }
  const std::string name = name_of_costs(bps);
  const std::vector<CostLine> lines = read_costs(text_of(bps.file), name);
  check_assets(lines, tickers, known);
  std::map<std::string_view, std::size_t> columns;
  for (std::size_t i = 0; i < tickers.size(); ++i) columns.emplace(tickers[i], i);

  // One row per date that rates change on.
  std::vector<double> rates(tickers.size(), kNaN);
  for (std::size_t l = 0; l < lines.size(); ++l) {
    const CostLine& line = lines[l];
    const auto column = columns.find(line.asset);
    if (column != columns.end())
      rates[column->second] = line.rate;
    else
      others_.push_back({line.asset, line.from, line.rate});
    if (l + 1 < lines.size() && lines[l + 1].from == line.from) continue;
    from_.push_back(line.from);
    rates_.insert(rates_.end(), rates.begin(), rates.end());
  }
  first_ = row_of(first);
  const bool none = from_.empty() || (!first.empty() && from_.front() > first);
  for (std::size_t i = 0; i < tickers.size(); ++i)
    if (none || std::isnan(rates_[sharpen::at(first_ * n_) + i]))
      fail_missing(name, tickers[i], lines, first);
  // Every asset has a rate by now: before its first one, that one stands for it.
  for (std::size_t i = rates_.size(); i-- > 0;)
    if (std::isnan(rates_[i])) rates_[i] = rates_[i + tickers.size()];
}

Index CostBook::row_of(std::string_view date) const {
  const auto after = date.empty() ? from_.end() : std::ranges::upper_bound(from_, date);
  return after == from_.begin() ? 0 : after - from_.begin() - 1;
}

ConstVec CostBook::at(std::string_view date) const {
  return ConstVec(rates_).subspan(sharpen::at(row_of(date) * n_), sharpen::at(n_));
}

std::optional<double> CostBook::of_other(std::string_view asset, std::string_view date) const {
  std::optional<double> out = one_;
  for (const OtherRate& other : others_)
    if (other.asset == asset && (date.empty() || other.from <= date)) out = other.rate;
  return out;
}

bool CostBook::any() const {
  return std::ranges::any_of(ConstVec(rates_).subspan(sharpen::at(first_ * n_)),
                             [](double rate) { return rate > 0.0; });
}

double CostBook::mean_bps(std::span<const std::string> dates) const {
  if (n_ == 0 || dates.empty()) return 0.0;
  std::vector<double> days(from_.size());
  for (const std::string& date : dates) days[sharpen::at(row_of(date))] += 1.0;
  double total = 0.0;
  for (std::size_t row = 0; row < days.size(); ++row)
    total += days[row] * sum(ConstVec(rates_).subspan(row * sharpen::at(n_), sharpen::at(n_)));
  const double count = static_cast<double>(dates.size()) * static_cast<double>(n_);
  constexpr double kNineDecimals = 1e9;
  return std::round(total / count / kBasisPoint * kNineDecimals) / kNineDecimals;
}

settings::NumberOrFile with_contents(const settings::NumberOrFile& bps) {
  if (bps.file.empty() || is_text(bps.file)) return bps;
  std::string text = text_of(bps.file);
  static_cast<void>(read_costs(text, bps.file));
  if (!is_text(text)) text += '\n';
  return {.number = 0.0, .file = std::move(text)};
}

}  // namespace sharpen::trade
