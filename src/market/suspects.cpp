#include "market/suspects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
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

class AssetRules {
 public:
  AssetRules(const Panel& panel, PanelKind kind)
      : panel_(panel), kind_(kind), market_(panel, kind) {}

  Series series(Index j) const {
    return kind_ == PanelKind::prices ? price_series(panel_, j) : return_series(panel_, kind_, j);
  }
  void find(const Series& s, Index j, std::vector<Mark>& out);

 private:
  void find_not_positive(const Series& s, Index j, std::vector<Mark>& out) const;
  void find_moves(const Series& s, Index j, std::vector<Mark>& out);
  // The number of prices of a print that starts at i; 0 if none does.
  std::size_t print_length(const Series& s, std::size_t i) const;
  Index split_ratio(const Series& s, std::size_t i, double market) const;
  bool is_jump(const Series& s, std::size_t i, double market, double usual) const;
  double usual_move(const Series& s, std::size_t i) const;
  bool is_fresh(const Series& s, std::size_t i) const;

  const Panel& panel_;
  PanelKind kind_;
  Market market_;
};

std::int32_t short_index(Index i) { return static_cast<std::int32_t>(i); }

Mark mark_of(Rule rule, Index column, Index first, Index last, double size) {
  return {.rule = rule,
          .column = short_index(column),
          .first = short_index(first),
          .last = short_index(last),
          .size = size};
}

void find_frozen(const Series& s, Index j, std::vector<Mark>& out) {
  for (std::size_t i = 0; i < s.size(); ++i) {
    const std::size_t first = i;
    while (i < s.size() && s.same[i] != 0) ++i;
    const auto rows = static_cast<Index>(i - first);
    if (rows >= kFrozenRows)
      out.push_back(
          mark_of(Rule::frozen, j, s.row[first], s.row[i - 1], static_cast<double>(rows)));
  }
}

// Rows in a row are one suspect.
void AssetRules::find_not_positive(const Series& s, Index j, std::vector<Mark>& out) const {
  for (std::size_t i = 0; i < s.not_positive.size();) {
    const std::size_t first = i;
    do ++i;
    while (i < s.not_positive.size() && s.not_positive[i] == s.not_positive[i - 1] + 1);
    const Index t = s.not_positive[first];
    out.push_back(mark_of(Rule::nonpositive, j, t, s.not_positive[i - 1], panel_.matrix()(t, j)));
  }
}

void AssetRules::find(const Series& s, Index j, std::vector<Mark>& out) {
  const auto begin = static_cast<std::ptrdiff_t>(out.size());
  find_not_positive(s, j, out);
  find_moves(s, j, out);
  find_frozen(s, j, out);
  std::stable_sort(out.begin() + begin, out.end(),
                   [](const Mark& a, const Mark& b) { return a.first < b.first; });
}

// Rows just before price i without a change, or without a price.
Index silent_rows(const Series& s, std::size_t i) {
  Index silent = s.row[i] - s.row[i - 1] - 1;
  for (std::size_t k = i - 1; k > 0 && s.same[k] != 0; --k) silent += s.row[k] - s.row[k - 1];
  return silent;
}

void AssetRules::find_moves(const Series& s, Index j, std::vector<Mark>& out) {
  for (std::size_t i = 1; i < s.size(); ++i) {
    const double move = s.move(i);
    if (!(std::abs(move) >= std::log(kJump))) continue;
    if (const std::size_t length = print_length(s, i); length > 0) {
      out.push_back(mark_of(Rule::print, j, s.row[i], s.row[i + length - 1], std::exp(move)));
      i += length;
      continue;
    }
    const double market = market_.median_move(s.row[i], j);
    const double usual = usual_move(s, i);
    const Index ratio = split_ratio(s, i, market);
    if (ratio == 0 && !is_jump(s, i, market, usual)) continue;
    Mark mark =
        mark_of(ratio > 0 ? Rule::split : Rule::jump, j, s.row[i], s.row[i], std::exp(move));
    mark.ratio = short_index(ratio);
    mark.silent = short_index(silent_rows(s, i));
    mark.market = market;
    mark.usual = usual;
    mark.fresh = is_fresh(s, i);
    out.push_back(mark);
  }
}

std::size_t AssetRules::print_length(const Series& s, std::size_t i) const {
  const double move = s.move(i);
  if (std::abs(move) < std::log(kPrint)) return 0;
  for (std::size_t length = 1; length <= kPrintRows && i + length < s.size(); ++length)
    if (std::abs(s.x[i + length] - s.x[i - 1]) <= kPrintBack * std::abs(move)) return length;
  return 0;
}

// A print may last kPrintRows prices: as long as fewer follow, nobody can tell it from a split. An
// asset that has ended before the panel does will not come back.
bool AssetRules::is_fresh(const Series& s, std::size_t i) const {
  const auto silent = static_cast<std::size_t>(panel_.rows() - 1 - s.row.back());
  return s.size() - 1 - i < kPrintRows && silent < kPrintRows;
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

// A halt that ends in a jump is news: a merger, a spin-off, a split. What moves without one, in
// restless times, may be the market.
void explain_move(Finding& finding, const Mark& mark) {
  const bool fell = finding.size < 1.0;
  if (finding.rule == Rule::split)
    finding.question = fmt::format(
        "a {} split that the prices are not adjusted for?",
        fell ? fmt::format("{}-for-1", finding.ratio) : fmt::format("1-for-{}", finding.ratio));
  else
    finding.question = "a change of level that no whole ratio explains.";
  finding.is_no_return = is_no_return(mark);
  if (mark.silent >= kFrozenRows)
    finding.question += fmt::format(
        " A corporate action is more likely than a move of the market: for {} rows before there "
        "was "
        "no change",
        mark.silent);
  if (mark.fresh)
    finding.question +=
        fmt::format(" Whether the price comes back is not known before {} rows follow", kPrintRows);
  finding.fresh = mark.fresh;
  finding.may_be_real = may_be_real(mark);
  if (!finding.may_be_real) return;
  finding.question += fell ? " It may be a real crash: " : " It may be a real rise: ";
  finding.question +=
      mark.usual >= kRestless
          ? fmt::format("the asset moves {:.1f} % in an ordinary period around it",
                        100 * mark.usual)
          : fmt::format("the market moves {:.1f} % that day", 100 * std::expm1(mark.market));
}

}  // namespace

Movements::Movements(Index rows, Index n)
    : rows_(rows), words_((rows + 63) / 64), moved_(at(words_ * n), 0) {}

void Movements::add_asset(Index j, Index first, Index last) {
  alive_.push_back({j, first + 1, last});
}

void Movements::add_move(Index t, Index j) {
  moved_[at(j * words_ + t / 64)] |= std::uint64_t{1} << (t % 64);
}

std::vector<Mark> Movements::holidays(const std::vector<char>& keep) const {
  std::vector<Index> moved(at(rows_), 0), change(at(rows_) + 1, 0);
  const auto count = [&](const Span& span, Index by) {
    if (keep[at(span.asset)] == 0) return;
    change[at(span.first)] += by;
    change[at(span.last) + 1] -= by;
  };
  for (const Span& span : still_) count(span, -1);
  for (const Span& span : alive_) {
    count(span, +1);
    if (keep[at(span.asset)] == 0) continue;
    for (Index w = 0; w < words_; ++w)
      for (std::uint64_t bits = moved_[at(span.asset * words_ + w)]; bits != 0; bits &= bits - 1)
        ++moved[at(64 * w + std::countr_zero(bits))];
  }
  std::vector<Mark> out;
  Index alive = 0;
  for (Index t = 0; t < rows_; ++t) {
    alive += change[at(t)];
    const Index most = alive >= kFewAssets ? alive / 3 : 0;
    if (alive < kLeastAssets || moved[at(t)] > most) continue;
    Mark mark = mark_of(Rule::holiday, -1, t, t,
                        static_cast<double>(moved[at(t)]) / static_cast<double>(alive));
    mark.ratio = short_index(alive);
    out.push_back(mark);
  }
  return out;
}

bool may_be_real(const Mark& mark) {
  if ((mark.rule != Rule::split && mark.rule != Rule::jump) || mark.silent >= kFrozenRows)
    return false;
  return mark.usual >= kRestless || mark.market * (mark.size < 1.0 ? -1.0 : 1.0) >= kRestless;
}

bool is_no_return(const Mark& mark) {
  return mark.rule == Rule::split || std::abs(std::log(mark.size)) >= std::log(kPrint);
}

Finding in_words(const Mark& mark, const Panel& raw, PanelKind kind) {
  Finding finding;
  finding.rule = mark.rule;
  finding.column = mark.column;
  if (mark.column >= 0) finding.ticker = raw.tickers[at(mark.column)];
  finding.first_row = mark.first;
  finding.last_row = mark.last;
  finding.first_date = raw.dates[at(mark.first)];
  finding.last_date = raw.dates[at(mark.last)];
  finding.size = mark.size;
  finding.silent = mark.silent;
  if (mark.rule == Rule::nonpositive) {
    finding.question = kind == PanelKind::prices
                           ? "no price is zero or negative: is a value missing?"
                           : "a total loss: is a value missing?";
  } else if (mark.rule == Rule::print) {
    finding.question = "a misplaced decimal point or another unit?";
  } else if (mark.rule == Rule::frozen) {
    finding.question = "not traded, or not updated?";
  } else if (mark.rule == Rule::holiday) {
    const auto alive = Movements::alive_of(mark);
    finding.question = fmt::format("{:.0f} of {} assets move: a holiday?",
                                   mark.size * static_cast<double>(alive), alive);
  } else {
    finding.ratio = mark.ratio;
    explain_move(finding, mark);
  }
  return finding;
}

Evidence find_suspects(const Panel& raw, PanelKind kind) {
  Evidence out{{}, Movements(raw.rows(), raw.n())};
  AssetRules rules(raw, kind);
  for (Index j = 0; j < raw.n(); ++j) {
    const Series series = rules.series(j);
    const std::size_t before = out.marks.size();
    rules.find(series, j, out.marks);
    if (series.size() < 2) continue;
    out.moves.add_asset(j, series.row.front(), series.row.back());
    for (std::size_t i = before; i < out.marks.size(); ++i)
      if (out.marks[i].rule == Rule::frozen)
        out.moves.add_still(j, out.marks[i].first, out.marks[i].last);
    for (std::size_t i = 1; i < series.size(); ++i) {
      const bool in_frozen = series.same[i] != 0 && series.same[i - 1] != 0;
      if (!in_frozen && series.row[i] - series.row[i - 1] > kFrozenRows)
        out.moves.add_still(j, series.row[i - 1] + 1, series.row[i] - 1);
      if (series.same[i] == 0) out.moves.add_move(series.row[i], j);
    }
  }
  return out;
}

}  // namespace sharpen::market
