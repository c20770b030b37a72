#include "sharpen/trade/account.hpp"

#include <algorithm>
#include <cmath>

namespace sharpen::trade {

namespace {

double earned(double r) { return std::isfinite(r) ? r : 0.0; }

}  // namespace

Account::Account(Index n) : held_(at(n)) {}

Period Account::live(ConstVec target, ConstVec returns, const Rates& rates) {
  Period out;
  double invested = 0.0, sold_short = 0.0;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const double traded = std::abs(target[i] - held_[i]);
    out.turnover += traded;
    if (!rates.trading.empty()) out.costs.trading += rates.trading[i] * traded;
    if (target[i] == 0.0) continue;
    invested += target[i];
    sold_short += std::max(0.0, -target[i]);
    out.gross += target[i] * earned(returns[i]);
  }
  out.gross += (1.0 - invested) * rates.risk_free;
  out.costs.short_fee = rates.short_fee * sold_short;
  out.costs.financing = rates.financing * std::max(0.0, invested - 1.0);

  const double growth = 1.0 + out.net();
  out.ruined = !(growth > 0.0);
  for (std::size_t i = 0; i < held_.size(); ++i)
    held_[i] =
        out.ruined || target[i] == 0.0 ? 0.0 : target[i] * (1.0 + earned(returns[i])) / growth;
  return out;
}

}  // namespace sharpen::trade
