"use strict";
// Sorting and searching of tables. Without scripts the page says the same, in the order it was written.
for (const box of document.querySelectorAll(".sortable")) {
  const body = box.querySelector("tbody"), rows = Array.from(body.rows);
  const input = box.querySelector("input"), output = box.querySelector("output");
  const texts = rows.map((row) => Array.from(row.cells, (cell) =>
    cell.dataset.v === undefined ? cell.textContent.toLowerCase() : "").join("\n"));
  box.querySelector(".tools").hidden = false;
  const search = () => {
    const wanted = input.value.trim().toLowerCase();
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden = !texts[i].includes(wanted);
      shown += row.hidden ? 0 : 1;
    });
    output.value = shown === rows.length ? `${shown} rows` : `${shown} of ${rows.length} rows`;
  };
  input.addEventListener("input", search);
  const key = (row, at) => {
    const cell = row.cells[at], value = cell.dataset.v;
    return value === undefined ? cell.textContent : value === "" ? null : Number(value);
  };
  Array.from(box.querySelectorAll("thead th")).forEach((head, at, heads) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending" ||
        (!head.hasAttribute("aria-sort") && !head.classList.contains("number"));
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const order = rows.map((row, i) => [key(row, at), i, row]);
      order.sort(([a, i], [b, j]) => {
        if (a === null || b === null) return (a === null) - (b === null) || i - j; // what is unknown comes last
        const first = typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
        return (up ? first : -first) || i - j;
      });
      body.append(...order.map(([, , row]) => row));
    });
  });
}
addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("details.card")) one.open = true;
});
