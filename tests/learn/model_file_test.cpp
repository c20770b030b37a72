// Model files: what is written comes back, bit for bit, and nothing else does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <thread>

#include "base/binary_file.hpp"
#include "sharpen/base/build_info.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/learn/model.hpp"
#include "support/files.hpp"
#include "support/models.hpp"

namespace sharpen::learn {
namespace {

using testing::Folder;
using ::testing::HasSubstr;
using testing::made_model;
using ::testing::StartsWith;

constexpr std::size_t kVersionAt = 8, kLengthAt = 12, kBodyAt = 20;

// With the checksum that belongs to the bytes.
std::string sealed(std::string bytes) {
  const std::uint32_t sum = checksum(bytes);
  for (std::size_t i = 0; i < 4; ++i)
    bytes[bytes.size() - 4 + i] = static_cast<char>(sum >> (8 * i));
  return bytes;
}

std::string with_u64(std::string bytes, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
  return sealed(bytes);
}

// Where a number stands that is there once.
std::size_t place_of(const std::string& bytes, double value) {
  std::string pattern(8, '\0');
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < 8; ++i) pattern[i] = static_cast<char>(bits >> (8 * i));
  const std::size_t at = bytes.find(pattern);
  EXPECT_NE(at, std::string::npos);
  EXPECT_EQ(bytes.find(pattern, at + 1), std::string::npos);
  return at;
}

std::string with_number(const std::string& bytes, double value, double other) {
  return with_u64(bytes, place_of(bytes, value), std::bit_cast<std::uint64_t>(other));
}

std::string refusal(const std::string& bytes) {
  try {
    parse_model(bytes, "m.sharpen");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

// Every setting off its default, and different from every other.
TrainSettings unusual_settings() {
  TrainSettings s;
  s.network = NetworkKind::shared;
  s.hidden = {5, 3, 2};
  s.lookback = 7;
  s.alpha = 0.375;
  s.mixing = Mixing::literal;
  s.decision_loss = DecisionLoss::sharpe;
  s.prediction_loss = PredictionLoss::squared;
  s.horizon = 3;
  s.warm_start = 4;
  s.mandate.k = {.count = 2, .percent = 0.0};
  s.layer.beta = 6.5;
  s.layer.score = layer::Score::cholesky;
  s.layer.raw_score = true;
  s.layer.reoptimization = layer::Reoptimization::masked;
  s.mandate.sizing = {.kind = layer::Sizing::volatility, .offset = 0.02, .target_volatility = 0.03};
  s.layer.topk = layer::TopKSolver::bisection;
  s.beta_final = 50.0;
  s.shrinkage = 0.25;
  s.form = risk::Form::dense;
  s.rules = {
      .rule = trade::Rule::band, .memory = 4, .expected_sharpe = 0.75, .holding_horizon = 12.5};
  s.train_cost_bps = 3.5;
  s.train_block = 41;
  s.batch = 17;
  s.adam = {.learning_rate = 2e-3,
            .beta1 = 0.8,
            .beta2 = 0.99,
            .epsilon = 1e-7,
            .weight_decay = 0.015,
            .clip = 1.25};
  s.epochs = 11;
  s.validation = 0.3;
  s.patience = 6;
  s.ensemble = 2;
  s.seed = 9007199254740991u;
  return s;
}

Model unusual_model() {
  Model model = made_model(
      {.tickers = {"A", "Ünïcode", "C,D"}, .lookback = 7, .hidden = {5, 3, 2}, .members = 2});
  model.settings = unusual_settings();
  model.periods_per_year = 52.0;
  model.scaling.mean = {1e-4, -2e-4, 3e-4};
  model.scaling.scale = {0.011, 0.021, 0.031};
  model.members[1].validation_loss.reset();
  model.members[1].validation_sharpe = -std::numeric_limits<double>::infinity();
  return model;
}

TEST(ModelFile, KeepsEveryFieldBitForBit) {
  const Model model = unusual_model();
  const Model back = parse_model(model_bytes(model), "m.sharpen");
  const TrainSettings &a = model.settings, &b = back.settings;
  EXPECT_EQ(b.network, a.network);
  EXPECT_EQ(b.hidden, a.hidden);
  EXPECT_EQ(b.lookback, a.lookback);
  EXPECT_EQ(b.alpha, a.alpha);
  EXPECT_EQ(b.mixing, a.mixing);
  EXPECT_EQ(b.decision_loss, a.decision_loss);
  EXPECT_EQ(b.inputs, a.inputs);
  EXPECT_EQ(b.prediction_loss, a.prediction_loss);
  EXPECT_EQ(b.horizon, a.horizon);
  EXPECT_EQ(b.warm_start, a.warm_start);
  EXPECT_EQ(b.mandate.k, a.mandate.k);
  EXPECT_EQ(b.layer.beta, a.layer.beta);
  EXPECT_EQ(b.layer.score, a.layer.score);
  EXPECT_EQ(b.layer.raw_score, a.layer.raw_score);
  EXPECT_EQ(b.layer.reoptimization, a.layer.reoptimization);
  EXPECT_EQ(b.mandate.sizing.kind, a.mandate.sizing.kind);
  EXPECT_EQ(b.mandate.sizing.offset, a.mandate.sizing.offset);
  EXPECT_EQ(b.mandate.sizing.target_volatility, a.mandate.sizing.target_volatility);
  EXPECT_EQ(b.mandate.net, a.mandate.net);
  EXPECT_EQ(b.layer.topk, a.layer.topk);
  EXPECT_EQ(b.beta_final, a.beta_final);
  EXPECT_EQ(b.shrinkage, a.shrinkage);
  EXPECT_EQ(b.form, a.form);
  EXPECT_EQ(b.rules.rule, a.rules.rule);
  EXPECT_EQ(b.rules.memory, a.rules.memory);
  EXPECT_EQ(b.rules.expected_sharpe, a.rules.expected_sharpe);
  EXPECT_EQ(b.rules.holding_horizon, a.rules.holding_horizon);
  EXPECT_EQ(b.train_cost_bps, a.train_cost_bps);
  EXPECT_EQ(b.train_block, a.train_block);
  EXPECT_EQ(b.batch, a.batch);
  EXPECT_EQ(b.adam.learning_rate, a.adam.learning_rate);
  EXPECT_EQ(b.adam.beta1, a.adam.beta1);
  EXPECT_EQ(b.adam.beta2, a.adam.beta2);
  EXPECT_EQ(b.adam.epsilon, a.adam.epsilon);
  EXPECT_EQ(b.adam.weight_decay, a.adam.weight_decay);
  EXPECT_EQ(b.adam.clip, a.adam.clip);
  EXPECT_EQ(b.epochs, a.epochs);
  EXPECT_EQ(b.validation, a.validation);
  EXPECT_EQ(b.patience, a.patience);
  EXPECT_EQ(b.ensemble, a.ensemble);
  EXPECT_EQ(b.seed, a.seed);
  EXPECT_EQ(back.tickers, model.tickers);
  EXPECT_EQ(back.first_date, model.first_date);
  EXPECT_EQ(back.last_date, model.last_date);
  EXPECT_EQ(back.validation_from, model.validation_from);
  EXPECT_EQ(back.samples, model.samples);
  EXPECT_EQ(back.validation_samples, model.validation_samples);
  EXPECT_EQ(back.periods_per_year, model.periods_per_year);
  EXPECT_EQ(back.scaling, model.scaling);
}

// What knows neither a rule nor costs is of the version that knew of none, and read as such.
TEST(ModelFile, OfAnOldVersionDecidesAnewAndWithoutCosts) {
  Model model = unusual_model();
  model.settings.rules = {.rule = trade::Rule::none, .memory = 1};
  model.settings.train_cost_bps = 0.0;
  model.settings.train_block = 0;
  model.settings.inputs = Inputs::returns;
  for (Member& member : model.members) member.network = Network<float>(model.settings.shape(3));
  for (const bool limited : {false, true}) {
    if (limited) {
      auto limits = std::make_shared<layer::LimitRules>();
      limits->long_only = true;
      model.settings.mandate.limits = limits;
      model.settings.layer.raw_score = false;
    }
    const std::string bytes = model_bytes(model);
    EXPECT_EQ(bytes[kVersionAt], limited ? 2 : 1);
    const TrainSettings back = parse_model(bytes, "m.sharpen").settings;
    EXPECT_EQ(back.rules.rule, trade::Rule::none);
    EXPECT_EQ(back.rules.memory, 1);
    EXPECT_EQ(back.rules.expected_sharpe, 1.0);
    EXPECT_EQ(back.train_cost_bps, 0.0);
    EXPECT_EQ(back.train_block, 0);
    EXPECT_EQ(back.inputs, Inputs::returns);
    EXPECT_EQ(back.prediction_loss, PredictionLoss::squared);
    model.settings.train_block = 41;
    const Model traded = parse_model(model_bytes(model), "m.sharpen");
    EXPECT_EQ(traded.settings.mandate.limits != nullptr, limited);
    EXPECT_EQ(traded.settings.train_block, 41);
    model.settings.train_block = 0;
  }
}

TEST(ModelFile, RefusesARuleThatIsNone) {
  Model model = unusual_model();
  model.settings.rules.expected_sharpe = 0.7501;
  const std::string bytes = model_bytes(model);
  EXPECT_THAT(refusal(with_number(bytes, 0.7501, -1.0)), HasSubstr("expected-sharpe"));
  EXPECT_THAT(refusal(with_number(bytes, 3.5, -1.0)), HasSubstr("train-cost-bps"));
}

TEST(ModelFile, KeepsAFreeNetPosition) {
  Model model = made_model({});
  model.settings.mandate.net = layer::Net::any;
  EXPECT_EQ(parse_model(model_bytes(model), "m.sharpen").settings.mandate.net, layer::Net::any);
}

TEST(ModelFile, KeepsEveryMemberBitForBit) {
  for (const NetworkKind network : {NetworkKind::joint, NetworkKind::shared}) {
    const Model model = made_model({.network = network, .hidden = {4}, .members = 3});
    const Model back = parse_model(model_bytes(model), "m.sharpen");
    ASSERT_EQ(back.members.size(), 3u);
    for (std::size_t m = 0; m < 3; ++m) {
      const Member &a = model.members[m], &b = back.members[m];
      EXPECT_EQ(b.network.shape, a.network.shape);
      EXPECT_EQ(b.network.parameters, a.network.parameters);
      EXPECT_EQ(b.epochs, a.epochs);
      EXPECT_EQ(b.best_epoch, a.best_epoch);
      EXPECT_EQ(b.validation_loss, a.validation_loss);
      EXPECT_EQ(b.validation_sharpe, a.validation_sharpe);
    }
  }
}

TEST(ModelFile, IsTheSameBytesWhenWrittenAgain) {
  for (const Model& model : {unusual_model(), made_model({}), made_model({.hidden = {}})}) {
    const std::string bytes = model_bytes(model);
    EXPECT_EQ(model_bytes(parse_model(bytes, "m.sharpen")), bytes);
  }
}

TEST(ModelFile, SaysWhatItIs) {
  const Folder folder;
  const std::string path = folder.path("m.sharpen");
  write_model(unusual_model(), path);
  const ModelFile file = read_model_file(path);
  EXPECT_EQ(file.program_version, build_info().version);
  EXPECT_EQ(file.format_version, 3u);
  EXPECT_EQ(file.bytes, std::filesystem::file_size(path));
  EXPECT_EQ(file.checksum, checksum(testing::text_of(path)));
  EXPECT_EQ(model_bytes(file.model), testing::text_of(path));
}

TEST(ModelFile, IsRefusedWhicheverByteIsAltered) {
  const std::string bytes = model_bytes(made_model({.hidden = {2}, .members = 1}));
  ASSERT_LT(bytes.size(), 1000u);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (int change = 1; change < 256; change += i < kBodyAt ? 1 : 42) {
      std::string altered = bytes;
      altered[i] = static_cast<char>(altered[i] ^ change);
      ASSERT_THAT(refusal(altered), StartsWith("m.sharpen: is ")) << "byte " << i;
    }
}

TEST(ModelFile, IsRefusedWhereverItIsCutShort) {
  const std::string bytes = model_bytes(made_model({.hidden = {2}, .members = 1}));
  EXPECT_EQ(refusal(""),
            "m.sharpen: is empty and no model; name another file, or train it again (sharpen "
            "train)");
  for (std::size_t size = 1; size < bytes.size(); ++size)
    ASSERT_THAT(refusal(bytes.substr(0, size)), StartsWith("m.sharpen: is a model cut short: "))
        << size;
  EXPECT_EQ(refusal(bytes.substr(0, 100)),
            "m.sharpen: is a model cut short: 100 of its " + std::to_string(bytes.size()) +
                " bytes are there; copy it again, or train it again (sharpen train)");
  EXPECT_EQ(refusal(bytes + "x"),
            "m.sharpen: is a model of " + std::to_string(bytes.size()) +
                " bytes with more after them; copy it again, or train it again (sharpen train)");
}

TEST(ModelFile, OfANewerVersionIsRefusedAsSuch) {
  std::string bytes = model_bytes(made_model({}));
  bytes[kVersionAt] = 4;
  EXPECT_EQ(refusal(sealed(bytes)),
            "m.sharpen: is a model of format version 4, and this program reads versions up to 3; "
            "use a newer Sharpen, or train it again (sharpen train)");
  bytes[kVersionAt] = 0;
  EXPECT_THAT(refusal(sealed(bytes)), HasSubstr("no model has format version 0"));
}

TEST(ModelFile, OfAnotherKindIsRefusedAsSuch) {
  for (const std::string text : {"date,AAA\n2024-01-02,1\n", "PK", "x", "\x1f\x8b\x08"})
    EXPECT_EQ(refusal(text),
              "m.sharpen: is not a model of Sharpen: it starts with other bytes; name a file that "
              "is one");
  std::string other = model_bytes(made_model({}));
  other[6] = 'C';
  EXPECT_THAT(refusal(sealed(other)), HasSubstr("is not a model of Sharpen"));
}

TEST(ModelFile, WithAWrongChecksumIsRefusedAsAltered) {
  std::string bytes = model_bytes(made_model({}));
  bytes[kBodyAt + 30] = static_cast<char>(bytes[kBodyAt + 30] ^ 0x10);
  EXPECT_EQ(refusal(bytes),
            "m.sharpen: is altered or damaged: its checksum is not that of its bytes; copy it "
            "again, or train it again (sharpen train)");
}

long peak_kilobytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Whatever is a length somewhere, is one that lies: with the right checksum, the parser meets it.
TEST(ModelFile, WithALengthThatLiesAllocatesNothingForIt) {
  const std::string bytes = model_bytes(made_model({.hidden = {2}, .members = 1}));
  const long before = peak_kilobytes();
  for (const std::uint64_t lie :
       {std::uint64_t{1} << 29, std::uint64_t{1} << 40, std::uint64_t{1} << 62, ~std::uint64_t{0}})
    for (std::size_t at = kBodyAt; at + 12 <= bytes.size(); ++at) {
      const std::string altered = with_u64(bytes, at, lie);
      const std::string answer = refusal(altered);
      if (answer != "accepted") {
        ASSERT_THAT(answer, StartsWith("m.sharpen: is not a valid model: ")) << at;
      }
    }
  EXPECT_LT(peak_kilobytes() - before, 64 * 1024);
}

TEST(ModelFile, OfAGreatLengthIsRefusedBeforeItIsRead) {
  std::string bytes = model_bytes(made_model({}));
  bytes = with_u64(bytes, kLengthAt, std::uint64_t{1} << 60);
  const Folder folder;
  const std::string path = folder.file("m.sharpen", bytes);
  EXPECT_THROW(read_model(path), InputError);
  EXPECT_THAT(refusal(bytes), HasSubstr("is a model cut short"));
}

TEST(ModelFile, IsRefusedForNumbersNoModelHas) {
  const Model model = unusual_model();
  const std::string bytes = model_bytes(model);
  const auto expect = [&](double number, double other, const std::string& words) {
    EXPECT_THAT(refusal(with_number(bytes, number, other)),
                HasSubstr("m.sharpen: is not a valid model: " + words));
  };
  const double nan = std::nan("");
  expect(model.scaling.scale[1], 0.0, "the scaling of \"Ünïcode\" is not a finite mean and a");
  expect(model.scaling.scale[1], -0.02, "the scaling of \"Ünïcode\"");
  expect(model.scaling.scale[2], nan, "the scaling of \"C,D\"");
  expect(model.scaling.mean[0], std::numeric_limits<double>::infinity(), "the scaling of \"A\"");
  expect(model.periods_per_year, 0.0, "its periods a year are not a positive number");
  expect(model.periods_per_year, nan, "periods-per-year is not a finite number");
  expect(model.settings.alpha, 1.5, "alpha = 1.5 is outside [0, 1]; train it again");
  expect(model.settings.alpha, nan, "alpha is not a finite number");
  expect(model.settings.shrinkage, -0.1, "shrinkage = -0.1 is outside [0, 1]");
  expect(model.settings.layer.beta, 0.0, "beta = 0 is outside (0, 1000000]");
}

TEST(ModelFile, IsRefusedForChoicesNoModelHas) {
  Model model = made_model({.hidden = {2}, .members = 1});
  const std::string bytes = model_bytes(model);
  // The first field after the program version is the network.
  const std::size_t at = kBodyAt + 4 + build_info().version.size();
  std::string altered = bytes;
  altered[at] = 2;
  EXPECT_EQ(refusal(sealed(altered)),
            "m.sharpen: is not a valid model: network = 2 is no choice this program knows; train "
            "it again (sharpen train)");
  altered[at] = 0;  // joint, whose network is larger
  EXPECT_THAT(refusal(sealed(altered)), HasSubstr("m.sharpen: is not a valid model: "));
}

TEST(ModelFile, IsRefusedForNamesNoModelHas) {
  Model model = made_model({.tickers = {"QQQQ", "RRRR"}});
  const std::string bytes = model_bytes(model);
  std::string altered = bytes;
  altered.replace(altered.find("RRRR"), 4, "QQQQ");
  EXPECT_THAT(refusal(sealed(altered)), HasSubstr("the ticker \"QQQQ\" is there twice"));
  altered = bytes;
  altered.replace(altered.find("RRRR"), 4, "R\nRR");
  EXPECT_THAT(refusal(sealed(altered)), HasSubstr("the ticker \"R\\x0aRR\" is no name"));
  altered = bytes;
  altered.replace(altered.find(model.first_date), 4, "2999");
  EXPECT_THAT(refusal(sealed(altered)), HasSubstr("its first date \"2999-01-02\" is after its"));
}

TEST(ModelFile, IsRefusedForParametersThatAreNotNumbers) {
  const std::string bytes = model_bytes(made_model({}));
  std::string altered = bytes;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(altered.data() + altered.size() - 8, &nan, 4);
  EXPECT_THAT(refusal(sealed(altered)), HasSubstr("a parameter is not a finite number"));
}

TEST(WriteModel, RefusesWhatCouldNotBeReadBack) {
  const auto refused = [](const std::function<void(Model&)>& change) {
    Model model = made_model({});
    change(model);
    EXPECT_THROW(model_bytes(model), InputError);
  };
  refused([](Model& m) { m.members.clear(); });
  refused([](Model& m) { m.members[1].network.parameters.pop_back(); });
  refused([](Model& m) { m.members[0].network.parameters[0] = std::nanf(""); });
  refused([](Model& m) { m.members[0].best_epoch = 8; });
  refused([](Model& m) { m.tickers[1] = m.tickers[0]; });
  refused([](Model& m) { m.tickers[1] = ""; });
  refused([](Model& m) { m.scaling.scale[0] = 0.0; });
  refused([](Model& m) { m.scaling.mean.pop_back(); });
  refused([](Model& m) { m.settings.alpha = 2.0; });
  refused([](Model& m) { m.periods_per_year = 0.0; });
}

TEST(WriteModel, ReplacesAFileWholeOrLeavesIt) {
  const Folder folder;
  const std::string path = folder.file("m.sharpen", "what was there");
  Model broken = made_model({});
  broken.members.clear();
  EXPECT_THROW(write_model(broken, path), InputError);
  EXPECT_EQ(testing::text_of(path), "what was there");
  write_model(made_model({}), path);
  EXPECT_EQ(testing::text_of(path), model_bytes(made_model({})));
  EXPECT_THROW(write_model(made_model({}), folder.path("no/such/folder")), InputError);
  Index files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path("")))
    ++files;
  EXPECT_EQ(files, 1);
}

std::string reading_refusal(const std::string& path) {
  try {
    read_model(path);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ReadModel, RefusesWhatIsNoFileOfAModel) {
  const Folder folder;
  EXPECT_EQ(reading_refusal(folder.path("none")),
            folder.path("none") +
                ": cannot be read: No such file or directory; check the path and its permissions");
  EXPECT_THAT(reading_refusal(folder.path("")), HasSubstr("is a directory; name a file in it"));
  EXPECT_EQ(reading_refusal(""), "the file name is empty; name the file to read");
  EXPECT_THAT(reading_refusal("/dev/zero"), HasSubstr("is not a model of Sharpen"));
  EXPECT_THAT(reading_refusal("/dev/null"), HasSubstr("is empty and no model"));
  const std::string bytes = model_bytes(made_model({}));
  for (const std::size_t size :
       {std::size_t{5}, std::size_t{15}, std::size_t{25}, bytes.size() - 1})
    EXPECT_THAT(reading_refusal(folder.file("cut", bytes.substr(0, size))),
                HasSubstr("is a model cut short: "));
  EXPECT_THAT(reading_refusal(folder.file("long", bytes + "?")), HasSubstr("with more after them"));
}

TEST(ReadModel, ReadsAPipeAndNoFurtherThanItMust) {
  const Folder folder;
  const std::string path = folder.path("pipe"), bytes = model_bytes(made_model({}));
  const auto read_from_pipe = [&](const std::string& content) {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    std::thread writer([&] { std::ofstream(path, std::ios::binary) << content; });
    const std::string answer = reading_refusal(path);
    writer.join();
    std::filesystem::remove(path);
    return answer;
  };
  EXPECT_EQ(read_from_pipe(bytes), "accepted");
  EXPECT_THAT(read_from_pipe(bytes.substr(0, bytes.size() - 3)), HasSubstr("cut short"));
  EXPECT_THAT(read_from_pipe(bytes + "more"), HasSubstr("with more after them"));
  EXPECT_THAT(read_from_pipe(with_u64(bytes, kLengthAt, 1u << 30)), HasSubstr("cut short"));
}

}  // namespace
}  // namespace sharpen::learn
