// Moments given directly: a mean and a covariance instead of a history. All readers are strict:
// wrong counts, repeated or missing entries and values that cannot be are InputErrors that say
// FILE:LINE:COLUMN (columns count fields from 1) and the remedy. Whether the covariance is
// positive semidefinite is for the risk model to judge.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::market {

struct Moments {
  std::vector<std::string> tickers;  // (n), distinct
  std::vector<double> mean;          // (n)
  std::vector<double> covariance;    // (n, n), row-major, exactly symmetric

  Index n() const { return static_cast<Index>(tickers.size()); }
  ConstMat covariance_matrix() const { return {covariance.data(), n(), n()}; }
  bool operator==(const Moments&) const = default;
};

// An OR-Library portfolio file, fields separated by blanks:
//   n                 one line
//   mean sd           n lines
//   i j correlation   n (n + 1) / 2 lines: every pair once, diagonal included, i and j from 1
// Sigma_ij = correlation_ij sd_i sd_j; assets are called asset1 .. assetn.
Moments read_orlib(const std::filesystem::path& file);
Moments parse_orlib(std::string_view text, std::string_view name);

// Two CSV files (as in panel.hpp). Mean: one row `ticker,mean` per asset, after an optional
// header such as `asset,mean`. Covariance: a header row of tickers and a first column of
// tickers. Both name the same tickers, in any order; the result has the mean's order.
// Sigma_ij and Sigma_ji may differ by 1e-8 sqrt(Sigma_ii Sigma_jj) and are averaged.
Moments read_moments_csv(const std::filesystem::path& mean_file,
                         const std::filesystem::path& covariance_file);
Moments parse_moments_csv(std::string_view mean_text, std::string_view mean_name,
                          std::string_view covariance_text, std::string_view covariance_name);

}  // namespace sharpen::market
