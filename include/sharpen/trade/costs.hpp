// Costs of trading by asset and date.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/settings.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen::trade {

// One rate for all, or a file `asset,bps` or `date,asset,bps`, whose lines count from their date
// on until the next one of their asset.
class CostBook {
 public:
  // Throws InputError for a file that cannot be read, a rate that is negative or no number, an
  // asset twice on one date, one that is neither in `tickers` nor in `known` (assets that were left
  // out), and a ticker without a rate at or before `first` ("": at all); with file, line and
  // remedy. The file may also be its text: anything with a line break.
  CostBook(const settings::NumberOrFile& bps, std::span<const std::string> tickers,
           std::span<const std::string> known, std::string_view first);

  // (n) per unit traded, 5e-4 for 5 basis points, as of a date ("": the last there is); valid as
  // long as the book. An asset's first rate also stands for the days before it.
  ConstVec at(std::string_view date) const;
  // Of an asset that is none of the tickers; nothing if a file has no rate of it then.
  std::optional<double> of_other(std::string_view asset, std::string_view date) const;
  bool any() const;  // whether anything costs, from `first` on
  // In basis points, over the assets and these dates; to nine decimals, so that rates of 5 mean 5.
  double mean_bps(std::span<const std::string> dates) const;

 private:
  Index row_of(std::string_view date) const;

  struct OtherRate {
    std::string asset, from;
    double rate = 0.0;
  };
  std::optional<double> one_;      // the rate of all
  Index n_ = 0, first_ = 0;        // first_: the row in force on `first`
  std::vector<std::string> from_;  // ascending dates that rates change on
  std::vector<double> rates_;      // (dates, n)
  std::vector<OtherRate> others_;  // by ascending dates
};

// What a file says, as the text that stands for it; a number as it is. Throws InputError for a file
// that cannot be read or is no table of costs.
settings::NumberOrFile with_contents(const settings::NumberOrFile& bps);

}  // namespace sharpen::trade
