// The table of settings, put together from the rows of every folder.
#include <array>
#include <stdexcept>

#include "base/settings_rows.hpp"
#include "sharpen/base/settings.hpp"

namespace sharpen::settings {

namespace {

std::string_view placeholder_of(Kind kind) {
  switch (kind) {
    case Kind::integer: return "N";
    case Kind::real: return "X";
    case Kind::choice: return "NAME";
    case Kind::text: return "FILE";
    case Kind::number_or_file: return "X|FILE";
    default: return "";
  }
}

// What a row leaves to its first field, and to its kind.
Setting completed(Setting row) {
  if (row.fields.empty()) {
    row.roles |= steers;
    if (row.kind == Kind::flag) row.preset = "false";
  } else {
    const Field& field = row.fields.front();
    if (row.kind == Kind::of_field) row.kind = field.kind;
    if (row.kind == Kind::choice && row.choices.empty()) row.choices = field.choices;
    if (row.preset.empty() && row.preset_words.empty() && field.initial)
      row.preset = write(row, *field.initial);
  }
  if (row.placeholder.empty()) row.placeholder = placeholder_of(row.kind);
  if (row.is(input_file)) row.shell_only = every_command;
  return row;
}

}  // namespace

Setting row(std::string_view name, std::vector<Field> fields, std::string_view text, Setting more) {
  more.name = name;
  more.fields = std::move(fields);
  more.text = text;
  return more;
}

Setting row(std::string_view name, Field field, std::string_view text, Setting more) {
  return row(name, std::vector{std::move(field)}, text, std::move(more));
}

Setting row(std::string_view name, Kind kind, std::string_view text, Setting more) {
  more.kind = kind;
  return row(name, std::vector<Field>(), text, std::move(more));
}

std::vector<Setting> rows_of(unsigned commands, Group group, std::vector<Setting> rows) {
  for (Setting& row : rows) {
    if (row.commands == every_command) row.commands = commands;
    if (row.group == Group::portfolio) row.group = group;
  }
  return rows;
}

std::span<const Setting> table() {
  static const std::vector<Setting> all = [] {
    std::vector<Setting> rows;
    for (std::vector<Setting> (*const part)() :
         {&panel_rows, &simulation_rows, &portfolio_rows, &statistics_rows, &walk_rows,
          &trading_rows, &running_rows, &learning_rows, &learned_walk_rows, &prediction_rows,
          &study_rows, &merge_rows, &report_rows})
      for (Setting& row : part()) rows.push_back(completed(std::move(row)));
    return rows;
  }();
  return all;
}

std::span<const CommandInfo> commands() {
  static constexpr std::array<CommandInfo, 11> all = {{
      {solve, "solve", "the sparse maximum-Sharpe portfolio of one signal and one covariance",
       "sharpen solve --prices prices.csv -k 10 --lookback 250 --explain"},
      {doctor,
       "doctor",
       "what is wrong with a panel, and what cleaning would do about it",
       "sharpen doctor prices.csv --decide decisions.toml",
       {"prices"}},
      {simulate, "simulate", "a simulated market, written as a file of prices",
       "sharpen simulate --assets 50 --days 2500 --seed 1 --out prices.csv"},
      {backtest, "backtest", "a policy walked forward through a panel, with costs and statistics",
       "sharpen backtest --prices prices.csv -k 10% --cost-bps 5 --out runs/swap"},
      {train, "train", "a network trained to predict returns, or to decide on portfolios",
       "sharpen train --prices prices.csv --framework dfl -k 10% --out model.sharpen"},
      {predict,
       "predict",
       "today's portfolio and the orders to get there, from what is held",
       "sharpen predict --model model.sharpen --prices new.csv --positions now.csv --out-dir next",
       {},
       {},
       backtest},
      {inspect, "inspect", "what a model file holds", "sharpen inspect model.sharpen", {"model"}},
      {compare,
       "compare",
       "whether the Sharpe ratios of two backtests differ by more than chance",
       "sharpen compare runs/swap runs/equal",
       {"first", "second"}},
      {study,
       "study",
       "markets, methods, numbers of names and seeds, all of them, into one file",
       "sharpen study --preset paper --prices nikkei.csv,ftse.csv --out studies/paper",
       {"config"},
       {"market", "method"}},
      {merge,
       "merge",
       "the parts of a study, computed with study --shard, into one file",
       "sharpen merge part1 part2 part3 --out whole",
       {"parts"}},
      {report,
       "report",
       "the tables of a study, and a page with its charts",
       "sharpen report studies/paper --format html --out report.html",
       {"study"}},
  }};
  return all;
}

const Setting& find(std::string_view name) {
  for (const Setting& setting : table())
    if (setting.name == name) return setting;
  throw std::logic_error("there is no setting called " + std::string(name));
}

const Setting* find_for(std::string_view name, Command command) {
  for (const Setting& setting : table())
    if (setting.name == name && setting.taken_by(command)) return &setting;
  return nullptr;
}

}  // namespace sharpen::settings
