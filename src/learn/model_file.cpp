// Model files (base/binary_file.hpp has the frame). The body: program version; settings; tickers;
// dates; samples; periods per year; scaling; members. One list of fields serves writing and
// reading, and takes every settings struct apart by a structured binding: a field that is added
// there and not here does not compile.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <unordered_set>

#include "base/binary_file.hpp"
#include "base/input_file.hpp"
#include "learn/checkpoint.hpp"
#include "sharpen/base/build_info.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/learn/model.hpp"

namespace sharpen::learn {

namespace {

constexpr FileKind kModelFile = {.magic = "\x89SHARPM\n",
                                 .version = 3,
                                 .noun = "model",
                                 .remedy = "train it again (sharpen train)"};

// Version 2 has limits at the end of its settings, version 3 says whether there are any, and then
// how decisions are charged, what the network sees and how its errors count. A model that would say
// nothing new is of the version before.
constexpr std::uint32_t kLimitsVersion = 2, kTradingVersion = 3;

bool trades(const TrainSettings& settings) {
  return settings.ruling() != trade::Ruling{} || settings.train_cost_bps != 0.0 ||
         settings.train_block != 0 || settings.inputs != Inputs::returns ||
         settings.prediction_loss != PredictionLoss::squared;
}

FileKind kind_of(const TrainSettings& settings) {
  FileKind kind = kModelFile;
  if (!trades(settings)) kind.version = settings.mandate.limits ? kLimitsVersion : 1;
  return kind;
}

class Writing {
 public:
  explicit Writing(ByteWriter& out) : out_(out) {}

  void operator()(std::string_view, bool value) { out_.u8(value ? 1 : 0); }
  void operator()(std::string_view, Index value) { out_.u64(static_cast<std::uint64_t>(value)); }
  void operator()(std::string_view, std::uint64_t value) { out_.u64(value); }
  void operator()(std::string_view, double value) { out_.f64(value); }
  void operator()(std::string_view, const std::string& value) { out_.text(value); }
  template <class Choice>
  void choice(std::string_view, Choice value, Choice) {
    out_.u8(static_cast<std::uint8_t>(value));
  }
  void operator()(std::string_view, std::optional<double> value) { out_.maybe(value); }

 private:
  ByteWriter& out_;
};

class Reading {
 public:
  explicit Reading(ByteReader& in) : in_(in) {}

  void operator()(std::string_view field, bool& value) {
    const std::uint8_t found = in_.u8();
    if (found > 1) in_.fail(fmt::format("{} = {} is neither 0 nor 1", field, found));
    value = found == 1;
  }
  void operator()(std::string_view field, Index& value) {
    const std::uint64_t found = in_.u64();
    if (found > static_cast<std::uint64_t>(std::numeric_limits<Index>::max()))
      in_.fail(fmt::format("{} = {} is no count", field, found));
    value = static_cast<Index>(found);
  }
  void operator()(std::string_view, std::uint64_t& value) { value = in_.u64(); }
  void operator()(std::string_view field, double& value) {
    value = in_.f64();
    if (!std::isfinite(value)) in_.fail(fmt::format("{} is not a finite number", field));
  }
  void operator()(std::string_view field, std::string& value) {
    value = in_.text(field);
    if (!is_plain_text(value)) in_.fail(fmt::format("{} is not plain text", field));
  }
  template <class Choice>
  void choice(std::string_view field, Choice& value, Choice last) {
    const std::uint8_t found = in_.u8();
    if (found > static_cast<std::uint8_t>(last))
      in_.fail(fmt::format("{} = {} is no choice this program knows", field, found));
    value = static_cast<Choice>(found);
  }
  void operator()(std::string_view, std::optional<double>& value) { value = in_.maybe(); }

 private:
  ByteReader& in_;
};

// Settings& is const for writing.
template <class Archive, class Settings>
void sizing_fields(Archive& a, Settings& settings) {
  auto& [kind, offset, target_volatility] = settings;
  a.choice("sizing", kind, layer::Sizing::gross);
  a("offset", offset);
  a("target-volatility", target_volatility);
}

template <class Archive, class Settings>
void layer_fields(Archive& a, Settings& settings) {
  auto& [k, net, sizing, limits, objective] = settings.mandate;
  auto& [count, percent] = k;
  auto& [beta, score, raw_score, reoptimization, topk] = settings.layer;
  a("k", count);
  a("k", percent);
  Index unread = 1;  // of the format, which has a k of the layer too
  a("layer.k", unread);
  a("beta", beta);
  a.choice("score", score, layer::Score::symmetric);
  a("raw-score", raw_score);
  a.choice("reoptimization", reoptimization, layer::Reoptimization::restricted);
  sizing_fields(a, sizing);
  a.choice("net", net, layer::Net::any);
  a.choice("topk", topk, layer::TopKSolver::bisection);
}

template <class Archive, class Settings>
void objective_fields(Archive& a, Settings& settings) {
  auto& [kind, volatility, risk_aversion] = settings;
  a.choice("objective", kind, layer::Objective::utility);
  a("volatility", volatility);
  a("risk-aversion", risk_aversion);
}

// The rule as it is in force: what was left open is decided.
template <class Archive, class ARuling, class Settings>
void trading_fields(Archive& a, ARuling& ruling, Settings& settings) {
  auto& [rule, memory, expected_sharpe, holding_horizon] = ruling;
  a.choice("rule", rule, trade::Rule::cost);
  a("memory", memory);
  a("expected-sharpe", expected_sharpe);
  a("holding-horizon", holding_horizon);
  a("train-cost-bps", settings.train_cost_bps);
  a("train-block", settings.train_block);
  a.choice("inputs", settings.inputs, Inputs::sums);
  a.choice("prediction-loss", settings.prediction_loss, PredictionLoss::risk);
}

template <class Archive, class Settings>
void adam_fields(Archive& a, Settings& settings) {
  auto& [learning_rate, beta1, beta2, epsilon, weight_decay, clip] = settings;
  a("learning-rate", learning_rate);
  a("beta1", beta1);
  a("beta2", beta2);
  a("epsilon", epsilon);
  a("weight-decay", weight_decay);
  a("clip", clip);
}

template <class Archive, class Settings, class Widths>
void settings_fields(Archive& a, Settings& settings, const Widths& exchange_widths) {
  auto& [network, inputs, hidden, lookback, alpha, mixing, decision_loss, prediction_loss, horizon,
         warm_start, mandate, layer, beta_final, shrinkage, form, rules, train_cost_bps,
         train_block, batch, adam, epochs, validation, patience, ensemble, seed] = settings;
  a.choice("network", network, NetworkKind::shared);
  exchange_widths(hidden);
  a("lookback", lookback);
  a("alpha", alpha);
  a.choice("mixing", mixing, Mixing::balanced);
  a.choice("decision-loss", decision_loss, DecisionLoss::sharpe);
  a("horizon", horizon);
  a("warm-start", warm_start);
  layer_fields(a, settings);
  a("beta-final", beta_final);
  a("shrinkage", shrinkage);
  a.choice("form", form, risk::Form::low_rank);
  a("batch", batch);
  adam_fields(a, adam);
  a("epochs", epochs);
  a("validation", validation);
  a("patience", patience);
  a("ensemble", ensemble);
  a("seed", seed);
}

template <class Archive, class AModel>
void fact_fields(Archive& a, AModel& model) {
  a("first date", model.first_date);
  a("last date", model.last_date);
  a("start of the validation", model.validation_from);
  a("samples", model.samples);
  a("validation samples", model.validation_samples);
  a("periods-per-year", model.periods_per_year);
}

template <class Archive, class AMember>
void member_fields(Archive& a, AMember& member) {
  a("epochs run", member.epochs);
  a("best epoch", member.best_epoch);
  a("validation loss", member.validation_loss);
  a("validation sharpe", member.validation_sharpe);
}

// What is wrong with the facts of a model; "" if nothing. Members come later.
std::string fault_of(const Model& model) {
  if (model.tickers.empty()) return "it has no tickers";
  std::unordered_set<std::string_view> seen;
  for (const std::string& ticker : model.tickers) {
    if (ticker.empty() || !is_plain_text(ticker))
      return fmt::format("the ticker {} is no name", shown(ticker));
    if (!seen.insert(ticker).second)
      return fmt::format("the ticker {} is there twice", shown(ticker));
  }
  for (const std::string& date : {model.first_date, model.last_date, model.validation_from})
    if (!is_plain_text(date)) return fmt::format("the date {} is none", shown(date));
  if (model.first_date > model.last_date)
    return fmt::format("its first date {} is after its last, {}", shown(model.first_date),
                       shown(model.last_date));
  if (model.samples < 0 || model.validation_samples < 0) return "it has fewer samples than none";
  if (!(std::isfinite(model.periods_per_year) && model.periods_per_year > 0.0))
    return "its periods a year are not a positive number";
  if (!(std::isfinite(model.cost_bps) && model.cost_bps >= 0.0))
    return "its trading cost is not a number of basis points";
  const auto& [mean, scale] = model.scaling;
  if (mean.size() != model.tickers.size() || scale.size() != model.tickers.size())
    return "its scaling is not of its tickers";
  for (std::size_t i = 0; i < mean.size(); ++i)
    if (!(std::isfinite(mean[i]) && std::isfinite(scale[i]) && scale[i] > 0.0))
      return fmt::format("the scaling of {} is not a finite mean and a positive scale",
                         shown(model.tickers[i]));
  return {};
}

std::string fault_of(const Member& member, std::uint64_t parameters) {
  if (member.network.parameters.size() != parameters)
    return fmt::format("a member has {} parameters and needs {}", member.network.parameters.size(),
                       parameters);
  for (const float value : member.network.parameters)
    if (!std::isfinite(value)) return "a parameter is not a finite number";
  if (member.best_epoch < 0 || member.best_epoch > member.epochs)
    return fmt::format("the best epoch, {}, is not among the {} run", member.best_epoch,
                       member.epochs);
  return {};
}

void read_limits_of(ByteReader& in, layer::MandateSettings& mandate) {
  Reading a(in);
  objective_fields(a, mandate.objective);
  const std::string text = in.text("limits");
  try {
    mandate.objective.validate();
    mandate.limits = std::make_shared<layer::LimitRules>(layer::read_limits(text, {}));
  } catch (const InputError& error) {
    in.fail(fmt::format("its limits cannot be used: {}", error.marked()));
  }
}

TrainSettings read_settings(ByteReader& in) {
  TrainSettings settings;
  Reading a(in);
  settings_fields(a, settings, [&](std::vector<Index>& hidden) {
    hidden.clear();
    for (std::size_t left = in.count("hidden layers", sizeof(std::uint64_t)); left > 0; --left) {
      a("hidden", hidden.emplace_back());
      if (hidden.back() < 1) in.fail("hidden = 0 is no width of a layer");
    }
  });
  if (settings.lookback < 1) in.fail("lookback = 0 leaves no window");
  const auto& [count, percent] = settings.mandate.k;
  if (percent < 0.0 || percent > 100.0 || (percent == 0.0 && count < 1))
    in.fail("k is neither a count nor a share");
  bool limited = in.version() == kLimitsVersion;
  if (in.version() >= kTradingVersion) a("limited", limited);
  if (limited) read_limits_of(in, settings.mandate);
  // Before, every decision was made anew, and without costs.
  trade::Ruling ruling;
  settings.train_cost_bps = 0.0;
  settings.train_block = 0;
  settings.inputs = Inputs::returns;
  settings.prediction_loss = PredictionLoss::squared;
  if (in.version() >= kTradingVersion) trading_fields(a, ruling, settings);
  settings.rules = {ruling.rule, ruling.memory, ruling.expected_sharpe, ruling.holding_horizon};
  return settings;
}

std::vector<std::string> read_tickers(ByteReader& in) {
  std::vector<std::string> tickers;
  for (std::size_t left = in.count("tickers", sizeof(std::uint32_t) + 1); left > 0; --left) {
    tickers.push_back(in.text("ticker"));
    if (tickers.back().empty()) in.fail("a ticker has no name");
  }
  return tickers;
}

// After this the shape is known to fit into the bytes that are left.
std::uint64_t checked_parameters(const Model& model, const ByteReader& in) {
  const auto parameters = static_cast<std::uint64_t>(model.settings.shape(model.n()).parameters());
  if (parameters > in.left() / sizeof(float))
    in.fail(fmt::format(
        "a network for its settings and {} assets has more parameters than the {} bytes left hold",
        model.n(), in.left()));
  try {
    model.settings.validate(model.n());
  } catch (const InputError& error) {
    in.fail(error.marked());
  }
  return parameters;
}

Member read_member(ByteReader& in, const Shape& shape, std::uint64_t parameters) {
  Member member;
  Reading a(in);
  member_fields(a, member);
  member.network.shape = shape;
  member.network.parameters = in.floats("parameters", parameters);
  if (const std::string fault = fault_of(member, parameters); !fault.empty()) in.fail(fault);
  return member;
}

ModelFile parse_file(std::string_view bytes, std::string_view name) {
  ByteReader in(bytes, name, kModelFile);
  ModelFile file;
  file.format_version = in.version();
  file.bytes = bytes.size();
  file.checksum = checksum(bytes);
  Reading a(in);
  a("program version", file.program_version);
  Model& model = file.model;
  model.settings = read_settings(in);
  model.tickers = read_tickers(in);
  fact_fields(a, model);
  if (in.version() >= kTradingVersion) a("cost-bps", model.cost_bps);
  model.scaling.mean = in.doubles("means", model.tickers.size());
  model.scaling.scale = in.doubles("scales", model.tickers.size());
  if (const std::string fault = fault_of(model); !fault.empty()) in.fail(fault);
  const std::size_t members = in.count("members", sizeof(std::uint64_t));
  if (members == 0) in.fail("it has no members");
  const std::uint64_t parameters = checked_parameters(model, in);
  const Shape shape = model.settings.shape(model.n());
  for (std::size_t left = members; left > 0; --left)
    model.members.push_back(read_member(in, shape, parameters));
  in.finish();
  return file;
}

void write_settings(const TrainSettings& settings, ByteWriter& out) {
  Writing a(out);
  settings_fields(a, settings, [&](const std::vector<Index>& hidden) {
    out.u64(hidden.size());
    for (const Index width : hidden) a("hidden", width);
  });
  const bool limited = settings.mandate.limits != nullptr, trading = trades(settings);
  if (trading) a("limited", limited);
  if (limited) {
    objective_fields(a, settings.mandate.objective);
    a("limits", settings.mandate.limits->to_toml());
  }
  const trade::Ruling ruling = settings.ruling();
  if (trading) trading_fields(a, ruling, settings);
}

// A model that could not be read back shall not be written.
void check_writable(const Model& model) {
  const auto refuse = [](const std::string& fault) {
    throw InputError(fmt::format("the model cannot be written: {}", fault));
  };
  if (const std::string fault = fault_of(model); !fault.empty()) refuse(fault);
  model.settings.validate(model.n());
  if (model.members.empty()) refuse("it has no members");
  const auto parameters = static_cast<std::uint64_t>(model.settings.shape(model.n()).parameters());
  for (const Member& member : model.members)
    if (const std::string fault = fault_of(member, parameters); !fault.empty()) refuse(fault);
}

}  // namespace

std::string settings_bytes(const TrainSettings& settings) {
  ByteWriter out(kind_of(settings));
  write_settings(settings, out);
  return out.finish();
}

std::string model_bytes(const Model& model) {
  check_writable(model);
  constexpr std::size_t kAboutFacts = 4096, kAboutTicker = 64;
  const std::size_t network = model.members.front().network.parameters.size() * sizeof(float) + 64;
  ByteWriter out(kind_of(model.settings), kAboutFacts + kAboutTicker * model.tickers.size() +
                                              network * model.members.size());
  Writing a(out);
  a("program version", build_info().version);
  write_settings(model.settings, out);
  out.u64(model.tickers.size());
  for (const std::string& ticker : model.tickers) out.text(ticker);
  fact_fields(a, model);
  if (trades(model.settings)) a("cost-bps", model.cost_bps);
  out.doubles(model.scaling.mean);
  out.doubles(model.scaling.scale);
  out.u64(model.members.size());
  for (const Member& member : model.members) {
    member_fields(a, member);
    out.floats(member.network.parameters);
  }
  return out.finish();
}

Model parse_model(std::string_view bytes, std::string_view name) {
  return parse_file(bytes, name).model;
}

void write_model(const Model& model, const std::filesystem::path& file) {
  write_file(file, model_bytes(model), Durable::yes);  // checkpoints are removed then
}

bool is_model_file(const std::filesystem::path& file) {
  std::string start(kModelFile.magic.size(), '\0');
  std::ifstream in(file, std::ios::binary);
  return in.read(start.data(), static_cast<std::streamsize>(start.size())) &&
         start == kModelFile.magic;
}

ModelFile read_model_file(const std::filesystem::path& file) {
  return parse_file(read_file_of(kModelFile, file), file.string());
}

Model read_model(const std::filesystem::path& file) { return read_model_file(file).model; }

}  // namespace sharpen::learn
