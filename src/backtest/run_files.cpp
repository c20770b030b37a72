#include "sharpen/backtest/run_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/csv.hpp"
#include "base/input_file.hpp"
#include "base/json_text.hpp"
#include "market/calendar.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/trade/positions.hpp"

namespace sharpen::backtest {

namespace {

using nlohmann::json;

std::vector<std::string> fields(std::span<const std::string> texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) out.push_back(csv_field(text));
  return out;
}

void check_fields(const CsvCursor& cursor) {
  const Index found = cursor.count_fields();
  if (found == 2) return;
  fail_at({cursor.name(), cursor.line(), std::min<Index>(found, 3)},
          fmt::format("line {} has {} where 2 are expected (asset and weight); give every row a "
                      "name and a weight, separated by a comma",
                      cursor.line(), counted(found, "field")));
}

void parse_portfolio_header(CsvCursor& cursor) {
  static_cast<void>(cursor.finished());  // refuses a blank first line
  const FilePosition position = cursor.position();
  const std::string first(cursor.field());
  const std::string line(cursor.line_text());
  const bool second = cursor.comma() && cursor.field() == "weight";
  if (first != "asset" || !second || cursor.count_fields() != 2)
    fail_at(position,
            fmt::format("line 1 is {} but must be the header asset,weight; add it", shown(line)));
  cursor.end_line();
}

double parse_weight(CsvCursor& cursor, const std::string& asset) {
  const std::string_view text = cursor.field();
  if (const auto value = parse_number(text)) return *value;
  const FilePosition position = cursor.position();
  if (text.empty())
    fail_at(position,
            fmt::format("the weight is missing, at {} (asset {}); fill it or drop the row",
                        spelled(position), shortened(asset)));
  fail_number(position, text, "weight of asset " + shortened(asset));
}

constexpr std::string_view kRemedy = "give a folder that ‹sharpen backtest --out› wrote";

// Reads the header; the number of its fields, and which of them is `return` (from 0).
struct Header {
  Index fields = 0;
  Index returns = -1;
};

Header parse_header(CsvCursor& cursor) {
  static_cast<void>(cursor.finished());  // refuses a blank first line
  const FilePosition position = cursor.position();
  Header header;
  do {
    const std::string_view title = cursor.field();
    if (header.fields == 0 && title != "date")
      fail_at(position,
              fmt::format("the first column is called {} and not date; {}", shown(title), kRemedy));
    if (title == "return") {
      if (header.returns >= 0)
        fail_at(cursor.position(), "there are two columns called return; keep one");
      header.returns = header.fields;
    }
    ++header.fields;
  } while (cursor.comma());
  if (header.returns < 0)
    fail_at(position, fmt::format("there is no column called return; {}", kRemedy));
  cursor.end_line();
  return header;
}

std::string parse_day(const CsvCursor& cursor, std::string_view text, const SavedRun& run) {
  const market::ParsedDate date = market::parse_date(text);
  if (date.format == market::DateFormat::none)
    fail_at(cursor.position(),
            fmt::format("{} {}; write dates as YYYY-MM-DD", shown(text), date.fault));
  if (!run.dates.empty() && run.dates.back() >= date.iso)
    fail_at(cursor.position(), fmt::format("the date {} does not come after {}, the one above; "
                                           "sort the rows and keep each date once",
                                           date.iso, run.dates.back()));
  return date.iso;
}

double parse_return(const CsvCursor& cursor, std::string_view text, const std::string& date) {
  if (const auto value = parse_number(text)) return *value;
  fail_number(cursor.position(), text, "return on " + date);
}

void parse_returns(std::string_view text, std::string_view name, SavedRun& run) {
  CsvCursor cursor(text, name);
  const Header header = parse_header(cursor);
  while (!cursor.finished()) {
    if (const Index found = cursor.count_fields(); found != header.fields)
      fail_at({name, cursor.line(), 0},
              fmt::format("line {} has {} and the header has {}; {}", cursor.line(),
                          counted(found, "field"), header.fields, kRemedy));
    for (Index c = 0; c < header.fields; ++c) {
      if (c > 0) cursor.comma();
      const std::string_view field = cursor.field();
      if (c == 0) run.dates.push_back(parse_day(cursor, field, run));
      if (c == header.returns) run.returns.push_back(parse_return(cursor, field, run.dates.back()));
    }
    cursor.end_line();
  }
  if (run.dates.empty())
    fail_at({name, 0, 0}, fmt::format("there are no rows below the header; {}", kRemedy));
}

[[noreturn]] void fail_key(std::string_view file, std::string_view key, std::string_view what) {
  fail_at({file, 0, 0}, fmt::format("the key {} {}; {}", key, what, kRemedy));
}

double number_of(const json& metrics, std::string_view file, const char* key, double otherwise) {
  const auto found = metrics.find(key);
  if (found == metrics.end() || found->is_null()) return otherwise;
  if (!found->is_number()) fail_key(file, key, "is not a number");
  return found->get<double>();
}

std::string text_of(const json& metrics, std::string_view file, const char* key) {
  const auto found = metrics.find(key);
  if (found == metrics.end() || found->is_null()) return "";
  if (!found->is_string()) fail_key(file, key, "is not a text");
  return found->get<std::string>();
}

[[noreturn]] void fail_incomplete(std::string_view file) {
  fail_at({file, 0, 0},
          "the result is not whole: it is being written, or its writing was cut short; run the "
          "same ‹sharpen backtest --out› again");
}

void parse_metrics(std::string_view text, std::string_view file, SavedRun& run) {
  const json metrics = parse_json(text);
  if (metrics.is_discarded())
    fail_at({file, 0, 0},
            fmt::format("this is not JSON, or too long or nested too deep; {}", kRemedy));
  if (!metrics.is_object())
    fail_at({file, 0, 0}, fmt::format("this is not a JSON object; {}", kRemedy));
  if (metrics.contains("incomplete")) fail_incomplete(file);
  // Files written by hand may leave these out.
  const std::string command = text_of(metrics, file, "command");
  if (!command.empty() && command != "backtest")
    fail_key(file, "command", fmt::format("is {} and not backtest", shown(command)));
  if (const double version = number_of(metrics, file, "schema_version", 1.0); version != 1.0)
    fail_at({file, 0, 0}, fmt::format("the schema_version is {} and this program knows 1; use the "
                                      "version of sharpen that wrote it",
                                      shortest(version)));
  run.label = text_of(metrics, file, "label");
  run.periods_per_year = number_of(metrics, file, "periods_per_year", std::nan(""));
  if (!(run.periods_per_year > 0.0 && std::isfinite(run.periods_per_year)))
    fail_key(file, "periods_per_year", "is missing or not a positive number");
  run.risk_free = number_of(metrics, file, "risk_free", 0.0);
  if (!std::isfinite(run.risk_free)) fail_key(file, "risk_free", "is not a finite number");
  run.stats_from_date = text_of(metrics, file, "stats_from_date");
  if (run.stats_from_date.empty()) return;
  const market::ParsedDate date = market::parse_date(run.stats_from_date);
  if (date.format == market::DateFormat::none) fail_key(file, "stats_from_date", date.fault);
  run.stats_from_date = date.iso;
}

// The first row that counts for the run's statistics.
std::size_t first_row(const SavedRun& run) {
  return static_cast<std::size_t>(
      std::lower_bound(run.dates.begin(), run.dates.end(), run.stats_from_date) -
      run.dates.begin());
}

}  // namespace

std::string returns_csv(const Run& run, ConstVec delayed, ConstVec equal) {
  std::string out =
      "date,return,gross_return,cost,turnover,net_exposure,gross_exposure,holdings,status";
  std::vector<ConstVec> more;
  for (const auto& [title, column] :
       {std::pair<const char*, ConstVec>{"trading_cost", run.trading_costs},
        {"short_fee", run.short_fees},
        {"financing", run.financing},
        {"delayed_return", delayed},
        {"equal_return", equal}}) {
    if (column.size() != run.dates.size()) continue;
    out.append(",").append(title);
    more.push_back(column);
  }
  out += '\n';
  for (std::size_t p = 0; p < run.dates.size(); ++p) {
    const double turnover = std::isnan(run.turnover[p]) ? 0.0 : run.turnover[p];
    out += fmt::format("{},{},{},{},{},{},{},{},{}", run.dates[p], shortest(run.returns[p]),
                       shortest(run.gross_returns[p]), shortest(run.costs[p]), shortest(turnover),
                       shortest(run.net[p]), shortest(run.gross[p]), shortest(run.holdings[p]),
                       name(run.status[p]));
    for (const ConstVec column : more) out.append(",").append(shortest(column[p]));
    out += '\n';
  }
  return out;
}

std::string weights_csv(const Run& run, std::span<const std::string> tickers, const Stop& stop) {
  const std::vector<std::string> names = fields(tickers);
  const bool counted = !run.shares.empty();
  std::string out = counted ? "date,asset,weight,shares\n" : "date,asset,weight\n";
  for (Index p = 0; p < run.periods(); ++p) {
    ask(stop);
    for (Index i = run.weights_begin[at(p)]; i < run.weights_begin[at(p + 1)]; ++i) {
      const Position& held = run.weights[at(i)];
      out.append(run.dates[at(p)]).append(",");
      out.append(names[at(held.asset)]).append(",");
      out.append(shortest(held.weight));
      if (counted) out.append(",").append(trade::plain_number(run.shares[at(i)]));
      out.append("\n");
    }
  }
  return out;
}

std::string trades_csv(const Run& run, std::span<const std::string> tickers, const Stop& stop) {
  const std::vector<std::string> names = fields(tickers);
  const bool counted = !run.traded_shares.empty();
  std::string out =
      counted ? "date,asset,from,to,trade,price,shares\n" : "date,asset,from,to,trade\n";
  for (Index p = 0; p < run.periods(); ++p) {
    ask(stop);
    for (Index i = run.trades_begin[at(p)]; i < run.trades_begin[at(p + 1)]; ++i) {
      const Trade& traded = run.trades[at(i)];
      out.append(run.dates[at(p)]).append(",");
      out.append(names[at(traded.asset)]).append(",");
      out.append(shortest(traded.from)).append(",").append(shortest(traded.to)).append(",");
      out.append(shortest(traded.to - traded.from));
      if (counted)
        out.append(",")
            .append(shortest(run.traded_prices[at(i)]))
            .append(",")
            .append(trade::plain_number(run.traded_shares[at(i)]));
      out.append("\n");
    }
  }
  return out;
}

std::string last_positions_csv(const Run& run, std::span<const std::string> tickers) {
  trade::Positions out{.in_shares = !run.last_shares.empty(), .date = run.dates.back()};
  const std::vector<double>& held = out.in_shares ? run.last_shares : run.last_weights;
  out.cash = out.in_shares ? run.last_cash : 1.0;
  for (std::size_t j = 0; j < held.size(); ++j) {
    if (held[j] == 0.0) continue;
    out.holdings.push_back({.asset = tickers[j], .amount = held[j]});
    if (!out.in_shares) out.cash -= held[j];
  }
  return trade::positions_csv(out);
}

std::string benchmark_csv(const Run& run) {
  std::string out = "date,return\n";
  for (std::size_t p = 0; p < run.benchmark.size(); ++p)
    out += fmt::format("{},{}\n", run.dates[p], shortest(run.benchmark[p]));
  return out;
}

std::string portfolio_csv(std::span<const Position> positions,
                          std::span<const std::string> tickers) {
  std::string out = "asset,weight\n";
  for (const Position& held : positions)
    out += fmt::format("{},{}\n", csv_field(tickers[at(held.asset)]), shortest(held.weight));
  return out;
}

std::vector<NamedWeight> parse_portfolio(std::string_view text, std::string_view name) {
  CsvCursor cursor(text, name);
  parse_portfolio_header(cursor);
  std::vector<NamedWeight> out;
  std::unordered_map<std::string, Index> line_of;
  while (!cursor.finished()) {
    const std::string asset(cursor.field());
    const FilePosition position = cursor.position();
    check_fields(cursor);
    if (asset.empty())
      fail_at(position,
              fmt::format("the name of the asset is missing, at {}; every row starts with one",
                          spelled(position)));
    const auto [first, fresh] = line_of.try_emplace(asset, cursor.line());
    if (!fresh)
      fail_at(position,
              fmt::format("the asset {} is repeated, at line {} and line {}; give every asset once",
                          shown(asset), first->second, cursor.line()));
    cursor.comma();
    out.push_back({asset, parse_weight(cursor, asset)});
    cursor.end_line();
  }
  return out;
}

std::vector<NamedWeight> read_portfolio(const std::filesystem::path& file) {
  const TextFile content(file);
  return parse_portfolio(content.text(), file.string());
}

std::string SavedRun::ruin_date() const {
  const auto lost = std::ranges::find_if(returns, [](double r) { return r <= -1.0; });
  return lost == returns.end() ? std::string() : dates[at(lost - returns.begin())];
}

SavedRun parse_run(std::string_view returns_text, std::string_view returns_name,
                   std::string_view metrics_text, std::string_view metrics_name) {
  SavedRun run;
  parse_metrics(metrics_text, metrics_name, run);
  parse_returns(returns_text, returns_name, run);
  return run;
}

SavedRun read_run(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
    throw InputError(fmt::format("{} is not a folder; {}", shown_file(folder.string()), kRemedy));
  const std::filesystem::path returns = folder / "returns.csv", metrics = folder / "metrics.json";
  if (!std::filesystem::exists(returns, ignored)) static_cast<void>(TextFile(returns));  // throws
  // The last to be written. Earlier versions took it away first.
  if (!std::filesystem::exists(metrics, ignored)) fail_incomplete(metrics.string());
  const TextFile metrics_file(metrics), returns_file(returns);
  // A run that is replaced while it is read has other metrics at the end than at the beginning.
  if (TextFile(metrics).text() != metrics_file.text()) fail_incomplete(metrics.string());
  SavedRun run =
      parse_run(returns_file.text(), returns.string(), metrics_file.text(), metrics.string());
  if (run.label.empty()) {
    const std::filesystem::path plain = (folder / "").parent_path();
    run.label = plain.filename().string();
  }
  return run;
}

CommonPeriods common_periods(const SavedRun& a, const SavedRun& b) {
  if (a.periods_per_year != b.periods_per_year)
    throw InputError(fmt::format(
        "the runs have {} and {} periods a year; compare runs over the same kind of period",
        shortest(a.periods_per_year), shortest(b.periods_per_year)));
  CommonPeriods out;
  std::size_t i = first_row(a), j = first_row(b);
  while (i < a.dates.size() && j < b.dates.size()) {
    if (a.dates[i] == b.dates[j]) {
      out.dates.push_back(a.dates[i]);
      out.a.push_back(a.returns[i++] - a.risk_free);
      out.b.push_back(b.returns[j++] - b.risk_free);
    } else {
      a.dates[i] < b.dates[j] ? ++i : ++j;
    }
  }
  const auto range = [](const SavedRun& run) {
    const std::size_t first = first_row(run);
    if (first == run.dates.size()) return std::string("no rows");
    return fmt::format("{} to {}", run.dates[first], run.dates.back());
  };
  if (out.dates.empty())
    throw InputError(
        fmt::format("the two runs have no date in common: the statistics of the first cover {}, of "
                    "the second {}; compare runs over the same dates",
                    range(a), range(b)));
  out.left_out_a = static_cast<Index>(a.dates.size() - out.dates.size());
  out.left_out_b = static_cast<Index>(b.dates.size() - out.dates.size());
  return out;
}

}  // namespace sharpen::backtest
