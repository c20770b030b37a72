// Costs of trading by asset and date.
#pragma once

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
  // long as the book.
  ConstVec at(std::string_view date) const;
  bool any() const;         // whether anything costs
  double mean_bps() const;  // over assets and dates

 private:
  Index n_ = 0;
  std::vector<std::string> from_;  // ascending dates that rates change on; the first counts before
  std::vector<double> rates_;      // (dates, n)
};

// One rate for all in the place of a file: the mean of the first of every asset. Throws InputError
// for a file that cannot be read.
double mean_bps(const settings::NumberOrFile& bps);

// What a file says, as the text that stands for it; a number as it is.
settings::NumberOrFile with_contents(const settings::NumberOrFile& bps);

}  // namespace sharpen::trade
