// Rows of the table of settings about portfolios for the next period and how to get there.
#include "base/settings_prediction.hpp"

namespace sharpen::settings {

void append_prediction_rows(std::vector<Setting>& table) {
  const std::vector<Setting> rows = {
      {.name = "asof",
       .kind = Kind::text,
       .text = "the day the portfolio is for: rows after it are not used",
       .placeholder = "DATE",
       .preset_words = "today",
       .commands = predict,
       .group = Group::window},
      {.name = "max-age",
       .kind = Kind::integer,
       .text = "most days from the last row to today, or to --asof; an older file is refused",
       .placeholder = "DAYS",
       .preset_words = "any, with a warning",
       .bounds = {.low = 0, .high = 1e6},
       .commands = predict,
       .group = Group::window},
      {.name = "previous",
       .kind = Kind::text,
       .text = "weights held now, from which trades are counted: CSV asset,weight",
       .placeholder = "FILE",
       .preset_words = "all cash",
       .commands = predict,
       .group = Group::trading},
      {.name = "capital",
       .kind = Kind::real,
       .text = "size of the account, to count shares by the last prices",
       .placeholder = "X",
       .bounds = {.low = 0, .above = true},
       .commands = predict,
       .group = Group::trading},
      {.name = "lot",
       .kind = Kind::integer,
       .text = "shares are counted in multiples of this, with --capital",
       .placeholder = "N",
       .preset = "1",
       .bounds = {.low = 1, .high = 1e9},
       .commands = predict,
       .group = Group::trading},
      {.name = "trades",
       .kind = Kind::text,
       .text = "file to write the trades to: CSV asset,from,to,trade",
       .placeholder = "FILE",
       .commands = predict,
       .group = Group::running},
      {.name = "require-ok",
       .kind = Kind::flag,
       .text = "exit with 1, and write no file, unless the status is ok",
       .preset = "false",
       .commands = predict,
       .group = Group::running},
  };
  table.insert(table.end(), rows.begin(), rows.end());
}

}  // namespace sharpen::settings
