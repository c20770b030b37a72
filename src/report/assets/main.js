// What is chosen, and what is drawn for it.
(() => {
  const { get, make, number, percent, fillSelect } = Page;
  const chosen = { market: 0, k: "", seed: null, methods: new Set(), window: 126, log: false };

  const groupsOf = (market) =>
    Study.groups.map((group, g) => ({ ...group, g })).filter((group) => group.market === market);
  const group = () => {
    const groups = groupsOf(chosen.market);
    return (groups.find((found) => found.given === chosen.k) || groups[0]).g;
  };
  const kText = ({ k, given }) => (given === String(k) ? String(k) : `${k} (${given})`);
  const market = () => Study.markets[chosen.market];
  const methodsHere = () => Look.shown.filter((m) => Study.runsOf(group(), m).length > 0);
  const visible = () => methodsHere().filter((m) => chosen.methods.has(m));

  // All while they are few; else what learning is about.
  function startingMethods() {
    if (Look.shown.length <= 5) return Look.shown;
    const learned = Look.shown.filter((m) => Study.methods[m].predicts || Study.methods[m].decides);
    return (learned.length > 0 ? learned : Look.shown).slice(0, 5);
  }

  function columns(methods, of, g = group()) {
    return methods
      .map((m) => ({ m, found: Study.series(g, m, chosen.seed) }))
      .filter(({ found }) => found)
      .map(({ m, found }) => ({ m, times: found.times, values: of(found), from: startOf(found) }));
  }

  // The time of the first day that counts for the statistics; null if every day does.
  const startOf = ({ times, statsFrom }) =>
    statsFrom === 0 ? null : (times[statsFrom] ?? times.at(-1) + 1);

  // The days that count for no method are shaded, and it is said why.
  function shading(columns) {
    const starts = columns.map(({ from }) => from);
    if (starts.length === 0 || starts.includes(null)) return {};
    const start = Math.min(...starts);
    return {
      underlayCallback: (context, area, graph) => {
        const right = Math.min(graph.toDomXCoord(start), area.x + area.w);
        context.fillStyle = Look.read("--grid");
        if (right > area.x) context.fillRect(area.x, area.y, right - area.x, area.h);
      },
    };
  }

  function drawLines() {
    const { riskFree, periodsPerYear } = market();
    const common = (id, of, show, dygraph = {}) => {
      const series = columns(visible(), of);
      Lines.draw(get(id), {
        family: "lines",
        methods: series.map(({ m }) => m),
        columns: series,
        show,
        readout: get(id + "-readout"),
        dygraph: { ...shading(series), ...dygraph },
      });
      return series;
    };
    const positive = (w) => (chosen.log && w <= 0 ? NaN : w);
    const wealth = (found) => Study.wealth(found.series).map(positive);
    const drawn = common("wealth", wealth, (w) => number(w, 2), { logscale: chosen.log });
    get("uncounted").hidden = drawn.every(({ from }) => from === null);
    const counted = (of) => (found) => Study.fromCounted(found, of);
    // The highest value is on the axis of zero: without room above it half of the line is cut off.
    common("drawdown", counted(Study.drawdown), (d) => percent(d, 0), { yRangePad: 8 });
    const rolling = (r) => Study.rolling(r, chosen.window, riskFree, periodsPerYear);
    common("rolling", counted(rolling), (s) => number(s, 1));
    Costs.draw(get("at-cost"), get("at-cost-readout"), group(), visible());
  }

  // Decision-focused methods against the prediction-focused ones with the same optimizer, and
  // against the two of the paper's figures. Those of the paper come first where there are too many.
  function rivals() {
    const most = 6;
    const compared = Look.shown.filter((m) => Study.methods[m].role !== "sweep");
    const isPaper = (m) => Study.methods[m].role === "paper";
    const dfl = compared
      .filter((m) => Study.methods[m].decides)
      .sort((a, b) => isPaper(b) - isPaper(a) || a - b);
    const pfl = compared.filter((m) => Study.methods[m].predicts);
    const found = [];
    for (const d of dfl) {
      const same = (m) => Study.methods[m].optimizer === Study.methods[d].optimizer;
      const against = pfl.filter((m) => same(m) || (isPaper(d) && Study.methods[m].inFigures));
      const added = [...against, d].filter((m) => !found.includes(m));
      if (against.length > 0 && found.length + added.length <= most) found.push(...added);
    }
    if (found.length > 0) return { methods: found, learned: true };
    return { methods: startingMethods().slice(0, most), learned: false };
  }

  function drawPanels() {
    const place = get("panels");
    for (const chart of [...Lines.charts]) if (chart.family === "days") Lines.drop(chart.div);
    place.replaceChildren();
    const shown = rivals();
    const names = shown.methods.map((m) => Study.methods[m].label);
    const what = shown.learned
      ? "Decision-focused against prediction-focused learning"
      : names.slice(0, -1).join(", ") + (names.length > 1 ? " and " : "") + names.at(-1);
    get("days-lead").textContent =
      what + ", one panel for each k of the market chosen above, all on one scale.";
    const panels = groupsOf(chosen.market).map((found) => ({
      ...found,
      columns: columns(shown.methods, (run) => run.series, found.g),
    }));
    let most = 0;
    for (const panel of panels)
      for (const { values } of panel.columns)
        for (const r of values) most = Math.max(most, Math.abs(r));
    // All of them first: how wide one is depends on the others.
    for (const panel of panels) {
      const title = `k = ${kText(panel)}`;
      panel.div = make("div", { class: "chart", role: "img" });
      panel.div.setAttribute("aria-label", "Return of every test day, " + title);
      const caption = make("figcaption", {}, title);
      place.append(make("figure", { class: "chart-box card" }, caption, panel.div));
    }
    for (const panel of panels) {
      Lines.draw(panel.div, {
        family: "days",
        methods: panel.columns.map(({ m }) => m),
        columns: panel.columns,
        show: (r) => percent(r, 1),
        percent: true,
        readout: get("days-readout"),
        width: 0.9,
        fade: "b8",
        dygraph: {
          ...shading(panel.columns),
          valueRange: most > 0 ? [-1.05 * most, 1.05 * most] : null,
        },
      });
    }
    const legend = shown.methods.map((m) => {
      const item = make("span");
      item.append(Look.swatch(m), " " + Study.methods[m].label);
      return item;
    });
    get("days-readout").replaceChildren(...legend);
    for (const chart of Lines.charts)
      if (chart.family === "days") chart.readout = readoutOf(legend);
  }

  // The legend stands where the values are shown, until the pointer is over a panel.
  function readoutOf(legend) {
    const show = (...nodes) =>
      get("days-readout").replaceChildren(...(nodes.length > 1 ? nodes : legend));
    return { replaceChildren: show };
  }

  const option = (m) => [String(m), Study.methods[m].label];
  function keepSelect(select, options, fallback) {
    const values = options.map(([value]) => value);
    fillSelect(select, options, values.includes(select.value) ? select.value : fallback);
  }

  function drawMonths() {
    const method = Number(get("month-method").value);
    const found = Study.series(group(), method, chosen.seed);
    Pictures.heat(get("months"), found && Study.counted(found));
  }

  function fillHeldRuns() {
    const runs = Study.runsOf(group(), Number(get("held-method").value));
    const name = (run) => (run.seed === null ? "the only one" : "seed " + run.seed);
    keepSelect(get("held-run"), runs.map((run, i) => [String(i), name(run)]), "0");
  }

  function drawHoldings() {
    const method = Number(get("held-method").value);
    const run = Study.runsOf(group(), method)[Number(get("held-run").value)];
    if (run) Study.series(group(), method, run.seed);
    Holdings.weights(get("weights"), get("weights-readout"), run);
    Holdings.often(get("held"), group(), method);
  }

  function drawAll() {
    const here = methodsHere();
    const preferred = here.find((m) => Study.methods[m].decides) ?? here[0];
    keepSelect(get("month-method"), here.map(option), String(preferred));
    keepSelect(get("held-method"), here.map(option), String(preferred));
    fillHeldRuns();
    drawLines();
    drawPanels();
    Pictures.strip(get("strip"), group());
    drawMonths();
    drawHoldings();
  }

  function fillK() {
    const groups = groupsOf(chosen.market);
    if (!groups.some((found) => found.given === chosen.k)) chosen.k = groups[0].given;
    const legend = get("k").querySelector("legend");
    get("k").replaceChildren(
      legend,
      ...groups.map((found) => {
        const input = make("input", { type: "radio", name: "k", value: found.given });
        input.checked = found.given === chosen.k;
        input.addEventListener("change", () => {
          chosen.k = found.given;
          fillRuns();
          drawAll();
        });
        return make("label", {}, input, kText(found));
      }),
    );
  }

  function fillRuns() {
    const runs = Study.runs.filter((run) => run.group === group() && run.seed !== null);
    const seeds = [...new Set(runs.map((run) => run.seed))];
    const all = "mean of the seeds" + (Study.everyRun ? "" : " (too many runs for one page)");
    const options = [["", all], ...seeds.map((seed) => [seed, "seed " + seed])];
    fillSelect(get("run"), options, chosen.seed ?? "");
    chosen.seed = get("run").value || null;
  }

  function fillMethods() {
    const chips = Look.shown.map((m) => {
      const input = make("input", { type: "checkbox", value: String(m) });
      input.checked = chosen.methods.has(m);
      input.addEventListener("change", () => {
        if (input.checked) chosen.methods.add(m);
        else chosen.methods.delete(m);
        drawLines();
      });
      return make("label", {}, input, Look.swatch(m), Study.methods[m].label);
    });
    get("methods").append(...chips);
  }

  function fillWindows() {
    const days = Math.max(...Study.markets.map((found) => found.dates.length));
    const sizes = [21, 63, 126, 252].filter((size) => size === 21 || size <= days / 2);
    chosen.window = sizes.filter((size) => size <= 126).at(-1);
    const options = sizes.map((size) => [String(size), String(size)]);
    fillSelect(get("window"), options, String(chosen.window));
  }

  function listen() {
    const on = (id, event, act) => get(id).addEventListener(event, act);
    on("controls", "submit", (event) => event.preventDefault());
    on("market", "change", () => {
      chosen.market = Number(get("market").value);
      fillK();
      fillRuns();
      drawAll();
    });
    on("run", "change", () => {
      chosen.seed = get("run").value || null;
      drawAll();
    });
    on("log", "change", () => {
      chosen.log = get("log").checked;
      drawLines();
    });
    on("window", "change", () => {
      chosen.window = Number(get("window").value);
      drawLines();
    });
    on("month-method", "change", drawMonths);
    on("held-method", "change", () => {
      fillHeldRuns();
      drawHoldings();
    });
    on("held-run", "change", drawHoldings);
    on("zoom-all", "click", () => Lines.showAll("lines"));
    on("zoom-in", "click", () => Lines.move("lines", 0, 0.5));
    on("zoom-out", "click", () => Lines.move("lines", 0, 2));
    on("pan-left", "click", () => Lines.move("lines", -0.4, 1));
    on("pan-right", "click", () => Lines.move("lines", 0.4, 1));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", Lines.restyle);
    let waiting = 0;
    addEventListener("resize", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        Pictures.strip(get("strip"), group());
        drawHoldings();
      }, 150);
    });
    // Paper is white, and narrower than the screen.
    addEventListener("beforeprint", () => {
      document.documentElement.classList.add("printing");
      Lines.restyle();
      Lines.fit(true);
    });
    addEventListener("afterprint", () => {
      document.documentElement.classList.remove("printing");
      Lines.restyle();
      Lines.fit(false);
    });
  }

  Tables.start();
  if (Study.runs.length === 0) {
    get("no-runs").hidden = false;
    return;
  }
  document.documentElement.classList.add("scripted");
  const withRuns = Study.markets.map((_, m) => m).filter((m) => groupsOf(m).length > 0);
  const hasRun = ({ g }) => Study.runs.some((run) => run.group === g);
  chosen.market = withRuns.find((m) => groupsOf(m).some(hasRun)) ?? 0;
  const markets = withRuns.map((m) => [String(m), Study.markets[m].name]);
  fillSelect(get("market"), markets, String(chosen.market));
  chosen.methods = new Set(startingMethods());
  fillK();
  fillRuns();
  fillMethods();
  fillWindows();
  listen();
  drawAll();
})();
