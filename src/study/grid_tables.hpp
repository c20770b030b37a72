// Markets and methods: the [[market]] and [[method]] tables of a study's configuration file, and
// those of presets.
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

// The studies that are described already (docs/study.md): the paper's seven methods, and ours
// beside them; the same, with networks and trainings small enough to be looked at within a minute;
// one method per alpha, "0.5", of which 0 is prediction only; and a simulated market.
std::vector<MethodGrid> paper_methods();
std::vector<MethodGrid> demo_methods();
std::vector<MethodGrid> alpha_methods(const std::vector<std::string>& alphas);
MarketGrid demo_market();

// The name of a market that has none: its file's, without folder and endings.
std::string market_name(const std::string& file);

}  // namespace sharpen::study
