// The tickers that head the columns of a CSV file.
#pragma once

#include <string>
#include <vector>

#include "market/csv.hpp"

namespace sharpen::market {

// Reads the rest of a header line whose first field has been read: at least one ticker, distinct,
// none empty, all plain text. Leaves the cursor at the end of the line.
std::vector<std::string> parse_ticker_row(CsvCursor& cursor);

// Refuses a first field that shows a file separated by semicolons or tabs.
void refuse_other_separators(std::string_view first_field, const Place& place);

// Refuses a ticker at the cursor's place that is empty or not plain text.
void check_ticker(std::string_view ticker, const Place& place);

}  // namespace sharpen::market
