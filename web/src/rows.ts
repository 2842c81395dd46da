// Datasets as Vega wants them, and as a file for other programs.
import type { Dataset, Value } from "./page";

export type Row = Record<string, Value>;

// The rows as objects, without those of hidden series. Fresh objects each time: Vega writes into what it is given.
export function visibleRows(dataset: Dataset, hidden: ReadonlySet<string>): Row[] {
  const names = dataset.columns.map((column) => column.name);
  const series = names.indexOf("series");
  const rows: Row[] = [];
  for (const values of dataset.rows) {
    if (series >= 0 && hidden.has(String(values[series]))) continue;
    const row: Row = {};
    names.forEach((name, place) => (row[name] = values[place] ?? null));
    rows.push(row);
  }
  return rows;
}

function csvField(value: Value): string {
  if (value === null) return "";
  const text = typeof value === "object" ? value.text : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// RFC 4180, all columns by name, numbers in full.
export function toCsv(dataset: Dataset): string {
  const lines = [dataset.columns.map((column) => column.name), ...dataset.rows];
  return lines.map((line) => line.map(csvField).join(",") + "\r\n").join("");
}
