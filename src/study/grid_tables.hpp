// The [[market]] and [[method]] tables of a study's configuration file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sharpen/study/grid.hpp"

namespace sharpen::study {

struct Tables {
  std::vector<MarketGrid> markets;
  std::vector<MethodGrid> methods;
};

// Throws InputError with the line of the first mistake.
Tables read_tables(std::string_view toml, std::string_view file_name);

// The tables as TOML that reads back to them.
std::string tables_toml(const Tables& tables);

// A study has no place for the file of a signal, and so no error offers what needs one, unless that
// was asked for: then another says why.
void offer_no_files(settings::Setting& framework, std::string_view asked);

// Called "historic-oscar" and "Historic OSCAR".
MethodGrid plain_method(std::string_view framework, std::string_view optimizer, Role role,
                        std::string_view training);

// The name of a market that has none: its file's, without folder and endings.
std::string market_name(const std::string& file);

}  // namespace sharpen::study
