// Tables that sort by a click, or by Enter on the head of a column: up, down, as they came.
const Tables = (() => {
  const order = ["ascending", "descending", "none"];

  // Numbers as numbers, before words; what is not there comes last either way.
  function compare(a, b, sign) {
    if (a.missing || b.missing) return a.missing - b.missing;
    if (a.value !== null && b.value !== null) return sign * (a.value - b.value);
    if (a.value !== null || b.value !== null) return a.value !== null ? -1 : 1;
    return sign * a.text.localeCompare(b.text, "en", { numeric: true });
  }

  function key(cell) {
    const text = cell.textContent.trim();
    const given = cell.dataset.value;
    return {
      text,
      value: given === undefined ? null : Number(given),
      missing: text === "" || text === "–" ? 1 : 0,
    };
  }

  function sort(table, column, direction) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    rows.forEach((row, i) => (row.dataset.place ??= i));
    const inOrder = (a, b) => a.dataset.place - b.dataset.place;
    if (direction === "none") {
      rows.sort(inOrder);
    } else {
      const sign = direction === "ascending" ? 1 : -1;
      const keys = new Map(rows.map((row) => [row, key(row.cells[column])]));
      rows.sort((a, b) => compare(keys.get(a), keys.get(b), sign) || inOrder(a, b));
    }
    body.append(...rows);
  }

  function makeSortable(table) {
    const head = [...table.tHead.rows].at(-1);
    [...head.cells].forEach((cell, column) => {
      const button = Page.make("button", { type: "button" });
      button.append(...cell.childNodes);
      cell.append(button);
      cell.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const next = order[(order.indexOf(cell.getAttribute("aria-sort")) + 1) % order.length];
        for (const other of head.cells) other.setAttribute("aria-sort", "none");
        cell.setAttribute("aria-sort", next);
        sort(table, column, next);
      });
    });
  }

  return { start: () => document.querySelectorAll("table.sortable").forEach(makeSortable) };
})();
