#include "sharpen/command/json_schema.hpp"

namespace sharpen::command::json_schema {

Section study_section() {
  return Section{
      .command = "study",
      .parts = {
          Part{.keys =
                   {
                       {"`schema_version`", "1"},
                       {"`command`", "`study`"},
                       {"`action`", "`run`, `dry-run` or `list`"},
                       {"`db`", "the study's file"},
                       {"`cells`", "cells of the study"},
                       {"`done`, `failed`, `missing`", "how many of them are"},
                       {"`name`",
                        "of `run` and `list`: the preset, or the file that describes the study"},
                       {"`computed`", "of `run`: cells that this run has done or seen fail"},
                       {"`trainings`",
                        "of `run`: trainings of this run; of `dry-run`: trainings to do"},
                       {"`interrupted`", "of `run`: whether it was stopped before its end"},
                       {"`seconds`", "of `run`: what it took"},
                       {"`failures`", "of `run`: the failed cells, as in `list`"},
                       {"`minutes`, `gigabytes`",
                        "of `dry-run`: what is left would take about so much"},
                       {"`threads`", "of `dry-run`: on so many threads"},
                       {"`warnings`",
                        "of `run` and `dry-run`: texts on settings and markets; empty if there is "
                        "nothing to say"},
                       {"`list`", "of `list`: the cells"},
                       {"`list[].market`, `list[].method`", "names"},
                       {"`list[].framework`, `list[].optimizer`", "of the method"},
                       {"`list[].k_given`, `list[].k`", "as it was given (`10%`), and in names"},
                       {"`list[].seed`", "`null` where nothing is random"},
                       {"`list[].state`", "`done`, `failed` or `missing`"},
                       {"`list[].reason`", "of failed cells"},
                       {"`list[].seconds`",
                        "of done and failed cells: of its own work, without the training"},
                   }},
      }};
}

Section report_section() {
  return Section{
      .command = "report",
      .parts = {
          Part{.text = "The figures of every table, as the CSV format has them "
                       "([report.md](report.md))."},
          Part{
              .keys =
                  {
                      {"`schema_version`", "1"},
                      {"`command`", "`report`"},
                      {"`study`", "the file read"},
                      {"`name`", "of the study"},
                      {"`format`", "`html`, `text`, `md`, `latex` or `csv`: of the file written"},
                      {"`out`",
                       "the file written; `null` if none was, because neither `--out` nor "
                       "`--format html` was given"},
                      {"`bytes`", "its size; `null` without a file"},
                      {"`cells`", "cells planned"},
                      {"`done`, `failed`, `missing`", "how many of them are"},
                      {"`findings`", "sentences on what stands out"},
                      {"`tables`", "the tables that have rows, or those asked for by `--table`"},
                      {"`tables[].name`", "`sharpe`, `drawdown`, ..."},
                      {"`tables[].title`", "its title"},
                      {"`tables[].notes`", "its footnotes"},
                      {"`tables[].figures`", "one entry per figure"},
                      {"`tables[].figures[].market`", "name of the market"},
                      {"`tables[].figures[].assets`", "assets in it"},
                      {"`tables[].figures[].k`", "most names held"},
                      {"`tables[].figures[].k_given`", "k as the study gave it: `10%`, or a count"},
                      {"`tables[].figures[].method`",
                       "name of the method; `null` where the figure is of no single one"},
                      {"`tables[].figures[].against`",
                       "`significance` and `planned`: name of the method that `method` is tested "
                       "against; else `null`"},
                      {"`tables[].figures[].seed`", "of a single run; else `null`"},
                      {"`tables[].figures[].item`",
                       "`warnings`: 1, 2, ... of the warnings of a market, or of a method in a "
                       "row; else `null`"},
                      {"`tables[].figures[].figure`",
                       "what it is: `sharpe_annualized`, `p_value`, ...; where methods trade at "
                       "several costs, the test of each cost has its own: `p_value_at_5bp`"},
                      {"`tables[].figures[].value`",
                       "number; for estimates the mean over the runs"},
                      {"`tables[].figures[].text`",
                       "instead of `value`, for words; a method is meant by its name"},
                      {"`tables[].figures[].sd`",
                       "estimates only: standard deviation over the runs; `null` for one run"},
                      {"`tables[].figures[].runs`", "estimates only: runs that have the figure"},
                      {"`tables[].figures[].planned`", "estimates only: runs planned"},
                      {"`tables[].figures[].best`",
                       "estimates only: whether it is the best of the methods compared in its row"},
                      {"`tables[].figures[].best_of_all`",
                       "estimates only: whether it is of a method shown apart, and better than all "
                       "of those"},
                      {"`tables[].figures[].ruin`",
                       "estimates only: whether one of the runs ended in ruin"},
                      {"`warnings`", "texts; empty if there is nothing to say"},
                  }},
      }};
}

}  // namespace sharpen::command::json_schema
