// A simulated market whose conditional expected returns are known (docs/simulation.md).
//
// Simple returns of asset i on day t:
//   r_it = m_it + clip(sum_j B_ij f_jt + e_it),   clip to +-0.4
//   f_jt = h_jt eta_jt,   e_it = s_i h_it xi_it   GARCH(1,1) volatilities h, Student-t shocks
//   m_it = predictability s_min (a_i phi(v_it) - b_i phi(u_it)) / 0.77,   phi(x) = 2x/(1 + x^2)
// with u the asset's own last 5 returns and v the 20 before them, each summed and divided by its
// standard deviation: short moves reverse, longer ones go on, and extreme ones say little; quiet
// assets reverse more (a^2 + b^2 = 1, a/b from 1/3 to 3). m has the same size for every asset, so
// against own volatilities s_i from 8 to 40 % a year it is five times as strong in the quietest
// asset as in the loudest. Shocks are symmetric, so
// E(r_it | past) = m_it exactly, and with predictability 0 every expected return is zero.
//
// With a signal life X the last equation is another, whose autocorrelation halves in X days:
//   m_it = -predictability s_min z_it,   z_i(t+1) = d z_it + sqrt(1 - d^2) phi(x_it) / 0.74,
// x = (r - m) / sd(r) the day's surprise and d = 2^(-1/X): every asset gives back, over about X
// days, part of what surprised.
//
// Same settings, same bits, on every machine: only integers and + - * / sqrt are used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sharpen/base/control.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::market {

struct SimulationSettings {
  Index assets = 50;
  Index days = 2500;  // rows of prices; at least 2
  std::uint64_t seed = 0;
  double predictability = 0.15;            // sd of m over the quietest asset's own daily volatility
  std::optional<double> signal_life = {};  // days in which m's autocorrelation halves; none: above
  Index factors = 4;                       // the first is the market
  std::string start_date = "2015-01-01";   // the first row is the first weekday from it on

  static constexpr Index kMostCells = 50'000'000;  // assets x days

  // Throws InputError that names setting, value and bound.
  void validate() const;
};

struct SimulatedMarket {
  Panel prices;  // (days, n), six significant digits
  // (days - 1, n): row t is the expectation, given prices up to row t, of row t of
  // simple_returns(prices).
  std::vector<double> expected_returns;
  std::vector<double> volatilities;  // (n) of the assets' own shocks, per day

  ConstMat expected_matrix() const {
    return {expected_returns.data(), prices.rows() - 1, prices.n()};
  }
};

SimulatedMarket simulate_market(const SimulationSettings& settings, const Stop& stop = {});
// The prices alone.
Panel simulate(const SimulationSettings& settings, const Stop& stop = {});

// The price nearest to `price` that has six significant digits, as the double that its decimal text
// reads back to; kept within [1e-16, 1e16].
double rounded_price(double price);

}  // namespace sharpen::market
