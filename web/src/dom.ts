// Elements by function call: the content security policy forbids style attributes, and texts may be hostile, so nothing is parsed.
type Child = Node | string;

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function svgElement(tag: string, attributes: Record<string, string>, ...children: Node[]): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function button(text: string, action: () => void, attributes: Record<string, string> = {}): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", action);
  return made;
}

// Buttons of which one is pressed. `choose` is called with its place in `labels`.
export function choice(name: string, labels: string[], choose: (place: number) => void): HTMLElement {
  const buttons = labels.map((label, place) =>
    button(
      label,
      () => {
        buttons.forEach((each, other) => each.setAttribute("aria-pressed", String(other === place)));
        choose(place);
      },
      { "aria-pressed": String(place === 0) },
    ),
  );
  return element("div", { class: "choice", role: "group", "aria-label": name }, ...buttons);
}
