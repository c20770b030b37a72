// Moments of real markets, full sample, no shrinkage, for answers that are known.
#pragma once

#include <Eigen/Core>
#include <filesystem>
#include <optional>
#include <string>

#include "sharpen/market/moments.hpp"
#include "sharpen/market/panel.hpp"
#include "support/files.hpp"
#include "support/problems.hpp"

namespace sharpen::testing {

struct Moments {
  Eigen::MatrixXd Sigma;
  Eigen::VectorXd mu;
};

// nullopt where the file is absent.
inline std::optional<Moments> real_moments(const std::string& name) {
  if (name.starts_with("port")) {
    const auto file = std::filesystem::path(data_folder()) / (name + ".txt");
    if (!std::filesystem::exists(file)) return std::nullopt;
    const market::Moments moments = market::read_orlib(file);
    const Index n = moments.n();
    return Moments{Eigen::Map<const Eigen::MatrixXd>(moments.covariance.data(), n, n),
                   Eigen::Map<const Eigen::VectorXd>(moments.mean.data(), n)};
  }
  const auto file = std::filesystem::path(data_folder()) / (name + "_monthly_gross.csv");
  if (!std::filesystem::exists(file)) return std::nullopt;
  constexpr auto kind = market::PanelKind::gross_returns;
  const market::Panel panel = market::simple_returns(market::read_panel(file, kind), kind);
  const Eigen::Map<const RowMatrix> returns(panel.values.data(), panel.rows(), panel.n());
  return Moments{naive_covariance(returns, 0.0), returns.colwise().mean()};
}

}  // namespace sharpen::testing
