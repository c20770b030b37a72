#include "sharpen/command/json_schema.hpp"

namespace sharpen::command::json_schema {

Section train_section() {
  return Section{
      .command = "train",
      .parts = {
          Part{.keys =
                   {
                       {"`schema_version`", "1"},
                       {"`command`", "`train`"},
                       {"`out`", "the model file"},
                       {"`framework`", "`pfl` or `dfl`"},
                       {"`preset`", "`default` or `paper`"},
                       {"`n`, `k`", "assets, and most names to hold"},
                       {"`alpha`", "weight of the decision loss; 0 for `pfl`"},
                       {"`network`, `parameters`",
                        "`joint` or `shared`, and the parameters of one member"},
                       {"`from`, `to`", "first and last date of the returns, validation included"},
                       {"`samples`, `validation_samples`", "samples that train, and that validate"},
                       {"`validation_from`",
                        "date of the first validated period; null without validation"},
                       {"`members`", "one object per member"},
                       {"`members[].epochs`, `members[].best_epoch`",
                        "epochs run, and the one that was kept"},
                       {"`members[].validation_loss`",
                        "decision loss of the kept epoch; null without validation"},
                       {"`members[].validation_sharpe`, `members[].validation_sharpe_annualized`",
                        "likewise; they chose the epoch, and flatter"},
                       {"`seed`", "as given"},
                       {"`seconds`", "time taken"},
                       {"`warnings`", "list of texts"},
                   }},
          Part{.text = "With `--dry-run`: `schema_version`, `command`, `dry_run` (true), "
                       "`samples`, `validation_samples`,\n`batches_per_epoch`, `parameters`, "
                       "`members`, `epochs_at_most`, `minutes_at_most`, `gigabytes`,\n`warnings`."},
      }};
}

Section predict_section() {
  return Section{
      .command = "predict",
      .parts = {
          Part{.text =
                   "What the answer means: [predict.md](predict.md). With `--require-ok` and "
                   "another status the answer\nis printed all the same, and the exit code is 1."},
          Part{
              .keys =
                  {
                      {"`schema_version`", "1"},
                      {"`command`", "`predict`"},
                      {"`model`", "the model's file"},
                      {"`date`",
                       "last row of the panel that was used; the portfolio is for the period after "
                       "it"},
                      {"`age_days`",
                       "days from there to today, or to `--asof`; `null` where rows have no dates"},
                      {"`status`, `status_text`", "as for `sharpen solve`"},
                      {"`sharpe`, `sharpe_annualized`",
                       "Sharpe ratio that the model expects of the weights, per period and × "
                       "√`periods_per_year`; 0 for cash"},
                      {"`full_sharpe`, `full_sharpe_annualized`",
                       "the same without a bound on the number of names"},
                      {"`share_of_full`",
                       "`sharpe` / `full_sharpe`; `null` where there is none to keep"},
                      {"`gross_exposure`, `net_exposure`", "Σ\\|wᵢ\\| and Σwᵢ"},
                      {"`expected_return`", "μᵀw per period"},
                      {"`volatility`, `volatility_annualized`", "√(wᵀΣw) per period, and a year"},
                      {"`cardinality`", "number of names held"},
                      {"`k`, `n`", "most names that could be held, and the model's assets"},
                      {"`optimizer`, `sizing`, `net`, `form`, `shrinkage`, `jitter`, "
                       "`neutral_first`, `periods_per_year`",
                       "as for `sharpen solve`"},
                      {"`window.from`, `window.to`, `window.rows`", "the returns the model saw"},
                      {"`trained_to`", "last date the model was trained on"},
                      {"`members`", "number of networks in the model"},
                      {"`agreement`",
                       "risk of the mean of the members' unit-risk directions: 1 if they say the "
                       "same, about 1/√`members` if they have nothing in common; 0 if none has a "
                       "direction"},
                      {"`holdings`", "the names held, in the order of the model; empty for cash"},
                      {"`holdings[].asset`, `holdings[].index`, `holdings[].weight`",
                       "ticker, place in the model, weight"},
                      {"`holdings[].held_by`",
                       "share of the members whose own portfolio, with the same settings, holds "
                       "the name"},
                      {"`holdings[].member_mean`, `holdings[].member_sd`",
                       "mean and standard deviation of the members' own weights; `member_sd` is "
                       "`null` for one member"},
                      {"`held_by_members_only`",
                       "names that some member would hold and the portfolio does not, with the "
                       "same keys but no `weight`"},
                      {"`held_by_members_only[].asset`, `held_by_members_only[].index`, "
                       "`held_by_members_only[].held_by`, `held_by_members_only[].member_mean`, "
                       "`held_by_members_only[].member_sd`",
                       "as for `holdings`"},
                      {"`previous`", "file of the weights held now; `null` for all cash"},
                      {"`turnover`", "Σ\\|trade\\|"},
                      {"`trades`",
                       "the names whose weight changes: those wanted, in the order of the model, "
                       "then those only held now"},
                      {"`trades[].asset`, `trades[].from`, `trades[].to`, `trades[].trade`",
                       "weight held, weight wanted, their difference"},
                      {"`warnings`", "texts; empty if there is nothing to say"},
                  }},
          Part{
              .text =
                  "With `--explain` there are also `holdings[].mu`, `holdings[].score`, "
                  "`holdings[].score_rank`,\n`holdings[].risk_contribution`, "
                  "`holdings[].sharpe_lost_if_removed`, `best_left_out`,\n`best_left_out.asset`, "
                  "`best_left_out.index` and `best_left_out.sharpe_gain`, as for `sharpen solve`."},
          Part{.text = "With `--capital` there is also:"},
          Part{
              .keys =
                  {
                      {"`capital`, `lot`", "as given"},
                      {"`cash`", "`capital` less the value of the shares wanted; shorts add to it"},
                      {"`holdings[].price`", "last price"},
                      {"`holdings[].shares`",
                       "shares wanted: `weight` × `capital` / `price`, rounded to whole lots"},
                      {"`trades[].price`", "last price; `null` where the file has none"},
                      {"`trades[].shares_from`, `trades[].shares_to`",
                       "the two weights in shares, each rounded to whole lots"},
                      {"`trades[].shares`",
                       "their difference: what to buy, or to sell if it is negative"},
                  }},
      }};
}

Section inspect_section() {
  return Section{
      .command = "inspect",
      .parts = {
          Part{.keys =
                   {
                       {"`schema_version`", "1"},
                       {"`command`", "`inspect`"},
                       {"`model`", "the file"},
                       {"`format_version`", "version of the file's format"},
                       {"`program_version`", "version of the Sharpen that wrote it"},
                       {"`bytes`", "its size"},
                       {"`checksum`", "its CRC-32, eight hexadecimal digits"},
                       {"`framework`",
                        "`pfl` for a model trained on predictions only (`alpha` 0), else `dfl`"},
                       {"`n`, `k`", "number of assets, and names to hold among them"},
                       {"`tickers`", "the assets, in the model's order"},
                       {"`from`, `to`",
                        "first and last date of the returns it has seen, validation included"},
                       {"`samples`, `validation_samples`",
                        "samples it was trained and validated on"},
                       {"`validation_from`", "first date of the validation; `null` without one"},
                       {"`periods_per_year`", "the number used to annualise"},
                       {"`parameters`", "of one member"},
                       {"`members`", "the networks"},
                       {"`members[].epochs`, `members[].best_epoch`",
                        "epochs run, and the one whose parameters were kept"},
                       {"`members[].validation_loss`",
                        "decision loss of that epoch; `null` without validation"},
                       {"`members[].validation_sharpe`, `members[].validation_sharpe_annualized`",
                        "Sharpe ratio of the validation, per period and a year; it chose the epoch "
                        "and flatters"},
                       {"`settings`", "every setting of the training, under the name of its flag"},
                       {"`warnings`", "texts; empty if there is nothing to say"},
                   }},
      }};
}

}  // namespace sharpen::command::json_schema
