// Every machine must compute the same bits here, so multiplications and additions must not be
// fused where a CPU could: contraction is off for this file, whatever the build asks for.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#include "sharpen/market/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <chrono>
#include <cmath>
#include <numeric>

#include "market/calendar.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/random.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/base/text.hpp"

#if defined(__FAST_MATH__)
#error "the simulated market must have the same bits everywhere: build without -ffast-math"
#endif
static_assert(FLT_EVAL_METHOD == 0, "doubles must be evaluated as doubles");

namespace sharpen::market {

namespace {

// Powers of ten that are exact doubles.
constexpr std::array<double, 23> kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int kDigits = 6;
constexpr int kMostScale = 22;

double shifted(double price, int scale) {
  return scale >= 0 ? price * kPowers[at(scale)] : price / kPowers[at(-scale)];
}

double within_bounds(double price) { return price < 1e-16 ? 1e-16 : price > 1e16 ? 1e16 : price; }

// The model's constants. Volatilities are per day; 1/252 and its root are rounded once, here.
constexpr double kRootYear = 15.874507866387544;  // sqrt(252)
constexpr double kQuietest = 0.08 / kRootYear;    // own shocks, the quietest asset
constexpr double kLoudness = 5.0;                 // the loudest has this many times as much
constexpr double kMarket = 0.13 / kRootYear;      // the market factor
constexpr double kStyle = 0.06 / kRootYear;       // each other factor, at loading 1
constexpr double kFactorArch = 0.09, kFactorGarch = 0.88;
constexpr double kOwnArch = 0.09, kOwnGarch = 0.87;
constexpr int kDegrees = 5;         // of Student's t
constexpr double kMostShock = 0.4;  // of a day's return
constexpr double kMostVariance = 9.0;
constexpr Index kShort = 5, kLong = 20;
constexpr Index kBurnIn = 250;
constexpr double kPhiSize = 0.77;  // sd of phi(x) for normal x
constexpr double kDaySize = 0.74;  // and for x a day's surprise, whose tails are fatter

// Streams of the seed: factors, then assets' parameters, then assets' shocks.
constexpr std::uint64_t kParameters = 1ull << 32, kShocks = 2ull << 32;

// Student's t with unit variance: a normal over the root of a chi-square / kDegrees.
double student(Random& random) {
  const double z = random.normal();
  double chi_square = 0.0;
  for (int i = 0; i < kDegrees; ++i) {
    const double x = random.normal();
    chi_square += x * x;
  }
  constexpr double degrees = kDegrees;
  return z / std::sqrt(chi_square / degrees) * std::sqrt((degrees - 2.0) / degrees);
}

// A series of shocks of unit unconditional variance: h_t^2 = (1 - a - b) + (a x_(t-1)^2 + b)
// h_(t-1)^2.
class Garch {
 public:
  Garch(std::uint64_t seed, std::uint64_t stream, double arch, double garch)
      : random_(seed, stream), arch_(arch), garch_(garch) {}

  double next() {
    const double shock = std::sqrt(variance_) * student(random_);
    variance_ = (1.0 - arch_ - garch_) + arch_ * (shock * shock) + garch_ * variance_;
    if (variance_ > kMostVariance) variance_ = kMostVariance;
    return shock;
  }

 private:
  Random random_;
  double arch_, garch_;
  double variance_ = 1.0;
};

double clip(double shock) {
  return shock > kMostShock ? kMostShock : shock < -kMostShock ? -kMostShock : shock;
}

double phi(double x) { return 2.0 * x / (1.0 + x * x); }

// One asset: what it loads on, its own shocks, and the returns it remembers.
struct Asset {
  double own = 0.0;                    // daily volatility of its own shocks
  double total = 0.0;                  // of the whole return
  double trend = 0.0, reversal = 0.0;  // weights of phi(v) and -phi(u), squares adding up to 1
  std::vector<double> loadings = {};
  Garch shocks;
  std::array<double, at(kShort + kLong)> recent = {};  // ring of returns
  std::size_t oldest = 0;
  double state = 0.0;  // z, with a signal life
  double price = 0.0, first_price = 0.0;

  void remember(double r) {
    recent[oldest] = r;
    oldest = (oldest + 1) % recent.size();
  }

  // trend phi(v) - reversal phi(u), summed afresh every day: running sums would gather rounding
  // errors.
  double signal() const {
    double longer = 0.0, latest = 0.0;
    for (std::size_t i = 0; i < recent.size(); ++i) {
      const double r = recent[(oldest + i) % recent.size()];
      (i < at(kLong) ? longer : latest) += r;
    }
    const double u = latest / (total * std::sqrt(static_cast<double>(kShort)));
    const double v = longer / (total * std::sqrt(static_cast<double>(kLong)));
    return trend * phi(v) - reversal * phi(u);
  }
};

// 2^(-1/life) by the bits of 1/life: a power of the C library would differ between machines.
double decay_of(double life) {
  double exponent = 1.0 / life, root = 0.5, out = 1.0;
  if (!(exponent < 1100.0)) return 0.0;
  for (; exponent >= 1.0; exponent -= 1.0) out *= 0.5;
  while (exponent > 0.0) {
    exponent *= 2.0;
    root = std::sqrt(root);
    if (exponent < 1.0) continue;
    out *= root;
    exponent -= 1.0;
  }
  return out;
}

// Loudness 0..1 of each asset: evenly spaced, in random order.
std::vector<double> loudness(const SimulationSettings& settings) {
  const auto n = at(settings.assets);
  std::vector<std::size_t> rank(n);
  std::iota(rank.begin(), rank.end(), std::size_t{0});
  Random(settings.seed, kParameters - 1).shuffle(std::span(rank));
  std::vector<double> out(n, 0.5);
  if (n > 1)
    for (std::size_t i = 0; i < n; ++i)
      out[i] = static_cast<double>(rank[i]) / static_cast<double>(n - 1);
  return out;
}

Asset make_asset(const SimulationSettings& settings, Index i, double loudness) {
  const auto number = static_cast<std::uint64_t>(i);
  Random random(settings.seed, kParameters + number);
  Asset asset{.shocks = Garch(settings.seed, kShocks + number, kOwnArch, kOwnGarch)};
  // Many quiet assets and few loud ones.
  asset.own = kQuietest * (1.0 + (kLoudness - 1.0) * (loudness * loudness));
  const double trend = 0.5 + loudness, reversal = 1.5 - loudness;
  const double length = std::sqrt(trend * trend + reversal * reversal);
  asset.trend = trend / length;
  asset.reversal = reversal / length;
  double variance = asset.own * asset.own;
  for (Index j = 0; j < settings.factors; ++j) {
    const double loading = j == 0 ? (0.5 + 0.7 * loudness + 0.4 * random.uniform()) * kMarket
                                  : (0.5 + loudness) * random.normal() * kStyle;
    asset.loadings.push_back(loading);
    variance += loading * loading;
  }
  asset.total = std::sqrt(variance);
  asset.price = asset.first_price = rounded_price(20.0 + 180.0 * random.uniform());
  if (settings.signal_life) asset.state = random.normal();
  return asset;
}

std::vector<Asset> make_assets(const SimulationSettings& settings) {
  const std::vector<double> levels = loudness(settings);
  std::vector<Asset> assets;
  assets.reserve(levels.size());
  for (Index i = 0; i < settings.assets; ++i)
    assets.push_back(make_asset(settings, i, levels[at(i)]));
  return assets;
}

std::vector<std::string> weekdays(const std::string& start, Index count) {
  using namespace std::chrono;
  const ParsedDate parsed = parse_date(start);
  const auto part = [&](std::size_t first, std::size_t size) {
    return std::stoi(parsed.iso.substr(first, size));
  };
  sys_days day = year(part(0, 4)) / month(static_cast<unsigned>(part(5, 2))) /
                 std::chrono::day(static_cast<unsigned>(part(8, 2)));
  std::vector<std::string> dates;
  dates.reserve(at(count));
  const sys_days last = 9999y / December / 31;
  for (; static_cast<Index>(dates.size()) < count; day += days{1}) {
    if (day > last)
      throw InputError(
          fmt::format("‹start-date› = {} with days = {} goes beyond the year 9999; start earlier",
                      start, count));
    if (const weekday wd(day); wd == Saturday || wd == Sunday) continue;
    const year_month_day date(day);
    dates.push_back(fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                                static_cast<unsigned>(date.month()),
                                static_cast<unsigned>(date.day())));
  }
  return dates;
}

std::vector<std::string> tickers(Index n) {
  const std::size_t width = std::max<std::size_t>(3, std::to_string(n).size());
  std::vector<std::string> out;
  for (Index i = 1; i <= n; ++i) out.push_back(fmt::format("S{:0{}}", i, width));
  return out;
}

// Day by day: factors first, then every asset.
class Simulation {
 public:
  explicit Simulation(const SimulationSettings& settings)
      : assets_(make_assets(settings)),
        lives_(settings.signal_life.has_value()),
        decay_(lives_ ? decay_of(*settings.signal_life) : 0.0),
        fresh_(std::sqrt(1.0 - decay_ * decay_) / kDaySize),
        size_(settings.predictability * kQuietest / (lives_ ? 1.0 : kPhiSize)) {
    for (Index j = 0; j < settings.factors; ++j)
      factors_.emplace_back(settings.seed, static_cast<std::uint64_t>(j), kFactorArch,
                            kFactorGarch);
  }

  // Writes the day's expected returns and what the prices become.
  void step(std::span<double> expected, std::span<double> prices) {
    shocks_.clear();
    for (Garch& factor : factors_) shocks_.push_back(factor.next());
    for (std::size_t i = 0; i < assets_.size(); ++i) {
      Asset& asset = assets_[i];
      double shock = asset.own * asset.shocks.next();
      for (std::size_t j = 0; j < shocks_.size(); ++j) shock += asset.loadings[j] * shocks_[j];
      expected[i] = size_ == 0.0 ? 0.0 : size_ * (lives_ ? -asset.state : asset.signal());
      const double before = asset.price;
      asset.price = rounded_price(before * (1.0 + (expected[i] + clip(shock))));
      const double r = asset.price / before - 1.0;
      asset.remember(r);
      asset.state = decay_ * asset.state + fresh_ * phi((r - expected[i]) / asset.total);
      prices[i] = asset.price;
    }
  }

  // History from before the first row, which starts every price again.
  void warm_up(const Stop& stop) {
    std::vector<double> ignored(assets_.size());
    for (Index t = 0; t < kBurnIn; ++t) {
      ask(stop);
      step(ignored, ignored);
      for (Asset& asset : assets_) asset.price = asset.first_price;
    }
  }

  const std::vector<Asset>& assets() const { return assets_; }

 private:
  std::vector<Asset> assets_;
  std::vector<Garch> factors_;
  std::vector<double> shocks_;
  bool lives_;  // whether the signal has a life of its own
  double decay_, fresh_;
  double size_;  // sd of the expected returns
};

// The prices; what is known beside them goes to `market` if there is one.
Panel run(const SimulationSettings& settings, SimulatedMarket* market, const Stop& stop) {
  settings.validate();
  const auto n = at(settings.assets);
  const auto days = at(settings.days);
  Panel prices{weekdays(settings.start_date, settings.days), tickers(settings.assets), {}};
  prices.values.resize(days * n);
  std::vector<double> unkept(n);
  if (market != nullptr) market->expected_returns.resize((days - 1) * n);
  Simulation simulation(settings);
  simulation.warm_up(stop);
  for (std::size_t i = 0; i < n; ++i) {
    prices.values[i] = simulation.assets()[i].price;
    if (market != nullptr) market->volatilities.push_back(simulation.assets()[i].own);
  }
  for (std::size_t t = 1; t < days; ++t) {
    ask(stop);
    simulation.step(market == nullptr ? std::span(unkept)
                                      : std::span(market->expected_returns).subspan((t - 1) * n, n),
                    std::span(prices.values).subspan(t * n, n));
  }
  return prices;
}

}  // namespace

double rounded_price(double price) {
  price = within_bounds(price);
  int scale = kDigits - 1;  // price = digits 10^-scale with six digits before the point
  while (scale < kMostScale && shifted(price, scale) < 1e5) ++scale;
  while (scale > -kMostScale && shifted(price, scale) >= 1e6) --scale;
  const auto digits = static_cast<std::int64_t>(shifted(price, scale) + 0.5);
  // Both are exact doubles, so one rounding gives the double that the text reads back to.
  return shifted(static_cast<double>(digits), -scale);
}

void SimulationSettings::validate() const {
  settings::check(*this);
  if (assets * days > kMostCells)
    throw InputError(fmt::format(
        "assets = {} and days = {} make {} prices, more than {}; ask for fewer of either", assets,
        days, assets * days, kMostCells));
  const ParsedDate date = parse_date(start_date);
  if (date.format == DateFormat::none || date.iso.size() != 10)
    throw InputError(fmt::format("‹start-date› = {} {}; give YYYY-MM-DD", printable(start_date),
                                 date.fault.empty() ? "has no day" : date.fault));
}

SimulatedMarket simulate_market(const SimulationSettings& settings, const Stop& stop) {
  SimulatedMarket market;
  market.prices = run(settings, &market, stop);
  return market;
}

Panel simulate(const SimulationSettings& settings, const Stop& stop) {
  return run(settings, nullptr, stop);
}

}  // namespace sharpen::market
