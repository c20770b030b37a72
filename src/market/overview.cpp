// What choices cost: rows and names that each way to handle suspects leaves, and the dates that
// keep most assets.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "market/cleaner.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::market {

namespace {

// Rows over which an asset has values, but for gaps that are carried.
struct Stretch {
  Index first = 0, last = 0;
};

std::vector<Stretch> stretches(const Panel& raw, const CleaningSettings& settings) {
  const Index n = raw.n(), gap = settings.max_gap;
  std::vector<Stretch> out;
  std::vector<Stretch> open(at(n), {0, -1});
  const auto close = [&](const Stretch& s) {
    if (s.last < s.first) return;
    out.push_back({std::max<Index>(0, s.first - gap), std::min(raw.rows() - 1, s.last + gap)});
  };
  for (Index t = 0; t < raw.rows(); ++t)
    for (Index j = 0; j < n; ++j) {
      const double value = raw.matrix()(t, j);
      if (std::isnan(value) || (settings.kind == PanelKind::prices && value <= 0.0)) continue;
      Stretch& s = open[at(j)];
      if (s.last >= s.first && t - s.last - 1 > gap) close(s);
      if (s.last < s.first || t - s.last - 1 > gap) s.first = t;
      s.last = t;
    }
  for (const Stretch& s : open) close(s);
  return out;
}

// At most a few hundred of them, evenly.
std::vector<Index> candidates(std::vector<Index> all) {
  constexpr std::size_t kMost = 400;
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() <= kMost) return all;
  std::vector<Index> out;
  for (std::size_t i = 0; i < kMost; ++i) out.push_back(all[i * (all.size() - 1) / (kMost - 1)]);
  return out;
}

class Ranges {
 public:
  Ranges(const Panel& raw, const CleaningSettings& settings) : raw_(raw) {
    const std::vector<Stretch> all = stretches(raw, settings);
    std::vector<Index> firsts = {0}, lasts = {raw.rows() - 1};
    for (const Stretch& s : all) {
      firsts.push_back(s.first);
      lasts.push_back(s.last);
    }
    firsts_ = candidates(std::move(firsts));
    lasts_ = candidates(std::move(lasts));
    // Names that have begun by firsts_[a] and go on to lasts_[b]: sums over both sides.
    count_.assign(firsts_.size() * lasts_.size(), 0);
    for (const Stretch& s : all) {
      const auto a = std::ranges::lower_bound(firsts_, s.first);
      const auto b = std::ranges::upper_bound(lasts_, s.last);
      if (a != firsts_.end() && b != lasts_.begin())
        ++count(a - firsts_.begin(), b - lasts_.begin() - 1);
    }
    for (Index a = 0; a < rows(); ++a)
      for (Index b = cols() - 1; b >= 0; --b) {
        if (a > 0) count(a, b) += count(a - 1, b);
        if (b + 1 < cols()) count(a, b) += count(a, b + 1);
        if (a > 0 && b + 1 < cols()) count(a, b) -= count(a - 1, b + 1);
      }
  }

  DateRange all() { return range(0, cols() - 1); }

  // The best of those with at least so many rows, by `worth`.
  template <class Worth>
  DateRange best(Index least_rows, const Worth& worth) {
    DateRange out = all();
    for (Index a = 0; a < rows(); ++a)
      for (Index b = 0; b < cols(); ++b) {
        const Index length = lasts_[at(b)] - firsts_[at(a)] + 1;
        if (length < std::max<Index>(2, least_rows)) continue;
        if (worth(count(a, b), length) > worth(out.names, out.rows)) out = range(a, b);
      }
    return out;
  }

 private:
  Index rows() const { return static_cast<Index>(firsts_.size()); }
  Index cols() const { return static_cast<Index>(lasts_.size()); }
  Index& count(Index a, Index b) { return count_[at(a * cols() + b)]; }
  DateRange range(Index a, Index b) {
    const Index first = firsts_[at(a)], last = lasts_[at(b)];
    return {raw_.dates[at(first)], raw_.dates[at(last)], count(a, b), last - first + 1};
  }

  const Panel& raw_;
  std::vector<Index> firsts_, lasts_;
  std::vector<Index> count_;  // (firsts, lasts)
};

std::vector<DateRange> date_ranges(const Panel& raw, const CleaningSettings& settings) {
  if (raw.rows() < 2) return {};
  Ranges ranges(raw, settings);
  std::vector<DateRange> out = {ranges.all()};
  const auto add = [&](DateRange found) {
    if (found.names > out.back().names) out.push_back(std::move(found));
  };
  add(ranges.best(0, [](Index names, Index rows) {
    return static_cast<double>(names) * static_cast<double>(rows);
  }));
  const double whole = static_cast<double>(raw.rows());
  add(ranges.best((raw.rows() + 1) / 2, [&](Index names, Index rows) {
    return static_cast<double>(names) + 0.5 * static_cast<double>(rows) / whole;
  }));
  return out;
}

std::string percent_words(double percent) { return fmt::format("{:.1f} %", percent); }

// "jump 12, frozen 3": of suspects that are handled so.
std::string kinds_handled(const Cleaned& cleaned, OnSuspect how) {
  std::string out;
  for (std::size_t rule = 0; rule < kSuspectRules; ++rule)
    if (const Index count = cleaned.found[rule].handled[static_cast<std::size_t>(how)]; count > 0)
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name(static_cast<Rule>(rule)), count);
  return out.empty() ? "" : fmt::format(" ({})", out);
}

}  // namespace

Examined examine(const Panel& raw, const CleaningSettings& settings, const Decisions& decisions) {
  settings.validate();
  const Evidence evidence = find_suspects(raw, settings.kind);
  Examined out;
  out.cleaned = Cleaner(raw, evidence, settings, decisions).run();
  CleaningSettings other = settings;
  const auto add = [&](const SuspectRules& rules) {
    other.on_suspect = rules;
    const auto [names, rows] = Cleaner(raw, evidence, other, decisions).count();
    out.choices.push_back({name(rules), names, rows});
  };
  if (!evidence.marks.empty() || out.cleaned.suspects() > 0) {
    add({});
    for (std::size_t i = 0; i < names(OnSuspect()).size(); ++i)
      if (const auto way = static_cast<OnSuspect>(i); way != OnSuspect::error) add(way);
  }
  out.ranges = date_ranges(raw, settings);
  return out;
}

double Cleaned::lost_rows() const {
  const auto lost = static_cast<double>(dropped_days.size());
  const double all = lost + static_cast<double>(panel.rows());
  return all > 0.0 ? 100.0 * lost / all : 0.0;
}

double Cleaned::lost_names() const {
  const auto lost = static_cast<double>(std::ranges::count(dropped, true, &Dropped::by_choice));
  const double all = lost + static_cast<double>(panel.n());
  return all > 0.0 ? 100.0 * lost / all : 0.0;
}

void refuse_nonpositive(const Cleaned& cleaned, const CleaningSettings& settings) {
  if (settings.kind != PanelKind::prices) return;
  const ConstMat prices = cleaned.panel.matrix();
  for (Index t = 0; t < prices.rows; ++t)
    for (Index j = 0; j < prices.cols; ++j)
      if (prices(t, j) <= 0.0)
        throw InputError(fmt::format(
            "the price {} of ticker {} on {} is not positive and has no return; correct it, or {}",
            shortest(prices(t, j)), shortened(cleaned.panel.tickers[at(j)]),
            cleaned.panel.dates[at(t)],
            cleaned.keeps_nonpositive.empty()
                ? "give ‹--on-suspect adjust›, drop-asset or drop-day"
                : fmt::format("change the decision at {}, which keeps it, to missing, halt, "
                              "drop-asset or drop-day",
                              cleaned.keeps_nonpositive)));
}

void refuse_loss(const Cleaned& cleaned, const CleaningSettings& settings) {
  const double allowed = settings.allow_loss.percent;
  const auto refuse = [&](double lost, const std::string& what, OnSuspect how) {
    throw InputError(fmt::format(
        "cleaning would take out {}, {}{}, and ‹--allow-loss› allows {}%: choose another "
        "‹--on-suspect› or decision (‹sharpen doctor› shows what each leaves), or give "
        "‹--allow-loss {:.0f}%›",
        what, percent_words(lost), kinds_handled(cleaned, how), shortest(allowed),
        std::ceil(lost)));
  };
  const auto days = static_cast<Index>(cleaned.dropped_days.size());
  // A single day is no policy, however short the panel.
  if (days > 1 && cleaned.lost_rows() > allowed)
    refuse(cleaned.lost_rows(), fmt::format("{} of {} rows", days, days + cleaned.panel.rows()),
           OnSuspect::drop_day);
  if (cleaned.lost_names() > allowed) {
    const auto lost = std::ranges::count(cleaned.dropped, true, &Dropped::by_choice);
    refuse(cleaned.lost_names(),
           fmt::format("{} of {} names that the universe keeps", lost, lost + cleaned.panel.n()),
           OnSuspect::drop_asset);
  }
}

}  // namespace sharpen::market
