// A dataset as a table behind a disclosure, made when it is opened and in pieces: most are never looked at.
import { button, element } from "./dom";
import { download } from "./export";
import { formatValue, numberNodes, prose } from "./numbers";
import type { Column, Dataset, Value } from "./page";
import { toCsv } from "./rows";
import { badge } from "./tone";

const PIECE = 500;
const SHORT = 40; // rows that are shown without scrolling inside the page

function isNumeric(column: Column): boolean {
  return column.kind === "number" || column.kind === "log10";
}

// Numbers need little width, sentences much; on a phone the titles stand beside the values.
function look(column: Column): Record<string, string> {
  if (isNumeric(column)) return { class: "numeric" };
  return column.kind === "prose" ? { class: "prose" } : {};
}

// Identifiers may break after their underscores; elsewhere a column would be as wide as the longest.
function breakable(text: string): (Node | string)[] {
  if (!/_/.test(text)) return prose(text);
  return text.split(/(?<=_)/).flatMap((part, place) => (place === 0 ? [part] : [element("wbr"), part]));
}

function cell(value: Value, column: Column): HTMLTableCellElement {
  const made = element("td", { ...look(column), "data-title": column.title });
  if (value === null) made.classList.add("missing");
  if (value !== null && typeof value === "object") {
    made.append(badge(value.tone, value.text));
  } else if (typeof value === "string") {
    made.append(element("span", {}, ...(column.kind === "prose" ? prose(value) : breakable(value))));
  } else {
    made.append(element("span", {}, ...numberNodes(formatValue(value, column.kind))));
    if (typeof value === "number") made.title = column.kind === "log10" ? `log10 = ${value}` : String(value);
  }
  return made;
}

function table(id: string, of: string, dataset: Dataset): HTMLElement[] {
  const columns = dataset.columns.map((column, place) => ({ column, place })).filter(({ column }) => column.title !== "");
  const head = columns.map(({ column }) => element("th", { scope: "col", ...look(column) }, column.title));
  const body = element("tbody");
  const more = button("", () => addPiece());
  const addPiece = () => {
    const done = body.rows.length;
    for (const row of dataset.rows.slice(done, done + PIECE)) {
      body.append(element("tr", {}, ...columns.map(({ column, place }) => cell(row[place] ?? null, column))));
    }
    more.textContent = `Show more (${body.rows.length} of ${dataset.rows.length} rows)`;
    more.hidden = body.rows.length === dataset.rows.length;
  };
  addPiece();
  const save = button("Download CSV", () => download(`${id}.csv`, new Blob([toCsv(dataset)], { type: "text/csv" })));
  const sentences = columns.some(({ column }) => column.kind === "prose");
  const shape = `table${dataset.rows.length > SHORT ? " tall" : ""}${sentences ? " cards" : ""}`;
  return [
    element(
      "div",
      { class: shape, role: "group", tabindex: "0", "aria-label": `${of}: ${dataset.title}` },
      element("table", {}, element("thead", {}, element("tr", {}, ...head)), body),
    ),
    element("div", { class: "tools" }, more, save),
  ];
}

export function tableDisclosure(id: string, of: string, dataset: Dataset, open: boolean): HTMLElement {
  const size = `${dataset.rows.length} ${dataset.rows.length === 1 ? "row" : "rows"}`;
  const disclosure = element("details", { class: "data" }, element("summary", {}, dataset.title, element("span", { class: "size" }, size)));
  const fill = () => {
    if (disclosure.open && disclosure.childElementCount === 1) disclosure.append(...table(id, of, dataset));
  };
  disclosure.addEventListener("toggle", fill);
  disclosure.open = open;
  fill();
  return disclosure;
}
