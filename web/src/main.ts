// Builds the report from the JSON in the document.
import { contents, markCurrent } from "./contents";
import { choice, element } from "./dom";
import { figureElement, headlineFigure } from "./figure";
import { manifestsSection } from "./manifests";
import { prose } from "./numbers";
import type { Answer, Fact, Headline, Page, Section } from "./page";
import { CHOICES, chooseScheme, watchScheme } from "./scheme";
import { installTooltip } from "./tooltip";
import { sign } from "./tone";

const HINT =
  "In the charts, Ctrl (or ⌘) and the wheel zoom, dragging pans, a double click resets. The buttons above a figure show and hide curves in all of its charts.";
const MANIFESTS = { id: "how-it-was-made", title: "How it was made" };

function factElement(fact: Fact): HTMLElement {
  const text = fact.link.startsWith("https://") ? element("a", { href: fact.link, rel: "noreferrer" }, fact.text) : fact.text;
  return element("div", {}, element("dt", {}, fact.label), element("dd", {}, text));
}

function header(page: Page): HTMLElement {
  const made = element(
    "header",
    {},
    element("h1", {}, page.title),
    choice("Colours", [...CHOICES], chooseScheme),
    element("p", { class: "subtitle" }, page.subtitle),
  );
  if (page.facts !== undefined && page.facts.length > 0) made.append(element("dl", { class: "facts" }, ...page.facts.map(factElement)));
  return made;
}

function headlineSection(headline: Headline, page: Page): HTMLElement {
  const numbers = headline.numbers.map(({ value, sentence }) =>
    element("div", {}, element("p", { class: "number" }, ...prose(value)), element("p", {}, ...prose(sentence))),
  );
  const parts = numbers.length === 0 ? [] : [element("div", { class: "numbers" }, ...numbers)];
  return element("section", { class: "headline", "aria-label": "The main result" }, headlineFigure(headline.figure, page.datasets), ...parts);
}

function answerElement(answer: Answer): HTMLElement {
  return element(
    "div",
    { class: `answer ${answer.tone}` },
    element("dt", {}, sign(answer.tone), answer.question),
    element("dd", {}, ...prose(answer.answer)),
  );
}

function summary(answers: Answer[]): HTMLElement {
  return element(
    "section",
    { class: "summary", "aria-labelledby": "in-short" },
    element("h2", { id: "in-short" }, "In short"),
    element("dl", {}, ...answers.map(answerElement)),
    element("p", { class: "notes hint" }, HINT),
  );
}

function sectionElement(section: Section, page: Page): HTMLElement {
  const parts = section.figures.map((figure) => figureElement(figure, page.datasets));
  const intro = section.intro === "" ? [] : [element("p", { class: "intro" }, ...prose(section.intro))];
  const chapter = section.chapter === undefined || section.chapter === "" ? [] : [element("p", { class: "chapter" }, section.chapter)];
  return element("section", { id: section.id }, ...chapter, element("h2", {}, section.title), ...intro, ...parts);
}

function build(page: Page): void {
  watchScheme();
  const sections = page.sections.map((section) => sectionElement(section, page));
  const entries: { id: string; title: string; chapter?: string }[] = [...page.sections];
  if (page.manifests.length > 0) {
    sections.push(manifestsSection(MANIFESTS.id, MANIFESTS.title, page.manifests));
    entries.push(MANIFESTS);
  }
  const nav = contents(entries);
  const main = element("main", { id: "main", tabindex: "-1" });
  if (page.headline !== undefined) main.append(headlineSection(page.headline, page));
  if (page.summary.length > 0) main.append(summary(page.summary));
  main.append(...sections);
  document.body.append(header(page), nav, main, element("footer", {}, `rankfall ${page.version}`));
  installTooltip();
  markCurrent(nav);
  // The address may name a section that did not exist when the browser looked for it.
  if (location.hash !== "") document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

build(JSON.parse(document.getElementById("page")?.textContent ?? "") as Page);
