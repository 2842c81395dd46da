// A figure: heading, legend, panels, caption, what was found, small print, tables.
import { Chart } from "./chart";
import { button, choice, element } from "./dom";
import { exportPng, exportSvg } from "./export";
import { legend } from "./legend";
import { prose } from "./numbers";
import type { Dataset, Figure, Finding, Panel } from "./page";
import { tableDisclosure } from "./table";
import { badge } from "./tone";

type Datasets = Record<string, Dataset>;

const NO_DATA: Dataset = { title: "", columns: [], rows: [] };

function panelElement(panel: Panel, figure: Figure, chart: Chart): HTMLElement {
  const reset = button("Reset zoom", () => chart.redraw());
  reset.hidden = true;
  chart.onZoom = (zoomed) => (reset.hidden = !zoomed);
  const name = panel.title === "" ? figure.title : panel.title;
  const tools = element("div", { class: "tools" }, reset);
  tools.append(
    button("SVG", () => void exportSvg(chart, figure.title), { "aria-label": `SVG: save ${name}` }),
    button("PNG", () => void exportPng(chart, figure.title), { "aria-label": `PNG: save ${name}` }),
  );
  const bar = element("div", { class: "panel-bar" });
  if (panel.title !== "") bar.append(element("h4", {}, panel.title));
  bar.append(tools);
  return element("div", { class: panel.wide ? "panel wide" : panel.square ? "panel square" : "panel", "data-panel": panel.id }, bar, chart.element);
}

// One switch for all panels of a figure: charts that stand side by side have the same scale. The order is that of the first panel which has
// all of them.
function scaleChoice(figure: Figure, charts: Chart[]): HTMLElement[] {
  const labels: string[] = [];
  const most = [...figure.panels].sort((a, b) => b.views.length - a.views.length);
  for (const { views } of most) for (const { label } of views) if (!labels.includes(label)) labels.push(label);
  const switched = charts.filter(({ panel }) => panel.views.length > 1);
  if (switched.length === 0) return [];
  const own = labels.filter((label) => switched.some(({ panel }) => panel.views.some((view) => view.label === label)));
  const first = own[0] ?? "";
  switched.forEach((chart) => chart.show(first));
  return [choice(`Scale of ${figure.title}`, own, (place) => charts.forEach((chart) => chart.show(own[place] ?? "")))];
}

function findingElement(finding: Finding): HTMLElement {
  const subject = finding.subject === "" ? [] : [badge(finding.tone, finding.subject), " "];
  return element("li", {}, ...subject, ...prose(finding.text));
}

function body(figure: Figure, datasets: Datasets): HTMLElement[] {
  const charts = figure.panels.map((panel) => new Chart(panel, datasets[panel.data] ?? NO_DATA, figure.series));
  const parts: HTMLElement[] = [];
  const controls: HTMLElement[] = scaleChoice(figure, charts);
  if (figure.series.length > 0) controls.unshift(legend(figure.series, (hidden) => charts.forEach((chart) => chart.filter(hidden))));
  if (controls.length > 0) parts.push(element("div", { class: "controls" }, ...controls));
  if (charts.length > 0) {
    const layout = charts.length % 3 === 0 ? "panels three" : charts.length === 4 ? "panels two" : "panels";
    parts.push(element("div", { class: layout }, ...charts.map((chart) => panelElement(chart.panel, figure, chart))));
  }
  if (figure.caption !== "") parts.push(element("p", { class: "caption" }, ...prose(figure.caption)));
  if (figure.findings.length > 0) parts.push(element("ul", { class: "findings" }, ...figure.findings.map(findingElement)));
  if (figure.notes.length > 0) parts.push(element("ul", { class: "notes" }, ...figure.notes.map((note) => element("li", {}, ...prose(note)))));
  for (const id of figure.tables) {
    const dataset = datasets[id];
    if (dataset !== undefined) parts.push(tableDisclosure(id, figure.title, dataset, charts.length === 0));
  }
  return parts;
}

// The figure of the first screen: its curves are named in place, so that it needs no legend and no switch.
export function headlineFigure(figure: Figure, datasets: Datasets): HTMLElement {
  const charts = figure.panels.map((panel) => new Chart(panel, datasets[panel.data] ?? NO_DATA, figure.series));
  const panels = charts.map((chart) => panelElement({ ...chart.panel, title: "" }, figure, chart)); // the caption names the model
  const names = legend(figure.series, (hidden) => charts.forEach((chart) => chart.filter(hidden)));
  const caption = element("figcaption", { class: "caption" }, element("strong", {}, figure.title), " ", ...prose(figure.caption));
  return element("figure", { class: "headline-figure", id: figure.id }, names, ...panels, caption);
}

export function figureElement(figure: Figure, datasets: Datasets): HTMLElement {
  const heading = element("h3", {}, figure.title);
  const parts = body(figure, datasets);
  if (figure.collapsed) return element("details", { class: "figure", id: figure.id }, element("summary", {}, heading), ...parts);
  return element("article", { class: "figure", id: figure.id }, heading, ...parts);
}
