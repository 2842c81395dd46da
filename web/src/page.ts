// What rankfall writes into the page. All texts are plain text and may be hostile: they enter the document by textContent only.
import type { TopLevelSpec } from "vega-lite";

export interface Page {
  title: string;
  subtitle: string;
  version: string;
  // What the page is about, and how it was made: label and text, with an address where the text is a link.
  facts?: Fact[];
  headline?: Headline;
  summary: Answer[];
  sections: Section[];
  manifests: Manifest[];
  datasets: Record<string, Dataset>;
}

export interface Fact {
  label: string;
  text: string;
  link: string;
}

// The first screen: one figure with its curves named in place, and the numbers that matter.
export interface Headline {
  figure: Figure;
  numbers: { value: string; sentence: string }[];
}

export type Tone = "good" | "warning" | "bad" | "neutral";

export interface Answer {
  question: string;
  answer: string;
  tone: Tone;
}

export interface Section {
  id: string;
  title: string;
  // The step of the story that the section belongs to; empty: none.
  chapter?: string;
  intro: string;
  figures: Figure[];
}

export interface Figure {
  id: string;
  title: string;
  caption: string;
  // What was found, a sentence about each subject.
  findings: Finding[];
  notes: string[];
  // The whole figure behind a disclosure: secondary material.
  collapsed: boolean;
  // The legend, common to all panels; may be empty.
  series: Series[];
  panels: Panel[];
  // Ids of datasets shown as tables behind disclosures; open when there are no panels.
  tables: string[];
}

export interface Finding {
  subject: string;
  tone: Tone;
  text: string;
}

// A series is the rows whose column "series" is `name`.
export interface Series {
  name: string;
  title: string;
  colour: string;
  dash: number[];
  shape: string;
  // How it is drawn, so that the legend looks like the chart.
  mark?: "line" | "bar" | "ribbon" | "box";
  width?: number; // of a line
}

export interface Panel {
  id: string;
  title: string;
  // For those who do not see the chart.
  description: string;
  // The first is shown; with several there is a switch. Specs name their data "rows".
  views: { label: string; spec: TopLevelSpec }[];
  data: string;
  // Takes the whole width of the grid.
  wide: boolean;
  square?: boolean; // about as wide as high
}

export type ColumnKind = "text" | "prose" | "number" | "log10" | "verdict";
export type Value = string | number | null | Badge;

// Words with a sign.
export interface Badge {
  tone: Tone;
  text: string;
}

export interface Column {
  name: string;
  // Empty: not shown in the table.
  title: string;
  kind: ColumnKind;
}

export interface Dataset {
  title: string;
  columns: Column[];
  rows: Value[][];
}

// How a result was made: keys and values, in order.
export interface Manifest {
  name: string;
  entries: [string, string][];
}
