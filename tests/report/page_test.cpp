// The page as a file: complete, closed to the outside, and safe from names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "report/page_parts.hpp"
#include "sharpen/report/report.hpp"
#include "support/study_results.hpp"

namespace sharpen::report {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::made_results;
using ::testing::Not;

std::string page_of(const study::Results& results) {
  const Summary summary = summarize(results, {.replications = 50}, Threads(1));
  return page(results, summary, tables(results, summary));
}

// Between the two, the first time.
std::string between(const std::string& text, const std::string& open, const std::string& close) {
  const auto begin = text.find(open) + open.size();
  return text.substr(begin, text.find(close, begin) - begin);
}

json data_of(const std::string& html) {
  return json::parse(between(html, "<script type=\"application/json\" id=\"data\">", "</script>"));
}

std::string hex(const std::array<std::uint8_t, 32>& digest) {
  std::string out;
  for (const std::uint8_t byte : digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

TEST(Encoding, Sha256HasItsKnownAnswers) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Encoding, Base64HasItsKnownAnswers) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Encoding, JsonInAScriptEndsNoScript) {
  EXPECT_EQ(script_safe("\"</script>&\xE2\x80\xA8\xE2\x80\xA9\""),
            "\"\\u003c/script\\u003e\\u0026\\u2028\\u2029\"");
}

TEST(Page, IsOneFileThatAsksForNothing) {
  const std::string html = page_of(made_results());
  EXPECT_THAT(html, ::testing::StartsWith("<!DOCTYPE html>\n<html lang=\"en\">"));
  EXPECT_THAT(html, Not(HasSubstr("sourceMappingURL")));
  const std::string markup = html.substr(0, html.find("<script"));
  EXPECT_THAT(markup, Not(HasSubstr("{{")));
  EXPECT_THAT(markup, Not(HasSubstr("src=")));
  std::string rest = markup;
  for (std::size_t at; (at = rest.find("href=\"")) != std::string::npos;) {
    rest.erase(0, at + 6);
    EXPECT_TRUE(rest.starts_with("#") || rest.starts_with("data:,\"")) << rest.substr(0, 40);
  }
  EXPECT_THAT(std::string(page_style()), Not(HasSubstr("url(")));
  EXPECT_THAT(std::string(page_style()), Not(HasSubstr("@import")));
}

TEST(Page, PolicyAllowsOnlyWhatIsInIt) {
  const std::string html = page_of(made_results({.markets = {"M"}, .ks = {"10%"}}));
  const std::string policy =
      between(html, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
  EXPECT_THAT(policy, ::testing::StartsWith("default-src 'none'; "));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(policy, HasSubstr(policy_hash(between(html, "<style>", "</style>"))));
  std::string rest = html;
  int scripts = 0;
  for (std::size_t at; (at = rest.find("<script>")) != std::string::npos; ++scripts) {
    EXPECT_THAT(policy, HasSubstr(policy_hash(between(rest, "<script>", "</script>"))));
    rest.erase(0, at + 8);
  }
  EXPECT_EQ(scripts, 2);
  // A style attribute would need 'unsafe-inline'.
  EXPECT_THAT(html.substr(0, html.find("<script>")), Not(HasSubstr(" style=\"")));
}

TEST(Page, NamesAreNeverMarkup) {
  study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}});
  const std::string evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";
  results.markets[0].tickers[0] = evil;
  results.markets[0].name = evil;
  results.name = evil;
  results.settings = evil;
  results.methods[6].label = evil;
  results.methods[6].settings = evil;
  results.versions = {{evil, evil}};
  results.cells[0].warnings = {evil};
  const std::string html = page_of(results);
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_EQ(data_of(html)["methods"][6]["label"], evil);
}

TEST(Page, HoldsTheReturnsOfEveryRun) {
  const study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}});
  const json data = data_of(page_of(results));
  EXPECT_EQ(data["everyRun"], true);
  ASSERT_EQ(data["runs"].size(), results.cells.size());
  EXPECT_EQ(data["markets"][0]["dates"].size(), results.markets[0].dates.size());
  for (std::size_t i = 0; i < results.cells.size(); ++i) {
    std::string bytes;
    for (const double r : results.cells[i].run.returns) {
      const float single = static_cast<float>(r);
      bytes.append(reinterpret_cast<const char*>(&single), 4);
    }
    EXPECT_EQ(data["runs"][i]["returns"], base64(bytes));
    EXPECT_EQ(data["runs"][i]["first"], 0);
  }
}

TEST(Page, WritesOutDaysThatAreNotTheMarkets) {
  study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}});
  results.cells[0].run.dates[5] = "2021-01-06x";
  const json data = data_of(page_of(results));
  EXPECT_FALSE(data["runs"][0].contains("first"));
  EXPECT_EQ(data["runs"][0]["dates"].size(), results.markets[0].dates.size());
}

TEST(Page, WeightsAreMeansOverBlocksOfDays) {
  const study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}, .days = 208});
  const json weights = data_of(page_of(results))["runs"][0]["weights"];
  EXPECT_EQ(weights["blocks"], 104);
  std::set<Index> held;
  for (const auto& position : results.cells[0].run.weights) held.insert(position.asset);
  EXPECT_EQ(weights["held"], held.size());
  EXPECT_EQ(weights["names"].size(), std::min<std::size_t>(held.size(), 18));
  // The largest cell of the picture is 32767 in size, and two days make a block.
  const backtest::Run& run = results.cells[0].run;
  double largest = 0.0;
  for (Index b = 0; b < 104; ++b) {
    std::vector<double> block(20, 0.0);
    for (Index p = 2 * b; p < 2 * b + 2; ++p)
      for (const auto& position : run.weights_of(p))
        block[static_cast<std::size_t>(position.asset)] += position.weight / 2.0;
    for (const double w : block) largest = std::max(largest, std::abs(w));
  }
  EXPECT_NEAR(weights["largest"].get<double>(), largest, 1e-5);
}

TEST(Page, CountsHowOftenNamesAreHeld) {
  const study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}});
  const json held = data_of(page_of(results))["held"][0];
  const backtest::Run& run = results.cells[0].run;
  const std::string first = held["names"][0][0];
  const auto asset =
      std::ranges::find(results.markets[0].tickers, first) - results.markets[0].tickers.begin();
  const auto days =
      std::ranges::count_if(run.weights, [&](const auto& w) { return w.asset == asset; });
  EXPECT_NEAR(held["names"][0][1].get<double>(), static_cast<double>(days) / 120.0, 1e-5);
}

TEST(Page, OfAHugeStudyHoldsAverages) {
  study::Results results =
      made_results({.markets = {"M"}, .ks = {"10%"}, .days = 3000, .seeds = 1});
  study::Cell lean = results.cells[6];
  lean.run = {};
  lean.run.dates = results.cells[6].run.dates;
  lean.run.returns = results.cells[6].run.returns;
  for (std::uint64_t seed = 1; seed < 400; ++seed) {
    lean.seed = seed;
    results.cells.push_back(lean);
  }
  for (study::Cell& cell : results.cells) cell.run.stats_from = 100;
  const json data = data_of(page_of(results));
  EXPECT_EQ(data["everyRun"], false);
  EXPECT_EQ(data["runs"].size(), 9u);
  // All days, for their wealth, and where those begin that count.
  for (const json& run : data["runs"]) {
    EXPECT_EQ(run["statsFrom"], 100);
    EXPECT_EQ(run["returns"].get<std::string>().size(), 4u * 4000u);
  }
}

TEST(Page, CountsNamesOnTheDaysThatCount) {
  study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}, .own = false});
  backtest::Run& run = results.cells[0].run;
  run.stats_from = 100;
  for (std::size_t i = 0; i < static_cast<std::size_t>(run.weights_begin[100]); ++i)
    run.weights[i].asset = 0;
  for (std::size_t i = static_cast<std::size_t>(run.weights_begin[100]); i < run.weights.size();
       ++i)
    run.weights[i].asset = 1 + static_cast<Index>(i % 2);
  const json held = data_of(page_of(results))["held"][0];
  EXPECT_EQ(held["held"], 2);
  EXPECT_EQ(held["names"][0], json::parse(R"(["T101", 1.0, )" + held["names"][0][2].dump() + "]"));
}

TEST(Page, OfNothingIsStillAPage) {
  EXPECT_THAT(page_of({}), HasSubstr("No cell of this study is done"));
}

}  // namespace
}  // namespace sharpen::report
