// The page in a real browser.  RANKFALL_PAGES: files to test, colon-separated (default: the sample page).  RANKFALL_BROWSER: the browser's
// path.  RANKFALL_SHOTS: a directory for screenshots.
import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, delimiter, join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { makePage } from "./make_page.mjs";
import { bigPage, samplePage } from "./sample_page.mjs";

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 900 };
const PATIENCE = { timeout: 30_000 }; // other work may share the cores

function findBrowser() {
  if (process.env.RANKFALL_BROWSER) return process.env.RANKFALL_BROWSER;
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const paths = names.flatMap((name) => (process.env.PATH ?? "").split(delimiter).map((directory) => join(directory, name)));
  return paths.find((path) => existsSync(path));
}

const executablePath = findBrowser();
if (executablePath === undefined) console.log("no chromium, chromium-browser or google-chrome in PATH: the browser tests are skipped");
const given = (process.env.RANKFALL_PAGES ?? "").split(":").filter((path) => path !== "").map((path) => resolve(path));
const directory = await mkdtemp(join(tmpdir(), "rankfall-page-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
const sample = join(directory, "sample.html");
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let browser;

// Opens a file; `complaints` collects errors and requests, of which there must be none.
async function open(file, { viewport = DESKTOP, colorScheme = "light", collapsed = false } = {}) {
  const page = await browser.newPage({ viewport, colorScheme, reducedMotion: "reduce" });
  page.setDefaultTimeout(PATIENCE.timeout);
  const complaints = [];
  const address = pathToFileURL(file).href;
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => complaints.push(`dialog: ${dialog.message()}`));
  page.on("request", (request) => {
    if (request.url() !== address && !request.url().startsWith("blob:")) complaints.push(`request: ${request.url()}`);
  });
  await page.goto(address);
  await page.waitForSelector("main");
  if (!collapsed) await page.evaluate(() => document.querySelectorAll("details.figure").forEach((figure) => (figure.open = true)));
  return { page, complaints };
}

// What a chart shows: marks of an SVG, opaque pixels of a canvas. Runs in the page.
function drawnIn(root) {
  let sum = 0;
  for (const canvas of root.querySelectorAll(".chart canvas")) {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    for (let place = 3; place < data.length; place += 4) sum += data[place] > 0 ? 1 : 0;
  }
  for (const mark of root.querySelectorAll('.chart svg [class*="role-mark"] :is(path, line, text)')) {
    if (mark.matches("path") ? (mark.getAttribute("d") ?? "") !== "" : true) sum += 1;
  }
  return sum;
}

// Of a page, a figure or a panel.
async function drawAll(root) {
  for (const chart of await root.locator(".chart:visible").all()) {
    await chart.scrollIntoViewIfNeeded();
    await chart.locator("svg, canvas").first().waitFor();
  }
}

async function waitForDrawn(page, figure, wanted, message) {
  const started = Date.now();
  let drawn;
  do {
    drawn = await figure.evaluate(drawnIn);
    if (wanted(drawn)) return drawn;
    await page.waitForTimeout(20);
  } while (Date.now() - started < PATIENCE.timeout);
  assert.fail(`${message}: ${drawn}`);
}

async function saved(page, control) {
  const [download] = await Promise.all([page.waitForEvent("download"), control.click()]);
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}

// In an empty page: the policy of the report holds for documents it parses, too.
async function svgMarks(text) {
  const page = await browser.newPage();
  const marks = await page.evaluate((source) => {
    const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
    if (parsed.querySelector("parsererror") !== null || parsed.documentElement.localName !== "svg") return -1;
    return parsed.querySelectorAll('[class*="role-mark"] path').length;
  }, text);
  await page.close();
  return marks;
}

// Ids of the panels whose y axes have logarithms. Runs in the page.
function panelsOfLogarithms() {
  const page = JSON.parse(document.getElementById("page").textContent);
  const figures = [...page.sections.flatMap((section) => section.figures), ...(page.headline === undefined ? [] : [page.headline.figure])];
  const panels = figures.flatMap((figure) => figure.panels);
  return panels.filter(({ data }) => page.datasets[data].columns.some(({ name, kind }) => name === "value" && kind === "log10")).map(({ id }) => id);
}

// What the axes of a panel say and where: each label's text, and log10 of the value at whose place Vega drew it. Labels that are
// words are left out. Runs in the page.
function labelsIn(panel, logarithms) {
  return [...panel.querySelectorAll(".chart svg .role-axis")].map((axis) =>
    [...axis.querySelectorAll(".role-axis-label text")]
      .filter((each) => typeof each.__data__?.datum?.value === "number" && /^[-−0-9]/.test(each.textContent) && each.getAttribute("opacity") !== "0")
      .map((each) => {
        const { value } = each.__data__.datum;
        const ofLogarithms = logarithms.includes(panel.dataset.panel) && each.getAttribute("text-anchor") === "end"; // labels of y axes end there
        return { text: each.textContent, log10: ofLogarithms ? value : Math.log10(Math.abs(value)) };
      }),
  );
}

// log10 of what a label says: 10⁻¹², 0.32, 3.2×10⁻¹³, 1,000. NaN if it is no number.
function log10Of(label) {
  if (/^[-−]/.test(label)) return log10Of(label.slice(1));
  const lowered = [...label].map((sign) => "0123456789-"["⁰¹²³⁴⁵⁶⁷⁸⁹⁻".indexOf(sign)] ?? sign).join("");
  const power = /^(?:([0-9.]+)·)?10([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)$/u.exec(label);
  if (power) return Number(lowered.slice(lowered.length - power[2].length)) + Math.log10(Number(power[1] ?? 1));
  return Math.log10(Math.abs(Number(label.replaceAll("−", "-").replaceAll(",", ""))));
}

async function violations(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const found = await window.axe.run({ exclude: [".chart svg"] }, { preload: false });
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(" | ")}`);
  });
}

// Every label of an axis says the value at its place, and no two say the same; in both scales, where there are two.
async function assertLabels(page) {
  const logarithms = await page.evaluate(panelsOfLogarithms);
  let seen = 0;
  for (const panel of await page.locator(".panels > .panel:first-child, .headline .panel").all()) {
    const buttons = await panel.locator("xpath=ancestor::*[contains(@class, 'figure')][1]").locator(".controls > .choice button").all();
    for (const button of buttons.length > 0 ? buttons : [undefined]) {
      const of = `${await panel.getAttribute("data-panel")} ${(await button?.textContent()) ?? ""}`;
      await drawAll(panel);
      await button?.click();
      await waitForDrawn(page, panel, (drawn) => drawn > 0, `nothing drawn: ${of}`);
      for (const labels of await panel.evaluate(labelsIn, logarithms)) {
        for (const { text, log10 } of labels) {
          const said = log10Of(text);
          assert.ok(said === log10 || Math.abs(said - log10) < 0.003, `${of}: '${text}' stands at 10^${log10}`);
          seen += 1;
        }
        assert.equal(new Set(labels.map(({ text }) => text)).size, labels.length, `${of}: ${labels.map(({ text }) => text)}`);
      }
    }
  }
  assert.ok(seen > 0);
}

// Of the sample everything is tried; of pages that were given, which are larger, some of what is slow.
function testPage(file) {
  const most = file === sample ? Infinity : 4;
  const collapsed = file !== sample;
  test("draws every chart, with labels that are true, without errors and requests", async () => {
    const { page, complaints } = await open(file);
    await drawAll(page);
    for (const chart of await page.locator(".panel").all()) {
      assert.ok((await chart.evaluate(drawnIn)) > 0, `nothing drawn: ${await chart.getAttribute("data-panel")}`);
    }
    if (file !== sample) await assertLabels(page); // the sample has labels of its own
    assert.deepEqual(complaints, []);
    await page.close();
  });

  test("a button hides its series in every panel and brings it back", async () => {
    const { page, complaints } = await open(file);
    for (const figure of (await page.locator(".figure:has(.legend):has(.chart)").all()).slice(0, most)) {
      await drawAll(figure);
      const first = figure.locator(".legend button").first();
      const before = await figure.evaluate(drawnIn);
      await first.focus();
      await page.keyboard.press("Space");
      assert.equal(await first.getAttribute("aria-pressed"), "false");
      await waitForDrawn(page, figure, (drawn) => drawn !== before, "hiding changed nothing");
      await page.keyboard.press("Enter");
      assert.equal(await first.getAttribute("aria-pressed"), "true");
      await waitForDrawn(page, figure, (drawn) => drawn === before, `showing did not bring ${before} back`);
    }
    assert.deepEqual(complaints, []);
    await page.close();
  });

  test("one switch shows the other scale in all panels of a figure", async () => {
    const { page, complaints } = await open(file);
    assert.equal(await page.locator(".panel .choice").count(), 0, "no panel has a switch of its own");
    for (const figure of (await page.locator(".figure:has(.controls > .choice)").all()).slice(0, most)) {
      await drawAll(figure);
      for (const choice of await figure.locator(".controls > .choice button").all()) {
        await choice.click();
        assert.equal(await choice.getAttribute("aria-pressed"), "true");
        for (const panel of await figure.locator(".panel").all()) await waitForDrawn(page, panel, (drawn) => drawn > 0, "nothing drawn");
      }
    }
    assert.deepEqual(complaints, []);
    await page.close();
  });

  test("charts and tables can be saved", async () => {
    const { page, complaints } = await open(file);
    for (const panel of (await page.locator(".panels > .panel:first-child").all()).slice(0, most)) {
      await panel.scrollIntoViewIfNeeded();
      const svg = await saved(page, panel.getByRole("button", { name: "SVG" }));
      assert.match(svg.name, /\.svg$/);
      assert.ok((await svgMarks(svg.bytes.toString("utf8"))) > 0, svg.name);
      const png = await saved(page, panel.getByRole("button", { name: "PNG" }));
      assert.match(png.name, /\.png$/);
      assert.equal(png.bytes.subarray(0, 8).toString("latin1"), "\x89PNG\r\n\x1a\n");
      assert.ok(png.bytes.readUInt32BE(16) >= 1440, "twice 720 pixels wide");
    }
    for (const table of (await page.locator(".figure > details.data:nth-child(1 of .data)").all()).slice(0, most)) {
      if (!(await table.evaluate((details) => details.open))) await table.locator("summary").click();
      await table.locator("tbody tr").first().waitFor();
      const rows = await table.locator("tbody tr").count();
      assert.ok(rows > 0 && rows <= 500, `${rows} rows`);
      const csv = await saved(page, table.getByRole("button", { name: "Download CSV" }));
      assert.ok(csv.bytes.toString("utf8").split("\r\n").length > rows, csv.name);
    }
    assert.deepEqual(complaints, []);
    await page.close();
  });

  for (const colorScheme of ["light", "dark"]) {
    test(`is accessible: ${colorScheme}`, async () => {
      const { page } = await open(file, { colorScheme, collapsed });
      await page.evaluate((all) => document.querySelectorAll(all).forEach((details) => (details.open = true)), collapsed ? ":not(details) > details.data" : "details");
      // All rows of a table are alike, and axe is slow.
      await page.locator("tbody tr:nth-child(n + 20)").evaluateAll((rows) => rows.forEach((row) => row.remove()));
      await drawAll(page);
      assert.deepEqual(await violations(page), []);
      await page.close();
    });
  }

  test("fits a phone", async () => {
    const { page, complaints } = await open(file, { viewport: { width: 360, height: 740 } });
    await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
    await drawAll(page);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
    const wide = await page.evaluate(() =>
      [...document.querySelectorAll("body *")]
        .filter((each) => each.closest(".table, .skip, svg, .legend span") === null && each.getBoundingClientRect().right > 361)
        .map((each) => each.outerHTML.slice(0, 100)),
    );
    assert.deepEqual(wide, []);
    assert.deepEqual(complaints, []);
    await page.close();
  });

  test("prints tables that fit the paper, and panels beside each other", async () => {
    const { page, complaints } = await open(file, { viewport: { width: 700, height: 1000 } });
    await page.emulateMedia({ media: "print" });
    const wide = await page.$$eval(".table", (tables) =>
      tables.filter((table) => table.firstElementChild.getBoundingClientRect().width > table.getBoundingClientRect().width + 1).map((table) => table.textContent.slice(0, 100)),
    );
    const displays = await page.$$eval(".panels", (all) => all.map((panels) => getComputedStyle(panels).display));
    assert.deepEqual(wide, []);
    assert.ok(displays.every((display) => display === "grid"));
    assert.deepEqual(complaints, []);
    await page.close();
  });

  test("prints every chart in light colours", async () => {
    const { page, complaints } = await open(file, { colorScheme: "dark" });
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    assert.equal(await page.evaluate(() => document.documentElement.dataset.scheme), "light");
    for (const panel of await page.locator(".panel").all()) assert.ok((await panel.evaluate(drawnIn)) > 0);
    await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
    assert.equal(await page.evaluate(() => document.documentElement.dataset.scheme), "dark");
    assert.deepEqual(complaints, []);
    await page.close();
  });

  test("screenshots", { skip: process.env.RANKFALL_SHOTS ? false : "RANKFALL_SHOTS is not set" }, async () => {
    await mkdir(process.env.RANKFALL_SHOTS, { recursive: true });
    for (const [name, viewport] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
      for (const colorScheme of ["light", "dark"]) {
        const { page } = await open(file, { viewport, colorScheme });
        await drawAll(page);
        await page.evaluate(() => window.scrollTo(0, 0));
        await page.screenshot({ path: join(process.env.RANKFALL_SHOTS, `${basename(file, ".html")}-${name}-${colorScheme}.png`), fullPage: true });
        await page.close();
      }
    }
  });
}

// A browser's page keeps less than one core busy: of files that were given two at a time, and two tests of each; of the sample, some of
// whose tests measure times, three tests at a time, and then one.
const many = given.length > 0;
describe("the page", { skip: executablePath === undefined ? "no browser" : false, concurrency: many ? 2 : 1 }, () => {
  before(async () => {
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    await writeFile(sample, await makePage(samplePage()));
  });
  after(() => browser?.close());

  for (const file of many ? given : [sample]) describe(basename(file), { concurrency: many ? 2 : 3 }, () => testPage(file));
  if (many) return;

  test("keeps the axes when every series is hidden", async () => {
    const { page, complaints } = await open(sample);
    for (const id of ["#fig-residual", "#fig-ranks"]) {
      const figure = page.locator(id);
      await figure.scrollIntoViewIfNeeded();
      await figure.locator("svg.marks").first().waitFor();
      const labels = () => figure.locator(".chart").first().locator(".role-axis-label text").allTextContents();
      const before = await labels();
      for (const button of await figure.locator(".legend button[aria-pressed]").all()) await button.click();
      await waitForDrawn(page, figure, (drawn) => drawn === 0, "marks left");
      assert.deepEqual(await labels(), before);
    }
    assert.deepEqual(complaints, []);
    await page.close();
  });

  test("Ctrl and the wheel zoom, dragging pans, the wheel alone scrolls, the button resets", async () => {
    const { page, complaints } = await open(sample);
    for (const [id, scale] of [["residual-bert", "linear"], ["residual-bert", "log"], ["collapse-exact", "symlog"]]) {
      const panel = page.locator(`[data-panel=${id}]`);
      await panel.scrollIntoViewIfNeeded();
      if (scale === "log") await page.locator("#fig-residual .controls").getByRole("button", { name: "log" }).click();
      await panel.locator("svg.marks").waitFor();
      await page.evaluate(() => window.scrollBy(0, 100));
      const labels = () => panel.locator(".role-axis-label text").evaluateAll((all) => all.map((each) => each.textContent + each.getAttribute("transform")));
      const before = await labels();
      const reset = panel.getByRole("button", { name: "Reset zoom" });
      const box = await panel.locator(".chart").boundingBox();
      const [x, y] = [box.x + box.width / 2, box.y + 60];
      await page.mouse.move(x, y);
      await page.keyboard.down("Control");
      await page.mouse.wheel(0, -400);
      await page.keyboard.up("Control");
      await reset.waitFor();
      const zoomed = await labels();
      assert.notDeepEqual(zoomed, before, scale);
      await page.mouse.down();
      await page.mouse.move(x + 60, y + 30, { steps: 4 });
      await page.mouse.up();
      await page.waitForTimeout(50);
      assert.notDeepEqual(await labels(), zoomed, scale);
      await reset.click();
      await reset.waitFor({ state: "hidden" });
      assert.deepEqual(await labels(), before, scale);
      await page.mouse.move(x, y);
      const top = await page.evaluate(() => window.scrollY);
      await page.mouse.wheel(0, 100);
      await page.waitForFunction((from) => window.scrollY > from, top);
      assert.deepEqual(await labels(), before, scale);
    }
    assert.deepEqual(complaints, []);
    await page.close();
  });

  test("a tooltip says what is under the mouse, inside the window", async () => {
    for (const viewport of [DESKTOP, { width: 360, height: 740 }]) {
      const { page, complaints } = await open(sample, { viewport });
      for (const [id, expected] of [["[data-panel=collapse-exact]", /residual10−51234\.2/], ["[data-panel='hostile/../panel']", /<b>variant<\/b>/]]) {
        const panel = page.locator(id);
        await panel.scrollIntoViewIfNeeded();
        await panel.locator("svg.marks").waitFor();
        const points = panel.locator(".mark-symbol path");
        const place = id === "[data-panel=collapse-exact]" ? await points.evaluateAll((all) => all.findIndex((each) => each.__data__.datum.log10_residual < -51234)) : 0;
        const point = await points.nth(place).boundingBox();
        await page.mouse.move(point.x + point.width / 2, point.y + point.height / 2);
        const tooltip = page.locator(".tooltip");
        await tooltip.waitFor();
        assert.match(await tooltip.textContent(), expected);
        const box = await tooltip.boundingBox();
        assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= viewport.width && box.y + box.height <= viewport.height, JSON.stringify(box));
        await page.mouse.move(2, 2);
        await tooltip.waitFor({ state: "hidden" });
      }
      assert.deepEqual(complaints, []);
      await page.close();
    }
  });

  test("long tables come in pieces", async () => {
    const { page } = await open(sample);
    const table = page.locator("details.data", { hasText: "1200 rows" });
    await table.locator("summary").click();
    for (const rows of [500, 1000, 1200]) {
      // Filled by an event that comes after the click.
      await table.locator("tbody tr").nth(rows - 1).waitFor();
      assert.equal(await table.locator("tbody tr").count(), rows);
      if (rows < 1200) await table.getByRole("button", { name: /Show more/ }).click();
    }
    assert.equal(await table.getByRole("button", { name: /Show more/ }).isVisible(), false);
    await page.close();
  });

  test("the switch of a figure is for all of its panels", async () => {
    const { page } = await open(sample);
    const figure = page.locator("#fig-residual");
    await drawAll(figure);
    for (const button of await figure.locator(".controls > .choice button").all()) {
      await button.click();
      for (const panel of await figure.locator(".panel").all()) await waitForDrawn(page, panel, (drawn) => drawn > 0, "nothing drawn");
      const shown = await figure.locator(".panel").evaluateAll((panels) => panels.map((panel) => panel.dataset.view));
      assert.equal(new Set(shown).size, 1, shown.join());
    }
    await page.close();
  });

  test("the first screen has the figure with named curves, the numbers and the paper", async () => {
    for (const viewport of [{ width: 1400, height: 900 }, { width: 768, height: 1024 }, { width: 360, height: 740 }]) {
      const { page, complaints } = await open(sample, { viewport });
      const headline = page.locator(".headline");
      await headline.locator("svg.marks").waitFor();
      const words = await headline.locator(".chart svg text").allTextContents();
      // On a phone there is no room beside the curves: the legend names them.
      const named = viewport.width < 480 ? await headline.locator(".legend button:visible").allTextContents() : words;
      for (const name of ["pure attention", "transformer"]) assert.ok(named.includes(name), `${name} in ${named}`);
      assert.equal(await headline.locator(".legend").isVisible(), viewport.width < 480);
      assert.ok(words.includes("below float32"), words.join());
      const chart = await headline.locator(".chart").boundingBox();
      for (const text of await headline.locator(".chart svg text").all()) {
        const box = await text.boundingBox();
        if (box !== null && box.width > 0) assert.ok(box.x + box.width <= chart.x + chart.width + 1, `cut off: ${await text.textContent()}`);
      }
      assert.equal(await headline.locator(".number").count(), 3);
      assert.ok((await headline.boundingBox()).y < viewport.height, "on the first screen");
      assert.equal(await page.locator(".facts a").getAttribute("href"), "https://arxiv.org/abs/2103.03404");
      assert.deepEqual(complaints, []);
      await page.close();
    }
  });

  test("a link that is no address of the web is text", async () => {
    const { page } = await open(sample);
    assert.equal(await page.locator(".facts a").count(), 1);
    assert.match(await page.locator(".facts").textContent(), /javascript/);
    await page.close();
  });

  test("legends look like the marks", async () => {
    const { page } = await open(sample);
    const marks = (id) => page.locator(`${id} .legend svg`).evaluateAll((all) => all.map((each) => each.dataset.mark));
    assert.deepEqual(new Set(await marks("#fig-ranks")), new Set(["bar"]));
    assert.deepEqual(new Set(await marks("#fig-residual")), new Set(["line"]));
    assert.equal(await page.locator("#fig-ranks .legend svg path").count(), 0, "no points on bars");
    await page.close();
  });

  test("tables with sentences are cards on a phone, and wide where there is room", async () => {
    for (const width of [360, 1280]) {
      const { page } = await open(sample, { viewport: { width, height: 800 } });
      const table = page.locator(".table.cards").first();
      await table.scrollIntoViewIfNeeded();
      const cells = await table.locator("tbody tr").first().locator("td:visible").evaluateAll((all) =>
        all.map((each) => ({ prose: each.matches(".prose"), width: each.getBoundingClientRect().width, right: each.getBoundingClientRect().right })),
      );
      for (const cell of cells) assert.ok(cell.right <= width, JSON.stringify(cells));
      for (const cell of cells) if (cell.prose && width > 1000) assert.ok(cell.width >= 250, JSON.stringify(cells));
      await page.close();
    }
  });

  test("the switch overrides the system's colours", async () => {
    const { page } = await open(sample, { colorScheme: "light" });
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await ground();
    await page.getByRole("button", { name: "dark" }).click();
    assert.notEqual(await ground(), light);
    await page.getByRole("button", { name: "auto" }).click();
    assert.equal(await ground(), light);
    await page.close();
  });

  test("200 layers, 16 variants and 8 metrics stay usable", async () => {
    const file = join(directory, "big.html");
    await writeFile(file, await makePage(bigPage()));
    assert.ok((await stat(file)).size < 10e6);
    const { page, complaints } = await open(file);
    const figure = page.locator(".figure").first();
    await waitForDrawn(page, figure, (drawn) => drawn > 1000, "nothing drawn");
    assert.equal(await figure.locator("canvas").count(), 1);
    const before = await figure.evaluate(drawnIn);
    await figure.locator(".legend button").first().click();
    await waitForDrawn(page, figure, (drawn) => drawn !== before, "hiding changed nothing");
    assert.deepEqual(complaints, []);
    await page.close();
  });
});
