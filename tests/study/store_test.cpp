// What is written into a study's file comes back, to the bit.
#include "sharpen/study/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sharpen/base/error.hpp"
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

// The study of `file` as a version before costs by kind would have written it.
void write_first_version(const std::filesystem::path& file, const std::filesystem::path& old) {
  Connection connection(old, Connection::Mode::create);
  create_schema(connection, 1);
  Statement(connection, "ATTACH ? AS now").run(file.string());
  for (const char* table : {"study", "versions", "markets", "assets", "periods", "methods", "cells",
                            "warnings", "runs", "weights", "metrics", "daily"}) {
    std::string columns;
    Query names(connection, std::string("SELECT name FROM pragma_table_info('") + table + "')");
    while (names.step())
      columns += (columns.empty() ? "\"" : ", \"") + names.text(kLongestName) + "\"";
    connection.run("INSERT INTO main." + std::string(table) + " SELECT " + columns + " FROM now." +
                   table);
  }
}

TEST(Store, AFileOfTheFirstVersionIsReadAndNotGoneOnWith) {
  const Folder folder;
  const Results plan = write_small_study(folder / "study.db");
  write_first_version(folder / "study.db", folder / "old.db");
  const Results now = read_store(folder / "study.db"), then = read_store(folder / "old.db");
  ASSERT_EQ(then.cells.size(), now.cells.size());
  for (std::size_t i = 0; i < then.cells.size(); ++i) {
    const Cell &a = now.cells[i], &b = then.cells[i];
    EXPECT_EQ(a.state, b.state);
    EXPECT_EQ(bits(a.run.returns), bits(b.run.returns));
    EXPECT_EQ(bits(a.run.largest), bits(b.run.largest));
    EXPECT_EQ(a.run.weights.size(), b.run.weights.size());
    EXPECT_EQ(bits({a.metrics.sharpe}), bits({b.metrics.sharpe}));
    // It knew of no cost but that of trades, of no delay and of no equal weights.
    EXPECT_EQ(bits(b.run.trading_costs), bits(b.run.costs));
    EXPECT_EQ(b.run.short_fees, std::vector<double>(b.run.returns.size(), 0.0));
    EXPECT_TRUE(b.delayed_returns.empty());
    EXPECT_TRUE(b.equal_returns.empty());
    EXPECT_TRUE(std::isnan(b.metrics.sharpe_delayed));
  }
  try {
    const Store store(folder / "old.db", plan);
    FAIL() << "it has no room for what is kept now";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("begun by an earlier version of Sharpen"));
    EXPECT_THAT(error.what(), HasSubstr("reports of it can still be made"));
  }
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
  // The one thing that changes: a negative zero has no sign.
  cell.run.returns[1] = 0.0;
  cell.run.turnover[6] = 0.0;
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
  store.drop_expectations("a");
  store.drop_expectations("never there");
  EXPECT_FALSE(store.expectations("a").has_value());
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
  EXPECT_TRUE(kept_in(file).empty());
  Store store(file, small_plan());
  EXPECT_TRUE(kept_in(file).empty());
  const std::set<std::string> keys = {"oracle\nx", "training\nx", "training\ny"};
  for (const std::string& key : keys)
    store.write_expectations(key,
                             {.rows = {0, 1},
                              .values = {backtest::Expectation(0.5), backtest::Expectation(0.25)},
                              .trainings = {},
                              .memory = {}});
  EXPECT_EQ(kept_in(file), keys);
  for (const std::string& key : keys) store.drop_expectations(key);
  EXPECT_TRUE(kept_in(file).empty());
  write_bytes(folder / "other.db", "no study");
  EXPECT_THROW(kept_in(folder / "other.db"), InputError);
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
    EXPECT_THAT([&] { store.drop_expectations("x"); }, says);
  }
}

}  // namespace
}  // namespace sharpen::study
