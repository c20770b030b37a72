// Weights over time as a picture, and how often each name was held.
const Holdings = (() => {
  const { make, number, percent } = Page;

  function short(text, room) {
    const letters = [...text];
    return letters.length > room ? letters.slice(0, room - 1).join("") + "…" : text;
  }

  // Rows are the names most held, columns blocks of days; the deeper the colour, the larger the
  // weight.
  function weights(place, readout, run) {
    place.replaceChildren();
    readout.replaceChildren();
    const picture = run && run.weights;
    if (!picture || picture.names.length === 0) {
      const why = run ? "No weights are kept for this run." : "This method has no run here.";
      return place.append(make("p", { class: "note" }, why));
    }
    const { names, blocks, largest } = picture;
    const values = (picture.unpacked ??= Study.shorts(picture.values));
    const width = Math.max(place.clientWidth || 0, 240);
    const left = Math.min(110, width * 0.3);
    const row = 19;
    const step = (width - left) / blocks;
    const height = names.length * row;
    const svg = make("svg", { width, height: height + 22, role: "img" });
    svg.setAttribute("aria-label", "Weights of the names most held, over the test days");
    const weight = (i, b) => (values[i * blocks + b] / 32767) * largest;
    names.forEach((name, i) => {
      const text = make("text", { x: 0, y: i * row + 14 });
      text.textContent = short(name, Math.floor(left / 7.4));
      text.append(make("title", {}, name));
      svg.append(text);
      for (let b = 0; b < blocks; b++) {
        const w = weight(i, b);
        if (w === 0) continue;
        svg.append(
          make("rect", {
            class: w > 0 ? "pos" : "neg",
            x: (left + b * step).toFixed(2),
            y: i * row + 1,
            width: (step + 0.3).toFixed(2),
            height: row - 2,
            "fill-opacity": (0.12 + 0.88 * Math.sqrt(Math.abs(w) / largest)).toFixed(3),
          }),
        );
      }
    });
    const days = run.dates.length;
    const first = make("text", { x: left, y: height + 17 }, run.dates[0]);
    const last = make("text", { x: width, y: height + 17 }, run.dates[days - 1]);
    last.setAttribute("text-anchor", "end");
    svg.append(first, last);
    const span = number(days / blocks, days % blocks ? 1 : 0);
    const idle =
      `The ${names.length === 1 ? "name" : names.length + " names"} most held of ${picture.held}; each column is a mean over ` +
      `${span} ${span === "1" ? "day" : "days"}. Deepest colour: ${percent(largest)}.`;
    readout.textContent = idle;
    svg.addEventListener("mousemove", (event) => {
      const box = svg.getBoundingClientRect();
      const i = Math.floor((event.clientY - box.top) / row);
      const b = Math.floor((event.clientX - box.left - left) / step);
      if (i < 0 || i >= names.length || b < 0 || b >= blocks) return (readout.textContent = idle);
      const from = run.dates[Math.floor((b * days) / blocks)];
      readout.textContent = `${names[i]}, from ${from}: ${percent(weight(i, b))}`;
    });
    svg.addEventListener("mouseleave", () => (readout.textContent = idle));
    place.append(svg);
  }

  function often(place, group, method) {
    place.replaceChildren();
    const found = Study.held.find((held) => held.group === group && held.method === method);
    if (!found || found.names.length === 0) {
      const why = "No weights are kept for this method here.";
      return place.append(make("p", { class: "note" }, why));
    }
    const head = make(
      "tr",
      {},
      make("th", { scope: "col" }, "name"),
      make("th", { scope: "col", class: "meter" }, "days held"),
      make("th", { scope: "col", class: "num" }, "share"),
      make("th", { scope: "col", class: "num" }, "weight"),
    );
    const most = found.names[0][1];
    const rows = found.names.map(([name, share, mean]) => {
      const bar = make("span");
      bar.style.width = ((100 * share) / most).toFixed(1) + "%";
      return make(
        "tr",
        {},
        make("th", { scope: "row", title: name }, name),
        make("td", { class: "meter" }, bar),
        make("td", { class: "num" }, percent(share, 0)),
        make("td", { class: "num" }, percent(mean)),
      );
    });
    place.append(make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
    const more = found.held - found.names.length;
    const note =
      (more > 0 ? `${more} more ${more === 1 ? "name was" : "names were"} held less often. ` : "") +
      "Over all runs of the method; weight: the mean on days it is held.";
    place.append(make("p", { class: "note" }, note));
  }

  return { weights, often };
})();
