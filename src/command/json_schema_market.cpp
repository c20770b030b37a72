#include "sharpen/command/json_schema.hpp"

namespace sharpen::command::json_schema {

Section doctor_section() {
  return Section{
      .command = "doctor",
      .parts = {
          Part{.keys =
                   {
                       {"`schema_version`", "1"},
                       {"`command`", "`doctor`"},
                       {"`file`", "the panel's file"},
                       {"`kind`", "`prices`, `returns` or `gross returns`"},
                       {"`assets`, `rows`",
                        "size of the panel, after `--from`, `--to` and `--tickers`"},
                       {"`from`, `to`", "its first and last date"},
                       {"`complete_assets`", "assets without a missing cell"},
                       {"`missing_cells`", "cells without a value"},
                       {"`suspects`", "number of findings that are suspects"},
                       {"`decided_with_hindsight`",
                        "`true`: cleaning looks at the whole panel at once"},
                       {"`findings`",
                        "what was found: by asset, in the order of the columns, then rows of the "
                        "whole panel"},
                       {"`findings[].rule`",
                        "suspects: `nonpositive`, `print`, `split`, `jump`, `frozen`, `holiday`; "
                        "missing values: `gap`, `starts`, `ends`, `no-value` "
                        "([cleaning.md](cleaning.md))"},
                       {"`findings[].suspect`",
                        "whether `--on-suspect` handles it; else `--universe` and `--max-gap` do"},
                       {"`findings[].ticker`", "the asset; `null` for a row of the whole panel"},
                       {"`findings[].date`, `findings[].last_date`",
                        "first and last date; the same for one row"},
                       {"`findings[].size`",
                        "`print`, `split`, `jump`: the price divided by the one before; "
                        "`nonpositive`: the value; `holiday`: the share of assets that move; "
                        "`frozen` and missing values: the number of rows"},
                       {"`findings[].ratio`",
                        "`split`: the whole ratio m, of prices divided (`size` < 1) or multiplied "
                        "by it; else `null`"},
                       {"`findings[].may_be_real`",
                        "whether the asset or the market was restless around that row, so that it "
                        "may be a real move"},
                       {"`findings[].question`",
                        "what a suspect may be, in words; `null` for missing values"},
                       {"`findings[].done`", "what was done about it"},
                       {"`findings[].modes`",
                        "only for suspects: what each `--on-suspect` would do, in words"},
                       {"`findings[].modes.report`, `findings[].modes.adjust`, "
                        "`findings[].modes.drop-asset`, `findings[].modes.drop-day`, "
                        "`findings[].modes.error`",
                        "one text for each"},
                       {"`universe`, `max_gap`, `on_suspect`", "the settings used"},
                       {"`cleaned.assets`, `cleaned.rows`", "size of the cleaned panel"},
                       {"`cleaned.from`, `cleaned.to`",
                        "its first and last date; `null` if it has no rows"},
                       {"`cleaned.dropped`", "assets left out, in the order of the columns"},
                       {"`cleaned.dropped[].ticker`, `cleaned.dropped[].reason`", "which, and why"},
                       {"`cleaned.dropped_days`", "dates left out"},
                       {"`out`", "the file the cleaned panel was written to; `null` if none"},
                       {"`warnings`", "texts; empty if there is nothing to say"},
                   }},
      }};
}

Section simulate_section() {
  return Section{
      .command = "simulate",
      .parts = {
          Part{.text = "Needs `--out`: without it the prices themselves go to standard output."},
          Part{.keys =
                   {
                       {"`schema_version`", "1"},
                       {"`command`", "`simulate`"},
                       {"`out`", "the file written"},
                       {"`assets`, `days`", "its size"},
                       {"`from`, `to`", "its first and last date"},
                       {"`seed`, `predictability`, `factors`",
                        "the settings used ([simulation.md](simulation.md))"},
                       {"`warnings`", "texts; empty if there is nothing to say"},
                   }},
      }};
}

}  // namespace sharpen::command::json_schema
