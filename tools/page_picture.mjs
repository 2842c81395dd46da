#!/usr/bin/env node
// tools/page_picture.mjs PAGE.html OUT.png [WIDTH HEIGHT [SCROLL]]: the report page as a browser shows it, once its charts are
// drawn. Needs web/node_modules (tools/web_packages) and Chromium.
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [page_file, out, width = "1280", height = "900", scroll = "0"] = process.argv.slice(2);
if (out === undefined) {
  console.error("usage: tools/page_picture.mjs PAGE.html OUT.png [WIDTH HEIGHT [SCROLL]]");
  process.exit(2);
}
const web = resolve(dirname(fileURLToPath(import.meta.url)), "../web/package.json");
const { chromium } = createRequire(web)("playwright-core");
const executablePath = process.env.RANKFALL_BROWSER ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: Number(width), height: Number(height) }, colorScheme: "light" });
await page.goto(pathToFileURL(resolve(page_file)).href);
await page.evaluate((y) => window.scrollTo(0, y), Number(scroll));
await page.waitForTimeout(1500);
await page.screenshot({ path: out });
await browser.close();
