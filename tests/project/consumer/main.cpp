// Two uncorrelated assets of unit variance with expected returns 3 and 4: the best portfolio
// holds both, and its Sharpe ratio is the length of the signal, 5.
#include <array>
#include <cmath>
#include <cstdio>

#include "sharpen/risk/risk.hpp"
#include "sharpen/select/select.hpp"

int main() {
  const std::array<double, 4> Sigma = {1, 0, 0, 1};
  const std::array<double, 2> mu = {3, 4};

  sharpen::risk::RiskSettings risk_settings;
  risk_settings.shrinkage = 0;
  const auto risk =
      sharpen::risk::from_covariance(sharpen::ConstMat(Sigma.data(), 2, 2), risk_settings);

  sharpen::select::SelectSettings settings;
  settings.k = 2;
  sharpen::select::Selector selector(settings, *risk);
  sharpen::select::Portfolio portfolio;
  selector.run(*risk, 0, mu, portfolio);

  std::printf("Sharpe %.12f with %zu assets\n", portfolio.sharpe, portfolio.support.size());
  return portfolio.support.size() == 2 && std::abs(portfolio.sharpe - 5) < 1e-12 ? 0 : 1;
}
