#!/usr/bin/env node
// tools/page_picture.mjs PAGE.html OUT.png [WIDTH HEIGHT [PLACE]]: the report page as a browser shows it, once its charts are
// drawn. PLACE is where the picture begins: pixels from the top, or the id of a figure. Needs web/node_modules
// (tools/web_packages) and Chromium.
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [page_file, out, width = "1280", height = "900", place = "0"] = process.argv.slice(2);
if (out === undefined) {
  console.error("usage: tools/page_picture.mjs PAGE.html OUT.png [WIDTH HEIGHT [PLACE]]");
  process.exit(2);
}
const web = resolve(dirname(fileURLToPath(import.meta.url)), "../web/package.json");
const { chromium } = createRequire(web)("playwright-core");
const executablePath = process.env.RANKFALL_BROWSER ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: Number(width), height: Number(height) }, colorScheme: "light" });
await page.goto(pathToFileURL(resolve(page_file)).href);
if (/^\d+$/.test(place)) await page.evaluate((y) => window.scrollTo(0, y), Number(place));
else await page.evaluate((id) => document.getElementById(id).scrollIntoView(), place);
await page.waitForTimeout(1500);
await page.screenshot({ path: out });
await browser.close();
