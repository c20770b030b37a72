// What is written into a study's file comes back, to the bit.
#include "sharpen/study/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sharpen/base/error.hpp"
#include "sharpen/study/checksum.hpp"
#include "study/small_study.hpp"
#include "study/store_schema.hpp"

namespace sharpen::study {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Store, GivesBackEveryBit) {
  const Folder folder;
  const Results plan = write_small_study(folder / "study.db");
  const Results found = read_store(folder / "study.db");
  ASSERT_EQ(found.cells.size(), plan.cells.size());
  for (std::size_t at = 0; at + 1 < plan.cells.size(); ++at) {
    const Cell expected = found_cell(plan, static_cast<Index>(at), 100 + at);
    const Cell& cell = found.cells[at];
    EXPECT_EQ(fingerprint(cell), fingerprint(expected)) << at;
    EXPECT_EQ(cell.run.dates, expected.run.dates);
    EXPECT_EQ(cell.warnings, expected.warnings);
    EXPECT_EQ(cell.market, expected.market);
    EXPECT_EQ(cell.method, expected.method);
    EXPECT_EQ(cell.k_given, expected.k_given);
    EXPECT_EQ(cell.k, expected.k);
    EXPECT_EQ(cell.seed, expected.seed);
  }
  EXPECT_EQ(found.cells.back().state, CellState::failed);
  EXPECT_EQ(found.cells.back().reason, "it \"failed\": <b>");
  EXPECT_EQ(found.cells.back().seconds, 3.0);
}

TEST(Store, GivesBackWhatTheStudyIs) {
  const Folder folder;
  const Results plan = write_small_study(folder / "study.db");
  const Results found = read_store(folder / "study.db", Detail::states);
  EXPECT_EQ(found.name, plan.name);
  EXPECT_EQ(found.settings, plan.settings);
  EXPECT_EQ(found.versions, plan.versions);
  ASSERT_EQ(found.markets.size(), 2U);
  for (std::size_t at = 0; at < 2; ++at) {
    EXPECT_EQ(found.markets[at].name, plan.markets[at].name);
    EXPECT_EQ(found.markets[at].source, plan.markets[at].source);
    EXPECT_EQ(found.markets[at].checksum, plan.markets[at].checksum);
    EXPECT_EQ(found.markets[at].reading, plan.markets[at].reading);
    EXPECT_EQ(found.markets[at].tickers, plan.markets[at].tickers);
    EXPECT_EQ(found.markets[at].dates, plan.markets[at].dates);
    EXPECT_EQ(found.markets[at].first_date, plan.markets[at].first_date);
    EXPECT_EQ(found.markets[at].training_rows, plan.markets[at].training_rows);
    EXPECT_EQ(found.markets[at].periods_per_year, plan.markets[at].periods_per_year);
    EXPECT_EQ(found.markets[at].risk_free, plan.markets[at].risk_free);
    EXPECT_EQ(found.markets[at].warnings, plan.markets[at].warnings);
  }
  ASSERT_EQ(found.methods.size(), 3U);
  for (std::size_t at = 0; at < 3; ++at) {
    EXPECT_EQ(found.methods[at].name, plan.methods[at].name);
    EXPECT_EQ(found.methods[at].label, plan.methods[at].label);
    EXPECT_EQ(found.methods[at].role, plan.methods[at].role);
    EXPECT_EQ(found.methods[at].framework, plan.methods[at].framework);
    EXPECT_EQ(found.methods[at].optimizer, plan.methods[at].optimizer);
    EXPECT_EQ(found.methods[at].training, plan.methods[at].training);
    EXPECT_EQ(found.methods[at].alpha, plan.methods[at].alpha);
    EXPECT_EQ(found.methods[at].ensemble, plan.methods[at].ensemble);
    EXPECT_EQ(found.methods[at].cost_bps, plan.methods[at].cost_bps);
    EXPECT_EQ(found.methods[at].settings, plan.methods[at].settings);
  }
}

TEST(Store, AFileOfAnEarlierVersionIsRefusedWithWhatToDo) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Results plan = write_small_study(file);
  {
    Connection connection(file, SQLITE_OPEN_READWRITE);
    connection.run("PRAGMA user_version = 2; DROP TABLE shared");
  }
  const std::string before = bytes_of(file);
  const auto says = ThrowsMessage<InputError>(
      HasSubstr("it is of version 2 of the file, and this Sharpen has version 3: compute the study "
                "again, or report it with the Sharpen that wrote it"));
  EXPECT_THAT([&] { read_store(file); }, says);
  EXPECT_THAT([&] { Store(file, plan); }, says);
  EXPECT_THAT([&] { kept_in(file, plan); }, says);
  EXPECT_EQ(bytes_of(file), before);
}

TEST(Store, ReadsAsMuchAsItIsAskedFor) {
  const Folder folder;
  const Results plan = write_small_study(folder / "study.db");
  const Results states = read_store(folder / "study.db", Detail::states);
  EXPECT_EQ(states.cells[0].state, CellState::done);
  EXPECT_EQ(states.cells[0].run.periods(), 0);
  const Results returns = read_store(folder / "study.db", Detail::returns);
  EXPECT_EQ(fingerprint(returns.cells[0], false), fingerprint(found_cell(plan, 0, 100), false));
  EXPECT_TRUE(returns.cells[0].run.weights.empty());
}

TEST(Store, KeepsNumbersThatSqlHasNoWordFor) {
  const Folder folder;
  const Results plan = small_plan();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Cell cell = found_cell(plan, 0, 1);
  cell.run.returns = {0.0, -0.0, 1.0, -3.0, 5e-324, 0.1, 1.7976931348623157e308};
  cell.run.turnover = {
      kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), 9007199254740993.0, 1e300,
      2.0,       -0.0};
  cell.run.benchmark = std::vector<double>(7, std::numeric_limits<double>::quiet_NaN());
  cell.metrics.sharpe = kInfinity;
  {
    Store store(folder / "study.db", plan);
    store.write_done(0, cell);
  }
  EXPECT_EQ(fingerprint(read_store(folder / "study.db").cells[0]), fingerprint(cell));
}

TEST(Store, GoesOnWhereItWas) {
  const Folder folder;
  const Results plan = small_plan();
  {
    Store store(folder / "study.db", plan);
    EXPECT_EQ(store.states(), std::vector<CellState>(plan.cells.size(), CellState::missing));
    store.write_done(2, found_cell(plan, 2, 7));
    store.write_failed(4, "no", 0.0);
    EXPECT_EQ(store.states()[2], CellState::done);
  }
  Store again(folder / "study.db", plan);
  EXPECT_EQ(again.states()[0], CellState::missing);
  EXPECT_EQ(again.states()[2], CellState::done);
  EXPECT_EQ(again.states()[4], CellState::failed);
  again.forget_failures();
  EXPECT_EQ(again.states()[4], CellState::missing);
  EXPECT_EQ(read_store(folder / "study.db").cells[4].reason, "");
  EXPECT_EQ(fingerprint(read_store(folder / "study.db").cells[2]),
            fingerprint(found_cell(plan, 2, 7)));
}

TEST(Store, ExpectationsKeepEveryBitUntilTheyAreDropped) {
  const Folder folder;
  backtest::Expectations made;
  made.rows = {100, 101, 105};
  made.values.emplace_back();  // not to be held
  for (const double value : {-0.0, std::nan(""), 1e-310, 0.25, -7.0})
    made.values.emplace_back(value);
  learn::Member member;
  member.epochs = 9;
  member.best_epoch = 4;
  member.validation_sharpe = 0.125;
  made.trainings = {{"2010-01-04", "2019-12-30", {member, member}}};
  const Results plan = small_plan();
  {
    Store store(folder / "study.db", plan);
    EXPECT_FALSE(store.expectations("a").has_value());
    store.write_expectations("a", made);
  }
  Store store(folder / "study.db", plan);
  const auto found = store.expectations("a");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->rows, made.rows);
  ASSERT_EQ(found->values.size(), made.values.size());
  for (std::size_t i = 0; i < made.values.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(found->values[i].stored()),
              std::bit_cast<std::uint64_t>(made.values[i].stored()));
  ASSERT_EQ(found->trainings.size(), 1U);
  EXPECT_EQ(found->trainings[0].first_date, "2010-01-04");
  EXPECT_EQ(found->trainings[0].last_date, "2019-12-30");
  ASSERT_EQ(found->trainings[0].members.size(), 2U);
  EXPECT_EQ(found->trainings[0].members[1].epochs, 9);
  EXPECT_EQ(found->trainings[0].members[1].best_epoch, 4);
  EXPECT_FALSE(found->trainings[0].members[1].validation_loss);
  EXPECT_EQ(found->trainings[0].members[1].validation_sharpe, 0.125);
  store.drop_shared("a");
  store.drop_shared("never there");
  EXPECT_FALSE(store.expectations("a").has_value());
}

TEST(Store, AnOracleIsKeptAsTheRunItIs) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Results plan = small_plan();
  const Cell cell = found_cell(plan, 1, 4);
  {
    Store store(file, plan);
    EXPECT_FALSE(store.oracle("o").has_value());
    store.write_oracle("o", cell.run);
    store.write_expectations("e", {});
  }
  EXPECT_EQ(kept_in(file, plan).shared, (std::set<std::string>{"e", "o"}));
  Store store(file, plan);
  const auto found = store.oracle("o");
  ASSERT_TRUE(found.has_value());
  Cell again = cell;
  again.run = *found;
  EXPECT_EQ(fingerprint(again), fingerprint(cell));
  EXPECT_EQ(found->dates, cell.run.dates);
  // Neither is taken for the other.
  EXPECT_FALSE(store.expectations("o").has_value());
  EXPECT_FALSE(store.oracle("e").has_value());
  store.drop_shared("o");
  EXPECT_FALSE(store.oracle("o").has_value());
  EXPECT_EQ(kept_in(file, plan).shared, std::set<std::string>{"e"});
}

TEST(Store, ADamagedTrainingIsMadeAgain) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Results plan = small_plan();
  {
    Store store(file, plan);
    store.write_expectations("e", {.rows = {1}, .values = {}, .trainings = {}, .memory = {}});
  }
  Connection(file, SQLITE_OPEN_READWRITE).run("UPDATE shared SET found = x'00ff'");
  const Store store(file, plan);
  EXPECT_FALSE(store.expectations("e").has_value());
}

TEST(Store, RefusesARunThatNoReaderWouldAccept) {
  const Folder folder;
  const Results plan = small_plan();
  Store store(folder / "study.db", plan);
  const Cell good = found_cell(plan, 0, 1);
  Cell cell = good;
  cell.run.returns[3] = std::numeric_limits<double>::infinity();
  EXPECT_THAT([&] { store.write_done(0, cell); },
              ThrowsMessage<Failure>(HasSubstr("the return of 2020-103 is not finite")));
  cell = good;
  cell.run.weights[0].weight = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(store.write_done(0, cell), Failure);
  cell = good;
  cell.run.weights[0].asset = 6;
  EXPECT_THROW(store.write_done(0, cell), Failure);
  cell = good;
  cell.run.dates[0] = "1999";
  EXPECT_THROW(store.write_done(0, cell), Failure);
  cell = good;
  cell.metrics.max_drawdown.trough = 7;
  EXPECT_THROW(store.write_done(0, cell), Failure);
  EXPECT_THROW(store.write_done(-1, good), InputError);
  EXPECT_THROW(store.write_done(static_cast<Index>(plan.cells.size()), good), InputError);
  EXPECT_EQ(store.states()[0], CellState::missing);
  store.write_done(0, good);
  store.write_done(0, good);  // again: it replaces itself
  EXPECT_EQ(fingerprint(read_store(folder / "study.db").cells[0]), fingerprint(good));
}

TEST(Store, LeavesNothingBesideItsFile) {
  const Folder folder;
  write_small_study(folder / "study.db");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename().string());
  EXPECT_THAT(names, ElementsAre("study.db"));
}

TEST(Store, SeedsKeepAll64Bits) {
  const Folder folder;
  Results plan = small_plan();
  plan.cells[1].seed = std::numeric_limits<std::uint64_t>::max();
  plan.cells[2].seed = 0;
  write_small_study(folder / "study.db", plan);
  const Results found = read_store(folder / "study.db", Detail::states);
  EXPECT_EQ(found.cells[0].seed, std::nullopt);
  EXPECT_EQ(found.cells[1].seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(found.cells[2].seed, 0U);
}

TEST(StoreChecksum, TellsTextsAndFilesApart) {
  const Folder folder;
  EXPECT_EQ(checksum_of_text("123456789"), "crc32:cbf43926:9");  // the check value of CRC-32
  EXPECT_EQ(checksum_of_text(""), "crc32:00000000:0");
  std::string text(200'000, 'x');
  text[150'000] = 'y';
  write_bytes(folder / "a", text);
  EXPECT_EQ(checksum_of_file(folder / "a"), checksum_of_text(text));
  EXPECT_THAT([&] { checksum_of_file(folder / "none"); },
              ThrowsMessage<InputError>(HasSubstr("cannot be read")));
  EXPECT_THROW(checksum_of_file(folder.path()), InputError);
}

TEST(StoreChecksum, OfAPanelFollowsEveryValueAndWord) {
  market::Panel panel;
  panel.tickers = {"A", "B"};
  panel.dates = {"2020-01-01", "2020-01-02"};
  panel.values = {1.0, 2.0, 3.0, 4.0};
  const std::string whole = checksum_of_panel(panel, "simulated");
  EXPECT_TRUE(whole.starts_with(kPanelChecksum)) << whole;
  EXPECT_EQ(whole.find(' '), std::string::npos) << whole;
  EXPECT_EQ(checksum_of_panel(panel, "simulated"), whole);
  EXPECT_NE(checksum_of_panel(panel, "simulated, seed 2"), whole);
  for (double& value : panel.values) {
    const double before = std::exchange(value, std::nextafter(value, 9.0));
    EXPECT_NE(checksum_of_panel(panel, "simulated"), whole);
    value = before;
  }
  panel.tickers[1] = "C";
  EXPECT_NE(checksum_of_panel(panel, "simulated"), whole);
}

TEST(Store, NamesTheExpectationsItHasKept) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Results plan = small_plan();
  EXPECT_TRUE(kept_in(file, plan).shared.empty());
  EXPECT_EQ(kept_in(file, plan).states, std::vector(plan.cells.size(), CellState::missing));
  Store store(file, plan);
  EXPECT_TRUE(kept_in(file, plan).shared.empty());
  const std::set<std::string> keys = {"oracle\nx", "training\nx", "training\ny"};
  for (const std::string& key : keys)
    store.write_expectations(key,
                             {.rows = {0, 1},
                              .values = {backtest::Expectation(0.5), backtest::Expectation(0.25)},
                              .trainings = {},
                              .memory = {}});
  EXPECT_EQ(kept_in(file, plan).shared, keys);
  for (const std::string& key : keys) store.drop_shared(key);
  EXPECT_TRUE(kept_in(file, plan).shared.empty());
  write_bytes(folder / "other.db", "no study");
  EXPECT_THROW(kept_in(folder / "other.db", plan), InputError);
}

// It must not become the reason why cells fail: no cell could be written then.
TEST(Store, DamagedWhileItIsOpenItFailsAsAStore) {
  for (const bool header : {false, true}) {
    SCOPED_TRACE(header);
    const Folder folder;
    const auto file = folder / "study.db";
    const Results plan = write_small_study(file);
    Store store(file, plan);
    std::string bytes = bytes_of(file);
    // Another count of changes, so that nothing of it is remembered.
    std::fill(bytes.begin() + (header ? 0 : 100), bytes.end(), '\x55');
    bytes[27] = static_cast<char>(bytes[27] + 1);
    write_bytes(file, bytes);
    const auto says =
        ThrowsMessage<StoreFailure>(HasSubstr("has been damaged while the study ran"));
    EXPECT_THAT([&] { store.write_done(0, found_cell(plan, 0, 1)); }, says);
    EXPECT_THAT([&] { store.write_failed(0, "x", 1.0); }, says);
    EXPECT_THAT([&] { store.forget_failures(); }, says);
    EXPECT_THAT([&] { store.expectations("x"); }, says);
    EXPECT_THAT([&] { store.drop_shared("x"); }, says);
  }
}

}  // namespace
}  // namespace sharpen::study
