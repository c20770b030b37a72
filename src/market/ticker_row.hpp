// The tickers that head the columns of a CSV file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/csv.hpp"

namespace sharpen::market {

// All fields of the line at the cursor, which is left at the end of the line; more than
// CsvCursor::kMostColumns beside the first are refused.
std::vector<std::string> parse_fields(CsvCursor& cursor);

// The tickers of a header line, given its fields: all but the first. At least one, distinct, none
// empty, all plain text.
std::vector<std::string> checked_tickers(std::span<const std::string> fields,
                                         const FilePosition& line);

// Refuses a first field that shows a file separated by tabs.
void refuse_tabs(std::string_view first_field, const FilePosition& position);

// Refuses a ticker at this position that is empty or not plain text.
void check_ticker(std::string_view ticker, const FilePosition& position);

}  // namespace sharpen::market
