#include "sharpen/market/standstills.hpp"

namespace sharpen::market {

std::vector<Standstill> standstills(const Halts& halts, const Panel& panel) {
  std::vector<Standstill> out;
  out.reserve(halts.runs.size());
  for (const Halt& halt : halts.runs)
    out.push_back(
        {panel.tickers[at(halt.asset)], panel.dates[at(halt.first)], panel.dates[at(halt.last)]});
  return out;
}

}  // namespace sharpen::market
