#include <fmt/format.h>

#include "commands.hpp"
#include "output.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/command/keep_inputs.hpp"
#include "stderr_log.hpp"

namespace sharpen::app {

namespace {

using settings::Values;

void write_files(const command::Prediction& prediction) {
  const Values& values = prediction.values;
  std::vector<backtest::Position> positions;
  for (const Index i : prediction.held()) positions.push_back({i, prediction.weight(i)});
  if (values.has("out"))
    write_file(values.text("out"),
               backtest::portfolio_csv(positions, prediction.input.model.tickers));
  if (values.has("trades"))
    write_file(values.text("trades"),
               command::trade_csv(prediction.trades, prediction.sizes.has_value()));
}

}  // namespace

void run_predict(const Values& values) {
  if (values.flag("print-config")) return print(values.to_toml());
  command::check_predict_settings(values);
  command::keep_inputs(values, {"out", "trades"});
  const command::Prediction prediction =
      command::predict_answer(values, {}, stderr_log(values.text("log-level")));
  const Status status = prediction.portfolio.outcome.status;
  const bool refused = values.flag("require-ok") && status != Status::ok;
  // Whoever requires a portfolio that is ok does not want another one to take its place.
  if (!refused) write_files(prediction);
  print(values.flag("json") ? command::prediction_json(prediction) : prediction_text(prediction));
  if (refused)
    throw Failure(
        fmt::format("the status is {}, and ‹--require-ok› wants ok{}", name(status),
                    values.has("out") || values.has("trades") ? "; no file was written" : ""));
}

}  // namespace sharpen::app
