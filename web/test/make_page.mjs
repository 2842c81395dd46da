// Fills web/page.html as rankfall does, without rankfall.  node test/make_page.mjs FILE writes the sample page.
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { bundle } from "../build.mjs";
import { samplePage } from "./sample_page.mjs";

const hash = (text) => `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

export async function makePage(page) {
  const [template, style, script] = await Promise.all([
    readFile(new URL("../page.html", import.meta.url), "utf8"),
    readFile(new URL("../page.css", import.meta.url), "utf8"),
    bundle(),
  ]);
  const parts = {
    policy: `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data: blob:; base-uri 'none'; form-action 'none'`,
    title: escaped(page.title),
    style,
    data: JSON.stringify(page).replaceAll("<", "\\u003c"),
    script,
  };
  // One pass over the template: what is put in is never searched for placeholders.
  return template.replaceAll(/\{\{(policy|title|style|data|script)\}\}/g, (_, name) => parts[name]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writeFile(process.argv[2], await makePage(samplePage()));
}
