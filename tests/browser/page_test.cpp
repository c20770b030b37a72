// The page of a report as a browser shows it.
#include "page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace sharpen {
namespace {

using nlohmann::json;
using testing::found_in;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::made_results;
using testing::open_page;
using testing::page_of;

class Browser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_chromium()) GTEST_SKIP() << "there is no chromium here";
  }
};

constexpr const char* kEvil =
    "<script>alert(1)</script><img src=x onerror=\"document.title='gone'\">";

// Two markets, one of them with names that would be markup if anything could be.
const std::string& evil_page() {
  static const std::string page = [] {
    study::Results results = made_results({.markets = {"plain", kEvil}});
    results.markets[0].tickers.assign(20, kEvil);
    for (std::size_t i = 0; i < 20; ++i) results.markets[0].tickers[i] += std::to_string(i);
    results.methods[6].label = kEvil;
    results.name = kEvil;
    results.cells[3].warnings = {kEvil};
    return page_of(results);
  }();
  return page;
}

const std::string& plain_page() {
  static const std::string page = page_of(made_results());
  return page;
}

TEST_F(Browser, OpensWithoutAWordOnTheConsole) {
  const testing::Opened opened = open_page(plain_page());
  EXPECT_THAT(opened.console, IsEmpty());
  EXPECT_THAT(opened.document, HasSubstr("class=\"scripted\""));
  EXPECT_THAT(opened.document, HasSubstr("<canvas"));
}

TEST_F(Browser, AsksForNothingAndBreaksNoPolicy) {
  const json found = found_in(evil_page(), R"(
    setTimeout(() => found({
      resources: performance.getEntriesByType("resource").map((entry) => entry.name),
      troubles: window.troubles,
      title: document.title,
    }), 1500);)");
  EXPECT_THAT(found["resources"], IsEmpty()) << found.dump();
  EXPECT_THAT(found["troubles"], IsEmpty()) << found.dump();
  EXPECT_THAT(found["title"].get<std::string>(), HasSubstr("<script>alert(1)</script>"));
}

TEST_F(Browser, ShowsNamesAsText) {
  const json found = found_in(evil_page(), R"(
    const text = (id) => document.getElementById(id).textContent;
    for (const chart of Lines.charts) chart.graph.setSelection(5);
    const wealth = [...Lines.charts].find((chart) => chart.div.id === "wealth");
    wealth.graph.getOption("highlightCallback")(null, wealth.rows[5][0].getTime(), [], 5);
    found({
      images: document.querySelectorAll("img").length,
      scripts: document.querySelectorAll("script").length,
      held: text("held"), weights: text("weights"), strip: text("strip"), methods: text("methods"),
      readout: text("wealth-readout"), market: text("market"), panels: text("days-readout"),
      table: document.querySelector("#table-sharpe thead").textContent,
      warnings: text("table-warnings"),
    });)");
  EXPECT_EQ(found["images"], 0);
  EXPECT_EQ(found["scripts"], 4) << "data, dygraphs, ours, and the one of this test";
  for (const char* place : {"held", "methods", "readout", "market", "panels", "table", "warnings"})
    EXPECT_THAT(found[place].get<std::string>(), HasSubstr("<script>alert(1)</script>")) << place;
  for (const char* place : {"weights", "strip"})
    EXPECT_THAT(found[place].get<std::string>(), HasSubstr("<script>")) << place;
}

TEST_F(Browser, SortsTablesByNumberUpDownAndBack) {
  const json found = found_in(plain_page(), R"(
    const table = document.querySelector("#table-performance table");
    const heads = [...table.tHead.rows].at(-1).cells;
    const values = (c) => [...table.tBodies[0].rows].map((row) => Number(row.cells[c].dataset.value));
    const texts = (c) => [...table.tBodies[0].rows].map((row) => row.cells[c].textContent);
    const out = { before: values(3), orders: [] };
    for (let i = 0; i < 3; i++) {
      heads[3].querySelector("button").click();
      out.orders.push({ values: values(3), sort: heads[3].getAttribute("aria-sort") });
    }
    heads[2].querySelector("button").click();
    out.names = texts(2);
    out.other = heads[3].getAttribute("aria-sort");
    found(out);)");
  const std::vector<double> before = found["before"];
  std::vector<double> sorted = before;
  std::ranges::sort(sorted);
  ASSERT_GT(sorted.size(), 10u);
  EXPECT_LT(sorted.front(), 0.0) << "negative numbers are where text would go wrong";
  EXPECT_EQ(found["orders"][0]["values"].get<std::vector<double>>(), sorted);
  EXPECT_EQ(found["orders"][0]["sort"], "ascending");
  std::ranges::reverse(sorted);
  EXPECT_EQ(found["orders"][1]["values"].get<std::vector<double>>(), sorted);
  EXPECT_EQ(found["orders"][1]["sort"], "descending");
  EXPECT_EQ(found["orders"][2]["values"].get<std::vector<double>>(), before);
  EXPECT_EQ(found["orders"][2]["sort"], "none");
  const std::vector<std::string> names = found["names"];
  EXPECT_EQ(names.front(), "1/n");
  EXPECT_EQ(found["other"], "none");
}

TEST_F(Browser, DrawsChartsAndZooms) {
  const json found = found_in(plain_page(), R"(
    const charts = [...Lines.charts];
    const ink = (canvas) => {
      const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      const colours = new Set();
      for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] > 200) colours.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
      return colours.size;
    };
    const drag = (chart, from, to) => {
      const canvas = chart.graph.canvas_;
      const box = canvas.getBoundingClientRect();
      const area = chart.graph.getArea();
      const at = (type, share, target) => target.dispatchEvent(new MouseEvent(type, {
        bubbles: true, cancelable: true, view: window, button: 0,
        clientX: box.left + area.x + share * area.w, clientY: box.top + area.y + area.h / 2,
      }));
      at("mousedown", from, canvas);
      at("mousemove", (from + to) / 2, document);
      at("mousemove", to, document);
      at("mouseup", to, document);
    };
    const of = (id) => charts.find((chart) => chart.div.id === id);
    const length = (chart) => { const [a, b] = chart.graph.xAxisRange(); return b - a; };
    const whole = length(of("wealth"));
    const inks = charts.map((chart) => ink(chart.graph.hidden_));
    drag(of("wealth"), 0.25, 0.75);
    const zoomed = ["wealth", "drawdown", "rolling"].map((id) => length(of(id)) / whole);
    document.getElementById("zoom-all").click();
    const again = length(of("rolling")) / whole;
    document.getElementById("zoom-in").click();
    const half = length(of("drawdown")) / whole;
    document.getElementById("zoom-all").click();
    document.getElementById("log").click();
    found({ count: charts.length, inks, zoomed, again, half,
      log: [...Lines.charts].find((chart) => chart.div.id === "wealth").graph.getOption("logscale") });)");
  EXPECT_EQ(found["count"], 7) << "wealth, drawdown, rolling Sharpe, costs, a panel for each k";
  for (const json& colours : found["inks"]) EXPECT_GE(colours.get<int>(), 3);
  for (const json& share : found["zoomed"]) EXPECT_NEAR(share.get<double>(), 0.5, 0.05);
  EXPECT_NEAR(found["again"].get<double>(), 1.0, 1e-9);
  EXPECT_NEAR(found["half"].get<double>(), 0.5, 1e-9);
  EXPECT_EQ(found["log"], true);
}

TEST_F(Browser, ComputesTheSeriesItDraws) {
  const study::Results results = made_results();
  const json found = found_in(plain_page(), R"(
    const series = Study.series(0, 6, null);
    found({
      average: [...series.series],
      wealth: Study.wealth(series.series).at(-1),
      ruin: [...Study.wealth([0.1, -1.2, 0.5])],
      rolling: [...Study.rolling([0.01, 0.03, 0.02, 0.02], 3, 0, 4)],
      drawdown: [...Study.drawdown([0.1, -0.5, 0.2])],
    });)");
  std::vector<double> average(120, 0.0);
  for (const study::Cell& cell : results.cells)
    if (cell.market == 0 && cell.method == 6 && cell.k_given == "10%")
      for (std::size_t t = 0; t < 120; ++t) average[t] += cell.run.returns[t] / 3.0;
  double wealth = 1.0;
  for (std::size_t t = 0; t < 120; ++t) {
    EXPECT_NEAR(found["average"][t].get<double>(), average[t], 1e-8);
    wealth *= 1.0 + average[t];
  }
  EXPECT_NEAR(found["wealth"].get<double>(), wealth, 1e-5);
  EXPECT_EQ(found["ruin"][2], 0.0);
  EXPECT_EQ(found["rolling"][1], nullptr);
  EXPECT_NEAR(found["rolling"][2].get<double>(), 0.02 / 0.01 * 2.0, 1e-9);
  EXPECT_NEAR(found["drawdown"][1].get<double>(), -0.5, 1e-12);
}

// What a table says of the days that count, its chart shows.
TEST_F(Browser, DrawsTheSharpeRatioAgainstTheCostOfTrading) {
  const study::Results results = made_results();
  const report::Summary summary = report::summarize(results, {.replications = 50}, Threads(1));
  const json found = found_in(page_of(results), R"(
    const chart = [...Lines.charts].find(({ div }) => div.id === "at-cost");
    chart.graph.getOption("highlightCallback")(null, 10, [], 2);
    found({
      methods: chart.methods, rows: chart.rows,
      readout: document.getElementById("at-cost-readout").textContent,
    });)");
  ASSERT_EQ(found["rows"].size(), 11u);
  ASSERT_GT(found["methods"].size(), 0u);
  for (std::size_t m = 0; m < found["methods"].size(); ++m) {
    const auto& curve = summary.entry(0, found["methods"][m]).after_costs.cost_curve;
    for (std::size_t i = 0; i < 11; ++i) {
      EXPECT_EQ(found["rows"][i][0], 5.0 * static_cast<double>(i));
      const json& point = found["rows"][i][m + 1];
      EXPECT_NEAR(point[0].get<double>(), curve[i].interval.low * std::sqrt(252.0), 1e-5);
      EXPECT_NEAR(point[1].get<double>(), curve[i].sharpe * std::sqrt(252.0), 1e-5);
      EXPECT_NEAR(point[2].get<double>(), curve[i].interval.high * std::sqrt(252.0), 1e-5);
    }
  }
  EXPECT_THAT(found["readout"].get<std::string>(), HasSubstr("at 10 bp"));
}

TEST_F(Browser, LeavesOutTheDaysThatDoNotCount) {
  study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}});
  for (study::Cell& cell : results.cells) {
    // A fall that is deeper than any of the days that count.
    for (std::size_t t = 5; t < 15; ++t) cell.run.returns[t] = -0.05;
    cell.run.stats_from = 40;
  }
  const json found = found_in(page_of(results), R"(
    const chart = (id) => [...Lines.charts].find((chart) => chart.div.id === id);
    const select = document.getElementById("run");
    select.value = "1";
    select.dispatchEvent(new Event("change"));
    const place = (id) => chart(id).methods.indexOf(6) + 1;
    const values = (id) => chart(id).rows.map((row) => row[place(id)]);
    const note = document.getElementById("uncounted");
    document.getElementById("month-method").value = "6";
    document.getElementById("month-method").dispatchEvent(new Event("change"));
    found({ wealth: values("wealth"), drawdown: values("drawdown"), rolling: values("rolling"),
      spans: ["wealth", "drawdown", "rolling"].map((id) => chart(id).graph.xAxisRange()),
      shaded: ["wealth", "drawdown"].map((id) => Boolean(chart(id).graph.getOption("underlayCallback"))),
      noted: !note.hidden, months: document.querySelectorAll("#months tbody td.up, #months tbody td.down").length,
      average: Study.series(0, 6, null).statsFrom });)");
  const auto run = std::ranges::find_if(
      results.cells, [](const study::Cell& cell) { return cell.method == 6 && cell.seed == 1; });
  const backtest::Metrics metrics = backtest::metrics(run->run.track(252.0));
  ASSERT_EQ(found["drawdown"].size(), 120u);
  double deepest = 0.0;
  for (std::size_t t = 0; t < 120; ++t) {
    EXPECT_EQ(found["drawdown"][t].is_null(), t < 40) << t;
    if (t >= 40) deepest = std::max(deepest, -found["drawdown"][t].get<double>());
  }
  EXPECT_NEAR(deepest, metrics.max_drawdown.depth, 1e-6);
  EXPECT_NEAR(found["wealth"][119].get<double>(), metrics.final_wealth, 1e-6);
  std::size_t first = 0;
  while (found["rolling"][first].is_null()) ++first;
  EXPECT_GE(first, 40u + 20u) << "a window of counted days";
  EXPECT_EQ(found["spans"][0], found["spans"][1]);
  EXPECT_EQ(found["spans"][0], found["spans"][2]);
  EXPECT_EQ(found["shaded"], json::parse("[true, true]"));
  EXPECT_EQ(found["noted"], true);
  EXPECT_EQ(found["average"], 40);
  EXPECT_EQ(found["months"], 4) << "February to April, and the year";
}

TEST_F(Browser, SaysNothingOfDaysThatDoNotCountIfAllDo) {
  const json found = found_in(plain_page(), R"(
    found({ hidden: document.getElementById("uncounted").hidden,
      shaded: [...Lines.charts].some(({ family, graph }) => family !== "costs" && graph.getOption("underlayCallback")) });)");
  EXPECT_EQ(found["hidden"], true);
  EXPECT_EQ(found["shaded"], false);
}

TEST_F(Browser, FollowsTheChoiceOfMarketKAndRun) {
  const json found = found_in(plain_page(), R"(
    const change = (id, value) => {
      const select = document.getElementById(id);
      select.value = value;
      select.dispatchEvent(new Event("change"));
    };
    const last = () => [...Lines.charts].find((chart) => chart.div.id === "wealth").rows.at(-1).slice(1).join();
    const out = [last()];
    document.querySelectorAll("#k input")[2].click();
    out.push(last());
    change("run", "1");
    out.push(last());
    change("market", "1");
    out.push(last());
    document.querySelector("#methods input:checked").click();
    out.push(last());
    found({ out, chosen: document.getElementById("run").value });)");
  const std::vector<std::string> states = found["out"];
  for (std::size_t i = 1; i < states.size(); ++i) EXPECT_NE(states[i], states[i - 1]) << i;
  EXPECT_EQ(found["chosen"], "1");
}

TEST_F(Browser, FitsAPhone) {
  const json found = found_in(evil_page(), R"(
    setTimeout(() => found({
      inner: innerWidth,
      page: document.documentElement.scrollWidth,
      canvas: Math.max(...[...document.querySelectorAll("canvas")].map((canvas) => canvas.getBoundingClientRect().right)),
      svg: Math.max(...[...document.querySelectorAll("svg")].map((svg) => svg.getBoundingClientRect().right)),
    }), 500);)",
                              "", 360);
  EXPECT_EQ(found["inner"], 360);
  EXPECT_LE(found["page"].get<double>(), found["inner"].get<double>());
  EXPECT_LE(found["canvas"].get<double>(), found["inner"].get<double>());
  EXPECT_LE(found["svg"].get<double>(), found["inner"].get<double>());
}

TEST_F(Browser, ShowsEveryMonthAndTheYear) {
  const json found = found_in(plain_page(), R"(
    // Two whole years of returns as wide as they mostly get.
    const times = [], series = [];
    for (let m = 0; m < 24; m++) {
      times.push(Date.UTC(2021, m, 15));
      series.push(m % 2 ? -0.256 : 0.274);
    }
    const months = document.getElementById("months");
    Pictures.heat(months, { times, series });
    const last = months.querySelector("thead th:last-child");
    found({ inner: innerWidth, text: last.textContent, right: last.getBoundingClientRect().right,
      room: months.getBoundingClientRect().right, width: months.scrollWidth, seen: months.clientWidth });)",
                              "--window-size=1280,900");
  EXPECT_EQ(found["inner"], 1280);
  EXPECT_EQ(found["text"], "year");
  EXPECT_LE(found["right"].get<double>(), found["room"].get<double>() + 0.5);
  EXPECT_LE(found["width"].get<double>(), found["seen"].get<double>());
}

TEST_F(Browser, KeepsTheLineOfNoDrawdownInsideTheChart) {
  const json found = found_in(plain_page(), R"(
    const chart = [...Lines.charts].find((chart) => chart.div.id === "drawdown");
    const area = chart.graph.getArea();
    found({ above: chart.graph.toDomYCoord(0) - area.y, most: chart.graph.yAxisRange()[1] });)");
  EXPECT_GE(found["above"].get<double>(), 4.0) << "pixels";
  EXPECT_LT(found["most"].get<double>(), 0.05) << "a drawdown is never above zero";
}

TEST_F(Browser, IsDarkWhereThatIsPreferred) {
  const std::string script = R"(
    const chart = [...Lines.charts][0];
    found({
      paper: getComputedStyle(document.body).backgroundColor,
      ink: getComputedStyle(document.body).color,
      grid: chart.graph.getOption("gridLineColor"),
      line: chart.graph.getColors()[0],
    });)";
  const json light = found_in(plain_page(), script, "--blink-settings=preferredColorScheme=1");
  const json dark = found_in(plain_page(), script, "--blink-settings=preferredColorScheme=0");
  for (const char* what : {"paper", "ink", "grid", "line"})
    EXPECT_NE(light[what], dark[what]) << what;
}

TEST_F(Browser, IsReachedByKeyboard) {
  const json found = found_in(plain_page(), R"(
    const controls = [...document.querySelectorAll("a[href], button, select, input, summary, [tabindex]")].filter((control) => control.checkVisibility());
    const lost = controls.filter((control) => {
      control.focus();
      return document.activeElement !== control || control.tabIndex < 0;
    });
    const nameless = controls.filter((control) =>
      !(control.textContent.trim() || control.getAttribute("aria-label") || (control.labels && control.labels.length)));
    found({ count: controls.length, lost: lost.map((control) => control.outerHTML.slice(0, 80)),
      nameless: nameless.map((control) => control.outerHTML.slice(0, 80)),
      heads: [...document.querySelectorAll("th")].filter((th) => !th.hasAttribute("scope")).length });)");
  EXPECT_GT(found["count"].get<int>(), 40);
  EXPECT_THAT(found["lost"], IsEmpty()) << found["lost"].dump();
  EXPECT_THAT(found["nameless"], IsEmpty()) << found["nameless"].dump();
  EXPECT_EQ(found["heads"], 0);
}

TEST_F(Browser, PrintsInLightAndNarrow) {
  const json found = found_in(plain_page(), R"(
    const chart = [...Lines.charts][0];
    const dark = chart.graph.getOption("gridLineColor");
    const widths = [...Lines.charts].map(({ div }) => div.offsetWidth);
    dispatchEvent(new Event("beforeprint"));
    const paper = chart.graph.getOption("gridLineColor");
    const width = Math.max(...[...Lines.charts].map(({ div }, i) => Number(div.style.zoom) * widths[i]));
    dispatchEvent(new Event("afterprint"));
    found({ dark, paper, width, after: chart.graph.getOption("gridLineColor"), wide: chart.div.offsetWidth });)",
                              "--blink-settings=preferredColorScheme=0 --window-size=1280,900");
  EXPECT_NE(found["dark"], found["paper"]);
  EXPECT_EQ(found["dark"], found["after"]);
  EXPECT_LE(found["width"].get<double>(), 680.5);
  EXPECT_GT(found["wide"].get<double>(), 680.0);
}

TEST_F(Browser, OpensAStudyWithoutResults) {
  study::Results results = made_results({.markets = {"M"}, .ks = {"10%"}});
  for (study::Cell& cell : results.cells) {
    cell.state = study::CellState::missing;
    cell.run = {};
  }
  for (const study::Results& empty : {results, study::Results()}) {
    const json found = found_in(page_of(empty), R"(
      found({ hidden: document.getElementById("no-runs").hidden,
        charts: getComputedStyle(document.getElementById("charts")).display });)");
    EXPECT_EQ(found["hidden"], false);
    EXPECT_EQ(found["charts"], "none");
  }
}

}  // namespace
}  // namespace sharpen
