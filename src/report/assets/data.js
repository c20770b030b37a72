"use strict";

// What the page knows: the study's JSON, unpacked, and series computed from daily returns. Every
// name in it is data: it reaches the page as text, never as markup.
const Study = (() => {
  const raw = JSON.parse(document.getElementById("data").textContent);

  function bytes(base64) {
    const text = atob(base64);
    const out = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
    return new DataView(out.buffer);
  }

  function floats(base64) {
    const view = bytes(base64);
    const length = view.byteLength / 4;
    return Float64Array.from({ length }, (_, i) => view.getFloat32(4 * i, true));
  }

  function shorts(base64) {
    const view = bytes(base64);
    return Int16Array.from({ length: view.byteLength / 2 }, (_, i) => view.getInt16(2 * i, true));
  }

  // Milliseconds of a day; days that are no dates count from 1970 in their order.
  function time(date, place) {
    const whole = /^\d{4}(-\d\d){0,2}$/.test(date);
    const parsed = Date.parse(whole ? date : date.replace(" ", "T") + "Z");
    return Number.isNaN(parsed) ? place * 86400000 : parsed;
  }

  for (const market of raw.markets) market.times = market.dates.map(time);

  function daysOf(run) {
    const market = raw.markets[raw.groups[run.group].market];
    if (run.dates) return { dates: run.dates, times: run.dates.map(time) };
    const end = run.first + run.series.length;
    return {
      dates: market.dates.slice(run.first, end),
      times: market.times.slice(run.first, end),
    };
  }

  // Unpacked when first asked for: a large study opens quickly.
  function unpacked(run) {
    if (!run.series) {
      run.series = floats(run.returns);
      Object.assign(run, daysOf(run));
    }
    return run;
  }

  const runsOf = (group, method) =>
    raw.runs.filter((run) => run.group === group && run.method === method);

  // The mean over runs on the days that all of them have.
  function average(runs) {
    if (runs.length === 1) return unpacked(runs[0]);
    const days = new Map();
    for (const run of runs.map(unpacked))
      run.dates.forEach((date, t) => {
        const day = days.get(date) || { time: run.times[t], sum: 0, count: 0, counting: 0 };
        day.sum += run.series[t];
        day.count += 1;
        if (t >= run.statsFrom) day.counting += 1;
        days.set(date, day);
      });
    const common = [...days].filter(([, day]) => day.count === runs.length);
    return {
      dates: common.map(([date]) => date),
      times: common.map(([, day]) => day.time),
      series: Float64Array.from(common, ([, day]) => day.sum / runs.length),
      // The first day that counts for all.
      statsFrom: common.findLastIndex(([, day]) => day.counting < runs.length) + 1,
    };
  }

  const averages = new Map();

  // A method's daily returns: averaged over its runs, or of the run with that seed; null if it has
  // none. A method without seeds has one run, whichever seed is asked for.
  function series(group, method, seed) {
    const runs = runsOf(group, method);
    if (runs.length === 0) return null;
    if (seed !== null) {
      const found = runs.find((run) => run.seed === seed) || (runs[0].seed === null && runs[0]);
      return found ? unpacked(found) : null;
    }
    const key = group + ":" + method;
    if (!averages.has(key)) averages.set(key, average(runs));
    return averages.get(key);
  }

  // The days that count for the statistics: what tables are computed from, wealth apart.
  function counted({ dates, times, series, statsFrom }) {
    return {
      dates: dates.slice(statsFrom),
      times: times.slice(statsFrom),
      series: series.slice(statsFrom),
      statsFrom: 0,
    };
  }

  // What `of` makes of the days that count, with gaps for the days before.
  function fromCounted(found, of) {
    const values = new Float64Array(found.series.length).fill(NaN);
    values.set(of(counted(found).series), found.statsFrom);
    return values;
  }

  // W_t, which is 0 for good from the first day with 1 + r <= 0 on.
  function wealth(returns) {
    let w = 1;
    return Float64Array.from(returns, (r) => (w = w > 0 && 1 + r > 0 ? w * (1 + r) : 0));
  }

  function drawdown(returns) {
    let high = 1;
    return wealth(returns).map((w) => {
      high = Math.max(high, w);
      return w / high - 1;
    });
  }

  // Annualised Sharpe ratio of the last `days` days; NaN before there are as many.
  function rolling(returns, days, riskFree, periodsPerYear) {
    let sum = 0;
    let squares = 0;
    return Float64Array.from(returns, (r, t) => {
      const e = r - riskFree;
      sum += e;
      squares += e * e;
      if (t >= days) {
        const old = returns[t - days] - riskFree;
        sum -= old;
        squares -= old * old;
      }
      if (t + 1 < days) return NaN;
      const variance = (squares - (sum * sum) / days) / (days - 1);
      if (!(variance > 1e-18)) return NaN;
      return (sum / days / Math.sqrt(variance)) * Math.sqrt(periodsPerYear);
    });
  }

  return { ...raw, runsOf, series, counted, fromCounted, wealth, drawdown, rolling, shorts };
})();

// Elements and numbers.
const Page = (() => {
  const get = (id) => document.getElementById(id);

  // Text and attributes only.
  function make(tag, attributes = {}, ...children) {
    const svg = ["svg", "g", "rect", "line", "circle", "text", "title"].includes(tag);
    const node = svg
      ? document.createElementNS("http://www.w3.org/2000/svg", tag)
      : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  const minus = (text) => text.replace("-", "−");
  const number = (x, digits = 2) => (Number.isFinite(x) ? minus(x.toFixed(digits)) : "–");
  const percent = (x, digits = 1) => (Number.isFinite(x) ? number(100 * x, digits) + " %" : "–");

  // 2500 as 2.5k; powers of ten beyond what has a letter.
  function brief(x) {
    const letters = ["", "k", "M", "G", "T"];
    const size = Math.floor(Math.log10(Math.abs(x)) / 3 + 1e-9);
    if (!(size >= 1)) return String(x);
    if (size >= letters.length) return minus(x.toExponential(1));
    return minus(String(Number((x / 1000 ** size).toPrecision(4)))) + letters[size];
  }

  function fillSelect(select, options, chosen) {
    select.replaceChildren(
      ...options.map(([value, text]) => {
        const option = make("option", { value }, text);
        option.selected = value === chosen;
        return option;
      }),
    );
  }

  return { get, make, number, percent, brief, fillSelect };
})();

// Colours and strokes of methods: colours first, then the same ones dashed.
const Look = (() => {
  const colours = 8;
  const patterns = [null, [6, 3], [2, 3], [8, 3, 2, 3]];
  const shown = Study.methods
    .map((_, m) => m)
    .filter((m) => Study.runs.some((run) => run.method === m));
  // Vermilion is for decision-focused learning, wherever it stands.
  const firstDfl = shown.find((m) => Study.methods[m].decides);
  // Learned methods take the colours that are easiest to tell apart.
  const rank = (m) => (Study.methods[m].predicts ? 0 : Study.methods[m].decides ? 1 : 2);
  const others = shown.filter((m) => m !== firstDfl).sort((a, b) => rank(a) - rank(b) || a - b);
  const place = new Map(others.map((m, i) => [m, i >= 1 && firstDfl !== undefined ? i + 1 : i]));
  if (firstDfl !== undefined) place.set(firstDfl, 1);

  const variable = (method) => "--m" + ((place.get(method) ?? 0) % colours);
  const read = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return {
    shown,
    variable,
    css: (method) => `var(${variable(method)})`,
    colour: (method) => read(variable(method)),
    pattern: (method) => patterns[Math.floor((place.get(method) ?? 0) / colours) % patterns.length],
    read,
    swatch(method) {
      const svg = Page.make("svg", { width: 18, height: 10, class: "swatch" });
      svg.setAttribute("aria-hidden", "true");
      const line = Page.make("line", { x1: 0, y1: 5, x2: 18, y2: 5, "stroke-width": 3 });
      const pattern = this.pattern(method);
      if (pattern) line.setAttribute("stroke-dasharray", pattern.join(" "));
      line.style.stroke = this.css(method);
      svg.append(line);
      return svg;
    },
  };
})();
