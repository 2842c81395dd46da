// How each result was made, key by key, behind disclosures.
import { element } from "./dom";
import type { Manifest } from "./page";

function manifestElement(manifest: Manifest): HTMLElement {
  const entries = manifest.entries.map(([key, value]) => element("div", {}, element("dt", {}, key), element("dd", {}, value)));
  return element("details", { class: "data" }, element("summary", {}, manifest.name), element("dl", { class: "manifest" }, ...entries));
}

export function manifestsSection(id: string, title: string, manifests: Manifest[]): HTMLElement {
  return element("section", { id }, element("h2", {}, title), ...manifests.map(manifestElement));
}
