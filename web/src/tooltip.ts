// What the mouse points at, as rows of name and value, near the mouse and inside the window.
import { element } from "./dom";
import { formatLog10, formatNumber, numberNodes } from "./numbers";
import type { Column, Series } from "./page";

const DISTANCE = 14;
const EDGE = 8;
// What Vega-Lite makes of a value that is not there.
const NOTHING = new Set(["null", "undefined", "NaN", ""]);
const box = element("div", { class: "tooltip", "aria-hidden": "true", hidden: "" });

export function installTooltip(): void {
  document.body.append(box);
  window.addEventListener("scroll", hideTooltip, { passive: true });
}

export function hideTooltip(): void {
  box.hidden = true;
}

// Specs name fields by their columns: a column's title is text from a file and must not get into an expression.
function columnOf(key: string, columns: Column[]): Column | undefined {
  return columns.find((each) => each.name === key) ?? columns.find((each) => each.title === key);
}

// Vega-Lite hands numbers over as texts with a typographic minus; the column tells what they are.
function shownValue(column: Column | undefined, text: string, series: Series[]): (Node | string)[] {
  if (column?.name === "series") return [series.find((each) => each.name === text)?.title ?? text];
  const value = Number(text.replace("−", "-").replaceAll(",", ""));
  if (text.trim() === "" || !Number.isFinite(value) || column?.kind === "text") return [text];
  return numberNodes(column?.kind === "log10" ? formatLog10(value) : formatNumber(value));
}

function place(event: MouseEvent): void {
  const { width, height } = box.getBoundingClientRect();
  const right = document.documentElement.clientWidth - EDGE;
  const bottom = document.documentElement.clientHeight - EDGE;
  const left = event.clientX + DISTANCE + width > right ? event.clientX - DISTANCE - width : event.clientX + DISTANCE;
  const top = event.clientY + DISTANCE + height > bottom ? event.clientY - DISTANCE - height : event.clientY + DISTANCE;
  box.style.left = `${Math.max(EDGE, Math.min(left, right - width))}px`;
  box.style.top = `${Math.max(EDGE, Math.min(top, bottom - height))}px`;
}

type TooltipHandler = (handler: unknown, event: MouseEvent, item: unknown, value: unknown) => void;

export function tooltipFor(columns: Column[], series: Series[]): TooltipHandler {
  return (_handler, event, _item, value) => {
    if (value === null || value === undefined || value === "") return hideTooltip();
    const all = typeof value === "object" ? Object.entries(value) : [["", value]];
    const fields = all.filter(([, field]) => !NOTHING.has(String(field)));
    box.replaceChildren(
      ...fields.map(([key, field]) => {
        const column = columnOf(String(key), columns);
        const name = column === undefined || column.title === "" ? String(key) : column.title;
        return element(
          "div",
          {},
          element("span", { class: "tooltip-name" }, name),
          element("span", {}, ...shownValue(column, String(field), series)),
        );
      }),
    );
    box.hidden = false;
    place(event);
  };
}
