// The table of contents: at the side where there is room, behind a disclosure where there is not.
import { element } from "./dom";

// Each entry links to an element of that id.
export function contents(entries: { id: string; title: string; chapter?: string }[]): HTMLElement {
  const links = new Map(entries.map(({ id, title }) => [id, element("a", { href: `#${encodeURIComponent(id)}` }, title)]));
  // A chapter is named once, before the first of its sections.
  const list = element("ol");
  let chapter = "";
  for (const entry of entries) {
    if (entry.chapter !== undefined && entry.chapter !== "" && entry.chapter !== chapter) list.append(element("li", { class: "chapter" }, entry.chapter));
    chapter = entry.chapter ?? "";
    list.append(element("li", {}, links.get(entry.id) ?? ""));
  }
  const disclosure = element("details", {}, element("summary", {}, "Contents"), list);
  const wide = window.matchMedia("(min-width: 68rem)");
  const open = () => (disclosure.open = wide.matches);
  wide.addEventListener("change", open);
  open();
  list.addEventListener("click", () => {
    if (!wide.matches) disclosure.open = false;
  });
  return element("nav", { class: "contents", "aria-label": "Contents" }, disclosure);
}

// Marks the link of the section that is being read: the last whose top has passed the upper part of the window.
export function markCurrent(nav: HTMLElement): void {
  const links = [...nav.querySelectorAll("a")];
  const targets = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  const mark = () => {
    const limit = window.innerHeight / 3;
    let current = 0;
    targets.forEach((target, place) => {
      if (target !== null && target.getBoundingClientRect().top < limit) current = place;
    });
    links.forEach((link, place) => {
      if (place === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  };
  let waiting = false;
  window.addEventListener(
    "scroll",
    () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        mark();
      });
    },
    { passive: true },
  );
  mark();
}
