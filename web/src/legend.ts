// The legend of a figure: a button for each series, which shows and hides it in every panel.
import { button, element, svgElement } from "./dom";
import type { Series } from "./page";
import { colourFor } from "./palette";
import { currentScheme, onSchemeChange } from "./scheme";

// Vega's symbols, about the origin.
const SHAPES: Record<string, string> = {
  circle: "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0Z",
  square: "M-3.5,-3.5h7v7h-7Z",
  diamond: "M0,-5L4,0L0,5L-4,0Z",
  cross: "M-4.5,-1.5h3v-3h3v3h3v3h-3v3h-3v-3h-3Z",
  "triangle-up": "M0,-4.5L4.5,3.5H-4.5Z",
  "triangle-down": "M0,4.5L4.5,-3.5H-4.5Z",
  "triangle-right": "M4.5,0L-3.5,4.5V-4.5Z",
  "triangle-left": "M-4.5,0L3.5,4.5V-4.5Z",
};
// From this many series on, choosing a few by hiding the others one by one is tedious.
const MANY = 5;

function swatch(series: Series): SVGElement {
  const colour = colourFor(series.colour, currentScheme());
  const frame = (...parts: Node[]) =>
    svgElement("svg", { viewBox: "0 -7 34 14", width: "34", height: "14", "aria-hidden": "true", "data-mark": series.mark ?? "line" }, ...parts);
  if (series.mark === "bar") return frame(svgElement("rect", { x: "10", y: "-6", width: "14", height: "12", fill: colour }));
  if (series.mark === "ribbon") {
    return frame(svgElement("path", { d: "M2,3C12,3 22,-3 32,-3", fill: "none", stroke: colour, "stroke-width": "6", opacity: "0.7", "stroke-dasharray": series.dash.join(" ") }));
  }
  if (series.mark === "box") {
    return frame(
      svgElement("rect", { x: "10", y: "-6", width: "14", height: "12", fill: colour, "fill-opacity": "0.3", stroke: colour }),
      svgElement("line", { x1: "10", x2: "24", y1: "1", y2: "1", stroke: colour, "stroke-width": "2.5" }),
    );
  }
  const line = svgElement("line", {
    x1: "1",
    x2: "33",
    y1: "0",
    y2: "0",
    stroke: colour,
    "stroke-width": String(Math.max(2, series.width ?? 2)),
    "stroke-dasharray": series.dash.join(" "),
  });
  const drawing = frame(line);
  const shape = SHAPES[series.shape];
  if (shape !== undefined) drawing.append(svgElement("path", { d: shape, transform: "translate(17)", fill: colour }));
  return drawing;
}

// Calls `change` with the names of the hidden series.
export function legend(all: Series[], change: (hidden: ReadonlySet<string>) => void): HTMLElement {
  const hidden = new Set<string>();
  const buttons = all.map((series) => {
    const toggle = button("", () => {
      if (!hidden.delete(series.name)) hidden.add(series.name);
      update();
    });
    // Long names are cut after two lines.
    toggle.append(swatch(series), element("span", { title: series.title }, series.title));
    return toggle;
  });
  const update = () => {
    all.forEach((series, place) => buttons[place]?.setAttribute("aria-pressed", String(!hidden.has(series.name))));
    change(hidden);
  };
  const bar = element("div", { class: "legend", role: "group", "aria-label": "Series shown" }, ...buttons);
  if (all.length >= MANY) {
    const showAll = () => {
      hidden.clear();
      update();
    };
    const hideAll = () => {
      for (const series of all) hidden.add(series.name);
      update();
    };
    bar.append(button("All", showAll, { class: "quiet" }), button("None", hideAll, { class: "quiet" }));
  }
  update();
  onSchemeChange(() => all.forEach((series, place) => buttons[place]?.querySelector("svg")?.replaceWith(swatch(series))));
  return bar;
}
