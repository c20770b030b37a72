// The strip plot of seeds and the heat map of months, in SVG and HTML: their colours follow the
// style sheet by themselves.
const Pictures = (() => {
  const { make, number } = Page;

  // Round numbers that cover [low, high] in about `count` steps.
  function ticks(low, high, count) {
    const rough = (high - low) / count || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    const out = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) {
      out.push(i * step);
    }
    return { values: out, digits: Math.max(0, -Math.floor(Math.log10(step))) };
  }

  // One row per method, one dot per run.
  function strip(place, group) {
    place.replaceChildren();
    const rows = Look.shown
      .map((method) => ({
        method,
        values: Study.runsOf(group, method).map((run) => run.sharpe).filter(Number.isFinite),
      }))
      .filter((row) => row.values.length > 0);
    const all = rows.flatMap((row) => row.values);
    if (all.length === 0)
      return place.append(make("p", { class: "note" }, "No run has a Sharpe ratio."));

    const width = Math.max(place.clientWidth || 0, 240);
    const left = Math.min(165, width * 0.36);
    const height = 30;
    const pad = (Math.max(...all) - Math.min(...all)) * 0.06 || 0.5;
    const low = Math.min(...all, 0) - pad;
    const high = Math.max(...all, 0) + pad;
    const x = (value) => left + ((value - low) / (high - low)) * (width - left - 14);
    const bottom = rows.length * height + 8;
    const svg = make("svg", { width, height: bottom + 24, role: "img" });
    svg.setAttribute("aria-label", "Annualised Sharpe ratio of every run, by method");
    const marks = ticks(low, high, Math.max(2, Math.floor((width - left) / 90)));
    for (const value of marks.values) {
      const line = make("line", { x1: x(value), x2: x(value), y1: 0, y2: bottom });
      line.setAttribute("class", Math.abs(value) < 1e-12 ? "zero" : "axis");
      const text = make("text", { x: x(value), y: bottom + 17 }, number(value, marks.digits));
      text.setAttribute("text-anchor", "middle");
      svg.append(line, text);
    }
    rows.forEach(({ method, values }, i) => {
      const y = i * height + height / 2 + 4;
      const name = make("text", { x: 0, y: y + 4 });
      const label = Study.methods[method].label;
      const room = Math.floor(left / 6.8);
      name.textContent = label.length > room ? label.slice(0, room - 1) + "…" : label;
      svg.append(name);
      const mean = values.reduce((a, b) => a + b, 0) / values.length;
      for (const value of values) {
        const dot = make("circle", { cx: x(value), cy: y, r: 5, "fill-opacity": 0.55 });
        dot.style.fill = Look.css(method);
        dot.append(make("title", {}, `${label}: ${number(value, 3)}`));
        svg.append(dot);
      }
      svg.append(make("line", { class: "mean", x1: x(mean), x2: x(mean), y1: y - 9, y2: y + 9 }));
    });
    place.append(svg);
  }

  const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

  // Years down, months across; a last column for the year.
  function heat(place, found) {
    place.replaceChildren();
    if (!found || found.series.length === 0)
      return place.append(make("p", { class: "note" }, "This method has no run here."));
    const years = new Map();
    found.series.forEach((r, t) => {
      const date = new Date(found.times[t]);
      const year = date.getUTCFullYear();
      if (!years.has(year)) years.set(year, { total: 1, month: new Map() });
      const entry = years.get(year);
      const month = date.getUTCMonth();
      entry.month.set(month, (entry.month.get(month) ?? 1) * Math.max(0, 1 + r));
      entry.total *= Math.max(0, 1 + r);
    });
    let most = 1e-9;
    for (const entry of years.values())
      for (const growth of entry.month.values()) most = Math.max(most, Math.abs(growth - 1));
    const cell = (growth, plain) => {
      if (growth === undefined) return make("td");
      const td = make("td", { class: growth >= 1 ? "up" : "down" }, number(100 * (growth - 1), 1));
      const depth = plain ? 0 : Math.min(70, (70 * Math.abs(growth - 1)) / most);
      td.style.setProperty("--depth", depth.toFixed(0) + "%");
      return td;
    };
    const names = ["%", ...months, "year"];
    const head = make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name)));
    const body = [...years].map(([year, entry]) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, String(year)),
        ...months.map((_, m) => cell(entry.month.get(m))),
        cell(entry.total, true),
      ),
    );
    place.append(make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
  }

  return { strip, heat };
})();
