#include "command/orders_today.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "command/orders_settings.hpp"
#include "command/predict_input.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/command/output_folder.hpp"

namespace sharpen::command {

namespace {

using settings::Origin;
using settings::Values;

// Of a backtest, as this day asks for it.
Values walk_values(const Values& values, const std::optional<FormerRun>& run) {
  Values out = values.as(settings::backtest);
  if (run) out = follow_run(out, *run);
  // Whichever ends first: a month ends with its last day.
  if (values.has("asof") && (!out.has("to") || !ends_before(out.text("to"), values.text("asof"))))
    out.set_flag("to", values.text("asof"));
  return out;
}

std::optional<trade::Positions> given_positions(const Values& values, OrdersInputs& inputs,
                                                const std::optional<FormerRun>& run) {
  if (inputs.positions) return std::move(inputs.positions);
  if (run) return trade::read_positions(run->folder / "positions.csv");
  if (values.has("positions")) return trade::read_positions(values.text("positions"));
  if (!values.has("previous")) return std::nullopt;
  trade::Positions out{.name = values.text("previous"), .cash = 1.0};
  for (const backtest::NamedWeight& held : backtest::read_portfolio(out.name)) {
    out.holdings.push_back({.asset = held.asset, .amount = held.weight});
    out.cash -= held.weight;
  }
  return out;
}

// An incomplete folder may hold the orders of one day and the positions of another.
void refuse_incomplete(const std::string& positions) {
  if (is_incomplete(std::filesystem::path(positions).parent_path(), "predict"))
    throw InputError(fmt::format(
        "{}: the folder is being written, or its writing was cut short; give the broker's own list",
        shown_file(positions)));
}

// Where the account is in shares, they need prices; lots and least orders need shares.
void check_account(const Values& values, const trade::Positions& positions,
                   const BacktestJob& job) {
  const trade::AccountSettings& account = job.answer.settings.account;
  const bool in_shares = positions.in_shares || account.capital.has_value();
  if (in_shares && job.answer.input.settings.kind != market::PanelKind::prices)
    throw InputError(fmt::format(
        "{} needs prices to count shares by; give ‹--prices FILE›, or positions as asset,weight",
        positions.in_shares ? "an account in shares" : "‹--capital›"));
  for (const char* name : {"lot", "min-order"})
    if (!in_shares && values.origin(name) == Origin::flag)
      throw InputError(fmt::format(
          "{} has no meaning without shares; give ‹--capital›, or positions as asset,shares",
          values.given_as(name)));
}

// The folder is exchanged as a whole: a file in it would be lost, or take the place of one of its.
void refuse_file_in_folder(const Values& values) {
  std::error_code error;
  const auto place = [&](const char* name) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(values.text(name)), error);
  };
  if (place("out").parent_path() == (place("out-dir") / "").parent_path())
    throw InputError(fmt::format("{} is in the folder of {}; give it a place of its own",
                                 values.given_as("out"), values.given_as("out-dir")));
}

// What a model says where nobody else does, and what is asked for otherwise.
Values with_model(const Values& values, const Values& given, const learn::Model& model,
                  std::vector<std::string>& warnings) {
  Values out = model_before_file(values, model, warnings);
  out.set_default("cost-bps", shortest(model.cost_bps));
  out.set_default("framework", learn::framework_of(model.settings.alpha).name);
  if (model.settings.network != learn::NetworkKind::joint) out.set_default("universe", "available");
  warn_of_differences(differences(given.as(settings::backtest), model), "the model was judged with",
                      warnings);
  return out;
}

// A run's own path is one from where it was made.
learn::Model read_model_of(const Values& values, const std::optional<FormerRun>& run) {
  const std::string& file = values.text("model");
  std::error_code ignored;
  if (run && run->settings.contains("model") && run->settings["model"] == file &&
      !std::filesystem::exists(file, ignored))
    throw InputError(fmt::format(
        "{}: is the model of the run {}, and is not here; give ‹--model FILE›, or work in the "
        "folder where the run was made",
        shown_file(file), shown_file(run->folder.string())));
  return learn::read_model(file);
}

// Of the day of the list, and of what the prices say of shares since.
void warn_of_list(const trade::Positions& positions, const market::PanelInput& input,
                  OrdersAnswer& out) {
  const std::vector<std::string>& dates = input.returns.dates;
  out.positions_date = positions.date;
  if (!positions.date.empty())
    out.positions_age = age_of_positions(positions.date, dates, out.warnings);
  if (positions.date == dates.back() && positions.cost > 0.0)
    out.warnings.push_back(fmt::format(
        "the positions are those after the orders of {}, and these orders come on top of them",
        positions.date));
  if (const auto corrected = corrected_since(positions, input); !corrected.empty())
    out.warnings.push_back(fmt::format(
        "prices of {} were corrected after {}, and shares are counted as the list has them: look "
        "whether the broker's have changed, and give that list",
        some_names(corrected, kMostNames), positions.date));
}

// All cash where no account is given.
trade::Positions positions_or_cash(std::optional<trade::Positions> given,
                                   const trade::AccountSettings& account) {
  if (given) return *std::move(given);
  trade::Positions out;
  out.in_shares = account.capital.has_value();
  out.cash = account.capital.value_or(1.0);
  return out;
}

// Of a signal of one's own: today's row, and what the memory averages.
void look_at_signal(const market::Panel& signal, const backtest::NextPeriod& next,
                    const BacktestAnswer& answer, std::vector<std::string>& warnings) {
  if (!next.decides()) return;
  const std::string& today = next.returns().dates.back();
  const std::string file = shown_file(answer.values.optional_text("signal").value_or("signal"));
  if (std::ranges::find(signal.dates, today) == signal.dates.end())
    throw InputError(
        fmt::format("{}: has no row for {}, the day of the decision; add it, or choose another day "
                    "by ‹--asof DATE›",
                    file, today));
  const auto rows = static_cast<Index>(
      std::ranges::count_if(signal.dates, [&](const std::string& date) { return date <= today; }));
  if (const Index memory = backtest::ruling_of(answer.settings).memory; rows < memory)
    warnings.push_back(
        fmt::format("{}: has {} up to {}, and the signal is averaged over a memory of {}; give the "
                    "rows before, or ‹--memory 1›",
                    file, counted(rows, "row"), today, counted(memory, "period")));
}

void refuse_asset_called_cash(const market::Panel& panel, const std::string& file) {
  if (std::ranges::find(panel.tickers, trade::kCash) != panel.tickers.end())
    throw InputError(fmt::format(
        "{}: a column is called {}, as the money of an account is; give it another name, or leave "
        "it out of the file",
        shown_file(file), trade::kCash));
}

}  // namespace

void check_order_settings(const Values& values, const OrdersInputs& inputs) {
  std::vector<std::string> accounts;
  for (const char* name : {"positions", "continue", "previous"})
    if (values.has(name)) accounts.push_back(values.given_as(name));
  if (inputs.positions) accounts.emplace_back("positions");
  if (accounts.size() > 1)
    throw InputError(
        fmt::format("{} and {} each say what is held; give one of them", accounts[0], accounts[1]));
  if (values.has("trades"))
    throw InputError("‹--trades› has no meaning here; ‹--out-dir DIR› gets the orders, orders.csv");
  if (values.flag("force") && !values.has("out-dir"))
    throw InputError("‹--force› has no meaning here; it goes with ‹--out-dir DIR›");
  const bool framework =
      values.has("framework") || values.has("continue") || values.has("model") || inputs.model;
  if (!framework)
    throw InputError(
        "no model given; give ‹--model FILE›, as ‹sharpen train› wrote it, or a ‹--framework› that "
        "needs none, such as rolling");
  if (values.has("out") && values.has("out-dir")) refuse_file_in_folder(values);
  check_asof(values);
}

Today read_today(const Values& values, OrdersInputs inputs, const Log& log, OrdersAnswer& out) {
  std::optional<FormerRun> run;
  if (values.has("continue")) run = read_former_run(values.text("continue"));
  Values asked = walk_values(values, run);
  std::optional<learn::Model> model = std::move(inputs.model);
  if (!model && asked.has("model")) model = read_model_of(asked, run);
  if (model) asked = with_model(asked, values, *model, out.warnings);
  if (run)
    warn_of_differences(differences(values.as(settings::backtest), *run), "the run was made of",
                        out.warnings);
  std::optional<trade::Positions> given = given_positions(values, inputs, run);
  if (values.has("positions")) refuse_incomplete(values.text("positions"));
  check_backtest_settings(asked);
  if (!inputs.panel) inputs.panel.emplace().raw = market::read_whole_panel(asked, log);
  refuse_asset_called_cash(inputs.panel->raw.panel, inputs.panel->raw.file);
  const market::RawPanel held = columns_held(inputs.panel->raw, given.value_or(trade::Positions()));
  auto job = std::make_unique<BacktestJob>(read_backtest(asked,
                                                         {.panel = std::move(inputs.panel),
                                                          .signal = std::move(inputs.signal),
                                                          .model = std::move(model)},
                                                         log));
  backtest::BacktestSettings& settings = job->answer.settings;
  const trade::Positions positions = positions_or_cash(std::move(given), settings.account);
  check_account(values, positions, *job);
  const bool in_shares = positions.in_shares || settings.account.capital.has_value();
  if (in_shares && (trade::lot_size(settings.account) > 0.0 || settings.account.min_order > 0.0))
    settings.prices = std::make_shared<const market::Panel>(job->answer.input.cleaning.panel);
  const market::PanelInput& input = job->answer.input;
  out.age = age_of_prices(values, input.file, input.returns.dates, out.warnings);
  if (job->model) {
    out.model_age = age_of_model(values, *job->model, input.returns.dates.back(), out.warnings);
    out.trained_to = job->model->last_date;
  }
  backtest::NextPeriod next(input.returns, settings, job->signal ? &*job->signal : nullptr,
                            job->model ? &*job->model : nullptr);
  if (job->signal) look_at_signal(*job->signal, next, job->answer, out.warnings);
  AccountToday account = account_today(positions, input, held, next, settings.account);
  warn_of_list(positions, input, out);
  return {std::move(job), std::move(next), std::move(account)};
}

}  // namespace sharpen::command
