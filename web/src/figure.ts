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
  if (panel.views.length > 1) {
    tools.append(choice(`Scale of ${name}`, panel.views.map((view) => view.label), (place) => chart.show(place)));
  }
  tools.append(
    button("SVG", () => void exportSvg(chart, figure.title), { "aria-label": `SVG: save ${name}` }),
    button("PNG", () => void exportPng(chart, figure.title), { "aria-label": `PNG: save ${name}` }),
  );
  const bar = element("div", { class: "panel-bar" });
  if (panel.title !== "") bar.append(element("h4", {}, panel.title));
  bar.append(tools);
  return element("div", { class: panel.wide ? "panel wide" : panel.square ? "panel square" : "panel", "data-panel": panel.id }, bar, chart.element);
}

function findingElement(finding: Finding): HTMLElement {
  const subject = finding.subject === "" ? [] : [badge(finding.tone, finding.subject), " "];
  return element("li", {}, ...subject, ...prose(finding.text));
}

function body(figure: Figure, datasets: Datasets): HTMLElement[] {
  const charts = figure.panels.map((panel) => new Chart(panel, datasets[panel.data] ?? NO_DATA, figure.series));
  const parts: HTMLElement[] = [];
  if (figure.series.length > 0) parts.push(legend(figure.series, (hidden) => charts.forEach((chart) => chart.filter(hidden))));
  if (charts.length > 0) {
    const layout = charts.length % 3 === 0 ? "panels three" : "panels";
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

export function figureElement(figure: Figure, datasets: Datasets): HTMLElement {
  const heading = element("h3", {}, figure.title);
  const parts = body(figure, datasets);
  if (figure.collapsed) return element("details", { class: "figure", id: figure.id }, element("summary", {}, heading), ...parts);
  return element("article", { class: "figure", id: figure.id }, heading, ...parts);
}
