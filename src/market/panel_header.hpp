// What the first lines of a panel's file say about its layout.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/csv.hpp"

namespace sharpen::market {

struct PanelHeader {
  bool long_layout = false;
  Index width = 0;  // fields of every row
  // Wide: the tickers, and for every field after the date the position of its ticker, or -1 for
  // one that is passed over; empty if all are kept in order.
  std::vector<std::string> tickers = {};
  std::vector<Index> position = {};
  // Long: field numbers from 0.
  Index date = 0, ticker = 0, value = 0;
};

// Reads the header and leaves the cursor at the first row. Headers of two or three lines, prices
// above tickers or below, are those of yfinance.
PanelHeader parse_panel_header(CsvCursor& cursor);

// Whether a header date,TICKERS... would be taken for another layout; "period" never is.
bool is_ambiguous_header(const std::vector<std::string>& tickers);

}  // namespace sharpen::market
