// The Sharpe ratio against what trading costs.
const Costs = (() => {
  const { number } = Page;
  const levels = Study.costLevels;

  // Zero, and the costs that the study charged.
  function marks(curves) {
    const charged = new Set(curves.map(({ cost }) => cost));
    return (context, area, graph) => {
      const line = (x1, y1, x2, y2) => {
        context.beginPath();
        context.moveTo(x1, y1);
        context.lineTo(x2, y2);
        context.stroke();
      };
      context.save();
      context.strokeStyle = Look.read("--quiet");
      const zero = graph.toDomYCoord(0);
      if (zero > area.y && zero < area.y + area.h) line(area.x, zero, area.x + area.w, zero);
      context.setLineDash([3, 4]);
      for (const cost of charged) {
        const x = graph.toDomXCoord(cost);
        if (x >= area.x && x <= area.x + area.w) line(x, area.y, x, area.y + area.h);
      }
      context.restore();
    };
  }

  // [low, value, high]: an interval that is not known has no width.
  function point({ low, sharpe, high }, i) {
    if (sharpe[i] === null) return [null, null, null];
    return [low[i] ?? sharpe[i], sharpe[i], high[i] ?? sharpe[i]];
  }

  function draw(div, readout, group, methods) {
    const curves = methods
      .map((m) => Study.curves.find((curve) => curve.group === group && curve.method === m))
      .filter(Boolean);
    const rows = levels.map((cost, i) => [cost, ...curves.map((curve) => point(curve, i))]);
    Lines.draw(div, {
      family: "costs",
      methods: curves.map(({ method }) => method),
      rows: curves.length > 0 ? rows : [],
      nameOf: (cost) => `at ${cost} bp`,
      show: (sharpe) => number(sharpe, 1),
      tell: (found) =>
        Array.isArray(found) && found[1] !== null
          ? `${number(found[1])} (${number(found[0])} to ${number(found[2])})`
          : "–",
      x: { axisLabelFormatter: (cost) => `${cost} bp`, axisLabelWidth: 60 },
      readout,
      dygraph: {
        customBars: true,
        fillAlpha: 0.1,
        xRangePad: 24,
        interactionModel: {},
        underlayCallback: marks(curves),
      },
    });
  }

  return { draw };
})();
