// How a study's file meets a plan that is not quite the one it was begun with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "sharpen/base/error.hpp"
#include "sharpen/study/store.hpp"
#include "study/small_study.hpp"

namespace sharpen::study {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(StorePlan, MoreSeedsKeepWhatIsDone) {
  const Folder folder;
  const Results small = small_plan(2), large = small_plan(4);
  const auto file = folder / "study.db";
  {
    Store store(file, small);
    for (Index at = 0; at < static_cast<Index>(small.cells.size()); ++at)
      store.write_done(at, found_cell(small, at, static_cast<std::uint64_t>(at)));
  }
  Store store(file, large);
  ASSERT_EQ(store.states().size(), large.cells.size());
  const Results found = read_store(file);
  ASSERT_EQ(found.cells.size(), large.cells.size());
  EXPECT_EQ(found.settings, large.settings);
  std::size_t done = 0;
  for (std::size_t at = 0; at < large.cells.size(); ++at) {
    // In the order of the plan that is in force.
    EXPECT_EQ(found.cells[at].market, large.cells[at].market);
    EXPECT_EQ(found.cells[at].method, large.cells[at].method);
    EXPECT_EQ(found.cells[at].seed, large.cells[at].seed);
    const bool old = !large.cells[at].seed || *large.cells[at].seed <= 2;
    EXPECT_EQ(store.states()[at], old ? CellState::done : CellState::missing) << at;
    EXPECT_EQ(found.cells[at].state, store.states()[at]);
    if (old) {
      EXPECT_EQ(fingerprint(found.cells[at]),
                fingerprint(found_cell(small, static_cast<Index>(done), done)));
      ++done;
    }
  }
  EXPECT_EQ(done, small.cells.size());
}

TEST(StorePlan, FewerSeedsAreRefusedAndLoseNothing) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Results large = small_plan(3), small = small_plan(1);
  write_small_study(file, large);
  const std::string before = bytes_of(file);
  const auto says = ThrowsMessage<InputError>(AllOf(
      HasSubstr(file.string() + ": holds the cell of market \"nikkei\", method \"pfl-oscar\", k = "
                                "50%, seed 2, which is not in what is asked for now"),
      HasSubstr("give another --out, or --force")));
  EXPECT_THAT([&] { Store(file, small); }, says);
  EXPECT_THAT([&] { kept_in(file, small); }, says);
  EXPECT_EQ(bytes_of(file), before);
  const Store again(file, large);
  EXPECT_EQ(again.states().back(), CellState::failed);
  EXPECT_EQ(again.states().front(), CellState::done);
}

TEST(StorePlan, AnotherOrderOfMarketsAndMethodsIsTheSameStudy) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Results plan = write_small_study(file);
  Results turned = plan;
  std::reverse(turned.markets.begin(), turned.markets.end());
  std::reverse(turned.methods.begin(), turned.methods.end());
  for (Cell& cell : turned.cells) {
    cell.market = 1 - cell.market;
    cell.method = 2 - cell.method;
  }
  const Store store(file, turned);
  EXPECT_EQ(store.states()[0], CellState::done);
  const Results found = read_store(file);
  EXPECT_EQ(found.markets[0].name, "ftse");
  EXPECT_EQ(found.markets[0].tickers, plan.markets[1].tickers);
  EXPECT_EQ(found.methods[0].name, "dfl-oscar");
  EXPECT_EQ(fingerprint(found.cells[3]), fingerprint(found_cell(plan, 3, 103)));
}

TEST(StorePlan, LabelsRolesAndPathsMayChange) {
  const Folder folder;
  const auto file = folder / "study.db";
  Results plan = write_small_study(file);
  plan.methods[1].label = "another";
  plan.methods[1].role = Role::own;
  plan.markets[0].source = "/elsewhere/prices.csv";
  { const Store store(file, plan); }
  const Results found = read_store(file, Detail::states);
  EXPECT_EQ(found.methods[1].label, "another");
  EXPECT_EQ(found.methods[1].role, Role::own);
  EXPECT_EQ(found.markets[0].source, "/elsewhere/prices.csv");
}

TEST(StorePlan, EveryVersionThatWroteIsNamed) {
  const Folder folder;
  const auto file = folder / "study.db";
  Results plan = write_small_study(file);
  plan.versions[0].second = "0.2.0";
  { const Store store(file, plan); }
  { const Store store(file, plan); }
  const std::vector<std::pair<std::string, std::string>> all = {
      {"sharpen", "0.1.0"}, {"blas", "OpenBLAS 0.3.21"}, {"sharpen", "0.2.0"}};
  EXPECT_EQ(read_store(file, Detail::states).versions, all);
}

// What is changed, and what the message says of it.
struct Change {
  std::string_view name;
  std::function<void(Results&)> make;
  std::string_view says;
};

class StoreRefusal : public ::testing::TestWithParam<Change> {};

TEST_P(StoreRefusal, NamesWhatChangedAndLeavesTheFile) {
  const Folder folder;
  const auto file = folder / "study.db";
  Results plan = write_small_study(file);
  const std::string before = bytes_of(file);
  GetParam().make(plan);
  EXPECT_THAT([&] { Store(file, plan); },
              ThrowsMessage<InputError>(
                  AllOf(HasSubstr(std::string(GetParam().says)), HasSubstr(file.string() + ": "),
                        HasSubstr("give another --out, or --force, which sets "
                                  "study.db aside and begins anew"))));
  EXPECT_EQ(bytes_of(file), before);
}

INSTANTIATE_TEST_SUITE_P(
    StorePlan, StoreRefusal,
    ::testing::Values(
        Change{"checksum", [](Results& plan) { plan.markets[1].checksum = "crc32:0:1"; },
               "market \"ftse\" has changed since this study began: prices/ftse.csv is not the "
               "data it was (checksum crc32:0:1, was crc32:"},
        Change{"reading",
               [](Results& plan) {
                 plan.markets[1].reading = {{"on-suspect", "adjust"}};
               },
               "market \"ftse\" is read with other settings than when this study began: "
               "on-suspect = adjust, was careful;"},
        Change{"dates_of_reading",
               [](Results& plan) {
                 plan.markets[1].reading = {{"max-gap", "9"}, {"from", "2016"}};
               },
               "market \"ftse\" is read with other settings than when this study began: from = "
               "2016, was not given;"},
        Change{"simulated",
               [](Results& plan) {
                 plan.markets[1].source = "simulated: 5 assets";
                 plan.markets[1].checksum = "panel:" + plan.markets[1].checksum;
               },
               "market \"ftse\" has changed since this study began: simulated: 5 assets is not the "
               "data it was (checksum panel:crc32:"},
        Change{
            "tickers", [](Results& plan) { plan.markets[0].tickers[2] = "X"; },
            "market \"nikkei\" is not read as it was when this study began: its tickers differ;"},
        Change{"dates", [](Results& plan) { plan.markets[0].dates.pop_back(); },
               "its test dates differ;"},
        Change{"training", [](Results& plan) { plan.markets[0].training_rows = 1; },
               "its training part differs;"},
        Change{"rate", [](Results& plan) { plan.markets[0].risk_free = 0.0; },
               "its risk-free rate differs;"},
        Change{"periods", [](Results& plan) { plan.markets[0].periods_per_year = 12.0; },
               "its periods per year differ;"},
        Change{
            "settings",
            [](Results& plan) { plan.methods[2].settings = "framework = \"dfl\"\nalpha = 0.7\n"; },
            "method \"dfl-oscar\" has other settings than when this study began: \"alpha = "
            "0.7\", was \"alpha = 0.5\";"},
        Change{"optimizer", [](Results& plan) { plan.methods[1].optimizer = "swap"; },
               "method \"pfl-oscar\" has other settings than when this study began: \"optimizer = "
               "swap\", was \"optimizer = oscar\";"},
        Change{"ensemble", [](Results& plan) { plan.methods[2].ensemble = 6; },
               "\"ensemble = 6\", was \"ensemble = 3\";"},
        Change{"market_left_out",
               [](Results& plan) {
                 plan.markets.pop_back();
                 std::erase_if(plan.cells, [](const Cell& cell) { return cell.market == 1; });
               },
               "holds market \"ftse\", which is not in what is asked for now;"},
        Change{"method_left_out",
               [](Results& plan) {
                 plan.methods.pop_back();
                 std::erase_if(plan.cells, [](const Cell& cell) { return cell.method == 2; });
               },
               "holds method \"dfl-oscar\", which"},
        Change{"k_left_out",
               [](Results& plan) {
                 for (Cell& cell : plan.cells) cell.k_given += "0";
               },
               "holds the cell of market \"nikkei\", method \"historic-swap\", k = 50%, which"},
        Change{"name", [](Results& plan) { plan.name = "large"; },
               "holds the study \"small\", and not \"large\";"}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(StorePlan, ADefaultThatIsGivenIsNoOtherReading) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Results plain = small_plan();
  Results said = plain;
  said.markets[0].reading = {{"max-gap", "5"}, {"on-suspect", "careful"}};
  write_small_study(file, said);
  EXPECT_EQ(Store(file, plain).states()[0], CellState::done);
  EXPECT_EQ(Store(file, said).states()[0], CellState::done);
  EXPECT_EQ(kept_in(file, plain).states[0], CellState::done);
}

TEST(StorePlan, RefusesAPlanThatContradictsItself) {
  const Folder folder;
  const auto file = folder / "study.db";
  Results plan = small_plan();
  plan.cells.push_back(plan.cells[0]);
  EXPECT_THAT([&] { Store(file, plan); },
              ThrowsMessage<InputError>(HasSubstr("the same cell twice")));
  plan = small_plan();
  plan.cells.push_back(plan.cells[0]);
  plan.cells.back().k = 2;
  EXPECT_THAT([&] { Store(file, plan); },
              ThrowsMessage<InputError>(HasSubstr("the same cell twice")));
  plan.cells.back().seed = 9;
  EXPECT_THAT([&] { Store(file, plan); },
              ThrowsMessage<InputError>(HasSubstr("is 3 names in one cell and 2 in another")));
  plan = small_plan();
  plan.methods.push_back(plan.methods[0]);
  plan.methods.back().name = "idle";
  EXPECT_THAT([&] { Store(file, plan); },
              ThrowsMessage<InputError>(HasSubstr("method \"idle\" has no cell")));
  plan = small_plan();
  plan.markets[1].name = plan.markets[0].name;
  EXPECT_THROW(Store(file, plan), InputError);
  plan = small_plan();
  plan.methods[1].name = plan.methods[0].name;
  EXPECT_THROW(Store(file, plan), InputError);
  plan = small_plan();
  plan.cells[0].method = 3;
  EXPECT_THROW(Store(file, plan), InputError);
  EXPECT_FALSE(std::filesystem::exists(file));
}

// What bounds a file from elsewhere does not bound what is written to it.
TEST(StorePlan, MayBeFarLongerThanTheFileItMeets) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Results small = small_plan();
  Results large = small;
  large.settings.resize(3'000'000, '#');
  { const Store store(folder / "large.db", large); }
  EXPECT_EQ(read_store(folder / "large.db").settings, large.settings);
  { const Store store(file, small); }
  { const Store store(file, large); }
  EXPECT_EQ(read_store(file).settings, large.settings);
}

TEST(StorePlan, TextThatIsNotUtf8StaysTheSameStudy) {
  const Folder folder;
  const auto file = folder / "study.db";
  Results plan = small_plan();
  plan.markets[0].tickers[0] = "caf\xe9";
  plan.markets[0].source = "/data/\xff.csv";
  {
    Store store(file, plan);
    store.write_failed(0, "bad \xfe byte", 1.0);
  }
  const Store store(file, plan);
  EXPECT_EQ(store.states()[0], CellState::failed);
  const Results found = read_store(file);
  EXPECT_EQ(found.markets[0].tickers[0], "caf\\xe9");
  EXPECT_EQ(found.cells[0].reason, "bad \\xfe byte");
}

TEST(StorePlan, AnEmptyFileIsBegunInAnotherIsRefused) {
  const Folder folder;
  write_bytes(folder / "empty.db", "");
  write_small_study(folder / "empty.db");
  EXPECT_EQ(read_store(folder / "empty.db").cells[0].state, CellState::done);
  write_bytes(folder / "text.db", std::string(5000, 'x'));
  EXPECT_THAT([&] { Store(folder / "text.db", small_plan()); },
              ThrowsMessage<InputError>(HasSubstr("no SQLite file")));
  EXPECT_EQ(bytes_of(folder / "text.db"), std::string(5000, 'x'));
  std::filesystem::create_directory(folder / "dir.db");
  EXPECT_THAT([&] { Store(folder / "dir.db", small_plan()); },
              ThrowsMessage<InputError>(HasSubstr("is not a file")));
  EXPECT_THAT([&] { Store(folder / "no/such/study.db", small_plan()); },
              ThrowsMessage<StoreFailure>(HasSubstr("No such file or directory")));
}

}  // namespace
}  // namespace sharpen::study
