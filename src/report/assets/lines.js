// Line charts by dygraphs. Its own legend, title and labels write HTML, so none of them is used:
// what is said about a chart is said in text beside it.
const Lines = (() => {
  if (Dygraph.Plugins && Dygraph.Plugins.Legend)
    Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);

  const charts = new Set();
  const formats = { year: "numeric", month: "short", day: "numeric", timeZone: "UTC" };
  const day = (date) => new Intl.DateTimeFormat("en-GB", formats).format(date);

  // Columns of methods as rows of days: [Date, value of each method or null].
  function rowsOf(columns) {
    const days = new Map();
    columns.forEach(({ times, values }, c) =>
      times.forEach((time, t) => {
        if (!days.has(time)) days.set(time, new Array(columns.length).fill(null));
        if (Number.isFinite(values[t])) days.get(time)[c] = values[t];
      }),
    );
    const times = [...days.keys()].sort((a, b) => a - b);
    return times.map((time) => [new Date(time), ...days.get(time)]);
  }

  function say(chart, row) {
    if (!chart.readout) return;
    const values = row === null ? null : chart.rows[row];
    if (!values) return chart.readout.replaceChildren(chart.idle || "");
    chart.readout.replaceChildren(
      Page.make("span", {}, (chart.nameOf || day)(values[0])),
      ...chart.methods.map((method, c) => {
        const item = Page.make("span");
        const text = (chart.tell || chart.show)(values[c + 1] ?? NaN);
        item.append(Look.swatch(method), " " + Study.methods[method].label + " " + text);
        return item;
      }),
    );
  }

  // Beside an axis there is room for few digits: 2.5M %, not 2500000.0 %.
  function tick(chart, y) {
    const value = chart.percent ? 100 * y : y;
    if (Math.abs(value) < 1000) return chart.show(y);
    return Page.brief(value) + (chart.percent ? " %" : "");
  }

  function style(chart) {
    const series = {};
    chart.methods.forEach((method, c) => {
      series[chart.labels[c + 1]] = {
        color: Look.colour(method) + (chart.fade || ""),
        strokePattern: Look.pattern(method),
        strokeWidth: chart.width || 1.6,
      };
    });
    return {
      series,
      gridLineColor: Look.read("--grid"),
      axisLineColor: Look.read("--line"),
    };
  }

  // Charts of one family show the same days and point at the same one.
  const family = (chart) => [...charts].filter((other) => other.family === chart.family);

  let following = false;
  function follow(chart, act) {
    if (following) return;
    following = true;
    for (const other of family(chart)) if (other !== chart) act(other);
    following = false;
  }

  // At the day nearest to this time.
  function point(chart, time) {
    let row = chart.rows.findIndex((values) => values[0].getTime() >= time);
    if (row < 0) row = chart.rows.length - 1;
    if (row < 0) return;
    chart.graph.setSelection(row);
    say(chart, row);
  }

  // options: family, methods, columns of days or rows of anything else, show (a value as text), tell
  // (likewise, in the readout), nameOf (a row), percent, readout, idle, plus dygraphs' own.
  function draw(div, { dygraph = {}, columns, rows, ...rest }) {
    const chart = { ...rest, div, rows: rows ?? rowsOf(columns) };
    drop(div);
    if (chart.rows.length === 0) {
      div.replaceChildren(Page.make("p", { class: "note" }, "Nothing to draw."));
      if (chart.readout) chart.readout.replaceChildren();
      return null;
    }
    // Labels only tell series apart; names are shown from the data.
    chart.labels = ["day", ...chart.methods.map((method) => "m" + method)];
    chart.graph = new Dygraph(div, chart.rows, {
      labels: chart.labels,
      labelsUTC: true,
      axisLabelFontSize: 12,
      highlightCircleSize: 3,
      connectSeparatedPoints: true,
      ...style(chart),
      axes: {
        x: { drawGrid: false, ...chart.x },
        y: { axisLabelWidth: 60, axisLabelFormatter: (y) => tick(chart, y), ...chart.y },
      },
      highlightCallback: (_, time, __, row) => {
        say(chart, row);
        follow(chart, (other) => point(other, time));
      },
      unhighlightCallback: () => {
        say(chart, null);
        follow(chart, (other) => {
          other.graph.clearSelection();
          say(other, null);
        });
      },
      drawCallback: (graph, initial) => {
        if (initial) return;
        const window = graph.xAxisRange();
        follow(chart, (other) => {
          const [from, to] = other.graph.xAxisRange();
          if (from !== window[0] || to !== window[1])
            other.graph.updateOptions({ dateWindow: window });
        });
      },
      ...dygraph,
    });
    charts.add(chart);
    say(chart, null);
    return chart;
  }

  function drop(div) {
    for (const chart of charts)
      if (chart.div === div) {
        chart.graph.destroy();
        charts.delete(chart);
      }
    div.replaceChildren();
  }

  const restyle = () => {
    for (const chart of charts) chart.graph.updateOptions(style(chart));
  };

  // Moves or stretches what a family shows, as shares of it.
  function move(name, shift, stretch) {
    const chart = [...charts].find((other) => other.family === name);
    if (!chart) return;
    const [first, last] = chart.graph.xAxisExtremes();
    const [from, to] = chart.graph.xAxisRange();
    const length = Math.min((to - from) * stretch, last - first);
    const least = Math.min(5 * 86400000, last - first);
    const span = Math.max(length, least);
    let start = (from + to - span) / 2 + shift * span;
    start = Math.max(first, Math.min(start, last - span));
    chart.graph.updateOptions({ dateWindow: [start, start + span] });
  }

  function showAll(name) {
    for (const chart of charts)
      if (chart.family === name) chart.graph.updateOptions({ dateWindow: null });
  }

  // To the width of a page of paper and back. Canvases that are given another size while a page
  // prints come out empty, so they are scaled.
  function fit(paper) {
    const room = 680;
    for (const { div } of charts)
      div.style.zoom = paper ? Math.min(1, room / div.offsetWidth) : "";
  }

  return { draw, drop, restyle, move, showAll, fit, charts };
})();
