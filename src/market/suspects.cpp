#include "sharpen/market/cleaning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>

namespace sharpen::market {

namespace {

constexpr double kPrint = 8.0;            // x10 less an ordinary move on the same day
constexpr std::size_t kPrintRows = 5;     // a week
constexpr double kPrintBack = 0.25;       // of the print, in logarithms
constexpr double kSplitTolerance = 0.03;  // an ordinary move on the day of the split
constexpr double kLargestSplit = 1e4;     // beyond it every number is near an integer
constexpr std::size_t kLevelRows = 10;    // on either side
constexpr double kLevelKept = 0.5;        // of the jump, in logarithms
constexpr double kMarketShare = 0.5;      // of the jump, in logarithms
constexpr double kSurelyJump = 4.0;
constexpr double kJump = 1.8;
constexpr double kUsualMoves = 10.0;
constexpr std::size_t kUsualRows = 30;  // on either side
constexpr double kLeastUsual = 0.005;   // a price that stands still is not calm
constexpr double kRestless = 0.03;      // a usual move, or the market's move that day
constexpr Index kFrozenRows = 10;       // two weeks of closes
constexpr Index kFewAssets = 10;        // fewer can all stand still by chance
constexpr Index kLeastAssets = 3;

double median(std::vector<double>& values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The factor g of one cell, or NaN where there is none: 1 + r, or p(t)/p(t - 1).
double gross_move(const Panel& panel, PanelKind kind, Index t, Index j) {
  const ConstMat values = panel.matrix();
  if (kind == PanelKind::returns) return 1.0 + values(t, j);
  if (kind == PanelKind::gross_returns) return values(t, j);
  if (t == 0 || !(values(t - 1, j) > 0.0)) return std::nan("");
  return values(t, j) / values(t - 1, j);
}

// The median of the other assets' moves on a day, in logarithms.
class Market {
 public:
  Market(const Panel& panel, PanelKind kind) : panel_(panel), kind_(kind) {}

  double median_move(Index t, Index but) {
    if (panel_.n() < kFewAssets) return computed(t, but);
    // One asset among many does not move the median, and a row is looked at once.
    const auto [known, fresh] = of_row_.try_emplace(t, 0.0);
    if (fresh) known->second = computed(t, -1);
    return known->second;
  }

 private:
  double computed(Index t, Index but) {
    moves_.clear();
    for (Index j = 0; j < panel_.n(); ++j) {
      const double g = gross_move(panel_, kind_, t, j);
      if (j != but && g > 0.0 && std::isfinite(g)) moves_.push_back(std::log(g));
    }
    return median(moves_);
  }

  const Panel& panel_;
  PanelKind kind_;
  std::unordered_map<Index, double> of_row_;
  std::vector<double> moves_;
};

// One asset where it has a price: x = log p, or the sum of log(1 + r) from 0 at row -1.
struct Series {
  std::vector<Index> row;
  std::vector<double> x;
  std::vector<char> same;           // exactly the price before
  std::vector<Index> not_positive;  // rows left out

  std::size_t size() const { return row.size(); }
  double move(std::size_t i) const { return x[i] - x[i - 1]; }
  void add(Index t, double value, bool unchanged) {
    row.push_back(t);
    x.push_back(value);
    same.push_back(unchanged ? 1 : 0);
  }
};

Series price_series(const Panel& panel, Index j) {
  Series s;
  double last = std::nan("");
  for (Index t = 0; t < panel.rows(); ++t) {
    const double p = panel.matrix()(t, j);
    if (p <= 0.0) s.not_positive.push_back(t);
    if (!(p > 0.0)) continue;
    s.add(t, std::log(p), p == last);
    last = p;
  }
  return s;
}

Series return_series(const Panel& panel, PanelKind kind, Index j) {
  Series s;
  s.add(-1, 0.0, false);
  for (Index t = 0; t < panel.rows(); ++t) {
    const double g = gross_move(panel, kind, t, j);
    if (g <= 0.0) s.not_positive.push_back(t);
    if (!(g > 0.0)) continue;
    s.add(t, s.x.back() + std::log(g), g == 1.0);
  }
  return s;
}

// The whole number from 2 on that a jump of this size, in logarithms, may stand for: within the
// tolerance, and the roundest of several (98.9 is a split by 100); 0 if there is none.
double split_near(double size) {
  if (size > std::log(kLargestSplit) + kSplitTolerance) return 0.0;
  for (const double step : {1000.0, 100.0, 50.0, 10.0, 5.0, 1.0}) {
    const double whole = step * std::round(std::exp(size) / step);
    if (whole >= 2.0 && std::abs(size - std::log(whole)) <= std::log1p(kSplitTolerance))
      return whole;
  }
  return 0.0;
}

// A finding without its words, of which a column may have as many as it has rows.
struct Suspect {
  Rule rule = Rule::jump;
  Index first = 0, last = 0;  // rows
  double size = 0.0;
  Index ratio = 0;
  std::size_t i = 0;                 // split, jump: where in the series,
  double market = 0.0, usual = 0.0;  // and what moves were usual there
};

class AssetRules {
 public:
  AssetRules(const Panel& panel, PanelKind kind)
      : panel_(panel), kind_(kind), market_(panel, kind) {}

  Series series(Index j) const {
    return kind_ == PanelKind::prices ? price_series(panel_, j) : return_series(panel_, kind_, j);
  }
  // By row.
  std::vector<Suspect> find(const Series& s, Index j);
  Finding in_words(const Suspect& suspect, const Series& s, Index j) const;

 private:
  void find_moves(const Series& s, Index j, std::vector<Suspect>& out);
  // The number of prices of a print that starts at i; 0 if none does.
  std::size_t print_length(const Series& s, std::size_t i) const;
  Index split_ratio(const Series& s, std::size_t i, double market) const;
  bool is_jump(const Series& s, std::size_t i, double market, double usual) const;
  double usual_move(const Series& s, std::size_t i) const;
  static void explain_move(Finding& finding, const Suspect& suspect, const Series& s);

  const Panel& panel_;
  PanelKind kind_;
  Market market_;
};

void find_frozen(const Series& s, std::vector<Suspect>& out) {
  for (std::size_t i = 0; i < s.size(); ++i) {
    const std::size_t first = i;
    while (i < s.size() && s.same[i] != 0) ++i;
    const auto rows = static_cast<Index>(i - first);
    if (rows >= kFrozenRows)
      out.push_back({Rule::frozen, s.row[first], s.row[i - 1], static_cast<double>(rows)});
  }
}

std::vector<Suspect> AssetRules::find(const Series& s, Index j) {
  std::vector<Suspect> out;
  for (const Index t : s.not_positive)
    out.push_back({Rule::nonpositive, t, t, panel_.matrix()(t, j)});
  find_moves(s, j, out);
  find_frozen(s, out);
  std::stable_sort(out.begin(), out.end(),
                   [](const Suspect& a, const Suspect& b) { return a.first < b.first; });
  return out;
}

void AssetRules::find_moves(const Series& s, Index j, std::vector<Suspect>& out) {
  for (std::size_t i = 1; i < s.size(); ++i) {
    const double move = s.move(i);
    if (!(std::abs(move) >= std::log(kJump))) continue;
    if (const std::size_t length = print_length(s, i); length > 0) {
      out.push_back({Rule::print, s.row[i], s.row[i + length - 1], std::exp(move)});
      i += length;
      continue;
    }
    const double market = market_.median_move(s.row[i], j);
    const double usual = usual_move(s, i);
    const Index ratio = split_ratio(s, i, market);
    if (ratio == 0 && !is_jump(s, i, market, usual)) continue;
    out.push_back({ratio > 0 ? Rule::split : Rule::jump, s.row[i], s.row[i], std::exp(move), ratio,
                   i, market, usual});
  }
}

Finding AssetRules::in_words(const Suspect& suspect, const Series& s, Index j) const {
  Finding finding;
  finding.rule = suspect.rule;
  finding.column = j;
  finding.ticker = panel_.tickers[at(j)];
  finding.first_row = suspect.first;
  finding.last_row = suspect.last;
  finding.first_date = panel_.dates[at(suspect.first)];
  finding.last_date = panel_.dates[at(suspect.last)];
  finding.size = suspect.size;
  finding.ratio = suspect.ratio;
  if (suspect.rule == Rule::nonpositive)
    finding.question = kind_ == PanelKind::prices
                           ? "no price is zero or negative: is a value missing?"
                           : "a total loss: is a value missing?";
  else if (suspect.rule == Rule::print)
    finding.question = "a misplaced decimal point or another unit?";
  else if (suspect.rule == Rule::frozen)
    finding.question = "not traded, or not updated?";
  else
    explain_move(finding, suspect, s);
  return finding;
}

std::size_t AssetRules::print_length(const Series& s, std::size_t i) const {
  const double move = s.move(i);
  if (std::abs(move) < std::log(kPrint)) return 0;
  for (std::size_t length = 1; length <= kPrintRows && i + length < s.size(); ++length)
    if (std::abs(s.x[i + length] - s.x[i - 1]) <= kPrintBack * std::abs(move)) return length;
  return 0;
}

Index AssetRules::split_ratio(const Series& s, std::size_t i, double market) const {
  const double move = s.move(i);
  const double size = std::abs(move);
  const double nearest = split_near(size);
  if (nearest == 0.0) return 0;
  const double sign = move < 0.0 ? -1.0 : 1.0;
  if (market * sign >= kMarketShare * size) return 0;
  const auto level = [&](std::size_t first, std::size_t last) {
    std::vector<double> part(s.x.begin() + static_cast<std::ptrdiff_t>(first),
                             s.x.begin() + static_cast<std::ptrdiff_t>(last));
    return median(part);
  };
  const double before = level(i - std::min(i, kLevelRows), i);
  const double after = level(i, std::min(i + kLevelRows, s.size()));
  return (after - before) * sign >= kLevelKept * size ? static_cast<Index>(nearest) : 0;
}

bool AssetRules::is_jump(const Series& s, std::size_t i, double market, double usual) const {
  const double size = std::abs(s.move(i));
  if (size >= std::log(kSurelyJump)) return true;
  const bool shared = market * s.move(i) > 0.0 && std::abs(market) >= kMarketShare * size;
  return !shared && size >= kUsualMoves * usual;
}

// What the asset moves in an ordinary period around this one: the standard deviation that its
// median absolute move would have under a normal law.
double AssetRules::usual_move(const Series& s, std::size_t i) const {
  std::vector<double> moves;
  const std::size_t last = std::min(i + kUsualRows + 1, s.size());
  for (std::size_t k = std::max<std::size_t>(1, i - std::min(i, kUsualRows)); k < last; ++k)
    if (k != i) moves.push_back(std::abs(s.move(k)));
  constexpr double kMedianOfNormal = 0.6745;
  return std::max(kLeastUsual, median(moves) / kMedianOfNormal);
}

void AssetRules::explain_move(Finding& finding, const Suspect& suspect, const Series& s) {
  const auto [i, market, usual] = std::tuple(suspect.i, suspect.market, suspect.usual);
  const bool fell = finding.size < 1.0;
  const double sign = fell ? -1.0 : 1.0;
  if (finding.rule == Rule::split)
    finding.question = fmt::format(
        "a {} split that the prices are not adjusted for?",
        fell ? fmt::format("{}-for-1", finding.ratio) : fmt::format("1-for-{}", finding.ratio));
  else
    finding.question = "a change of level that no whole ratio explains.";
  const std::string real = fell ? "It may be a real crash" : "It may be a real rise";
  std::size_t stale = 0;
  while (stale + 1 < i && s.same[i - 1 - stale] != 0) ++stale;
  if (static_cast<Index>(stale) >= kFrozenRows) {
    finding.question += fmt::format(" {}: the price had stood still for {} rows", real, stale);
  } else if (usual >= kRestless) {
    finding.question += fmt::format(" {}: the asset moves {:.1f} % in an ordinary period around it",
                                    real, 100 * usual);
  } else if (market * sign >= kRestless) {
    finding.question +=
        fmt::format(" {}: the market moves {:.1f} % that day", real, 100 * std::expm1(market));
  } else {
    return;
  }
  finding.may_be_real = true;
}

// Rows on which nearly nobody moves.
class RowRules {
 public:
  explicit RowRules(Index rows) : moved_(at(rows)), change_(at(rows) + 1) {}

  void count(const Series& s, std::span<const Suspect> of_asset) {
    if (s.size() < 2) return;
    count_rows(s.row.front() + 1, s.row.back(), +1);
    for (const Suspect& suspect : of_asset)
      if (suspect.rule == Rule::frozen) count_rows(suspect.first, suspect.last, -1);
    for (std::size_t i = 1; i < s.size(); ++i)
      if (s.same[i] == 0) ++moved_[at(s.row[i])];
  }

  void find(const Panel& panel, const TakeFinding& take) const {
    Index alive = 0;
    for (std::size_t t = 0; t < moved_.size(); ++t) {
      alive += change_[t];
      const Index most = alive >= kFewAssets ? alive / 3 : 0;
      if (alive < kLeastAssets || moved_[t] > most) continue;
      Finding finding;
      finding.rule = Rule::holiday;
      finding.first_row = finding.last_row = static_cast<Index>(t);
      finding.first_date = finding.last_date = panel.dates[t];
      finding.size = static_cast<double>(moved_[t]) / static_cast<double>(alive);
      finding.question = fmt::format("{} of {} assets move: a holiday?", moved_[t], alive);
      take(std::move(finding));
    }
  }

 private:
  void count_rows(Index first, Index last, Index by) {
    change_[at(first)] += by;
    change_[at(last) + 1] -= by;
  }

  std::vector<Index> moved_;
  std::vector<Index> change_;  // of the number of assets that could move, from row to row
};

}  // namespace

void find_suspects(const Panel& raw, PanelKind kind, const TakeFinding& take) {
  AssetRules rules(raw, kind);
  RowRules rows(raw.rows());
  for (Index j = 0; j < raw.n(); ++j) {
    const Series series = rules.series(j);
    const std::vector<Suspect> suspects = rules.find(series, j);
    rows.count(series, suspects);
    for (const Suspect& suspect : suspects) take(rules.in_words(suspect, series, j));
  }
  rows.find(raw, take);
}

}  // namespace sharpen::market
