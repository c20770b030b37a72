// Every key of every --json answer, and what it means: the one place that docs/json.md is written
// from. Tests hold the answers against it, in both directions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sharpen::command::json_schema {

// `a`, `b.c[].d`: one or several keys of one meaning, as Markdown.
struct Key {
  std::string_view keys, meaning;
};

// A paragraph, or a table of keys.
struct Part {
  std::string_view text = {};
  std::vector<Key> keys = {};
};

struct Section {
  std::string_view command;  // "solve"
  std::vector<Part> parts;
};

Section solve_section();
Section doctor_section();
Section simulate_section();
Section backtest_section();
Section study_section();
Section compare_section();
Section train_section();
Section predict_section();
Section inspect_section();
Section report_section();
Section version_section();

// docs/json.md.
std::string markdown();

}  // namespace sharpen::command::json_schema
