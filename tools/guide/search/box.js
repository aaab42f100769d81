// The search box of the docs: a combobox with a list of results. Loaded when the box is first used. Texts of results are only ever
// set as text.
import { openSearch } from "./search-query.ts";

/** Takes over the box. Resolves when the index is there. */
export async function openBox(box) {
  const input = box.querySelector("input");
  const panel = box.querySelector(".found");
  const list = box.querySelector('[role="listbox"]');
  const status = box.querySelector('[role="status"]');
  let chosen = -1;
  let search;

  const options = () => [...list.children];
  const show = (isShown) => {
    panel.hidden = !isShown;
    input.setAttribute("aria-expanded", String(isShown && list.children.length > 0));
  };
  const choose = (index) => {
    chosen = index;
    for (const [i, option] of options().entries()) option.setAttribute("aria-selected", String(i === index));
    const option = options()[index];
    if (option === undefined) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  };
  const refresh = () => {
    const words = input.value.trim();
    const found = words === "" || search === undefined ? [] : search(words);
    list.replaceChildren(...found.map(optionOf));
    choose(found.length === 0 ? -1 : 0);
    if (search === undefined) return show(words !== "");
    status.textContent = found.length === 0 ? `Nothing found for “${words}”.` : `${found.length} results`;
    status.className = found.length === 0 ? "" : "aside";
    show(words !== "");
  };

  input.addEventListener("input", refresh);
  input.addEventListener("focus", refresh);
  input.addEventListener("keydown", (event) => {
    const { length } = list.children;
    if (event.key === "Escape") {
      if (panel.hidden) input.blur();
      show(false);
    } else if (panel.hidden || length === 0) return;
    else if (event.key === "ArrowDown") choose((chosen + 1) % length);
    else if (event.key === "ArrowUp") choose((chosen - 1 + length) % length);
    else if (event.key === "Enter") options()[chosen]?.click();
    else return;
    event.preventDefault();
  });
  // The box keeps the focus while a result is clicked.
  panel.addEventListener("mousedown", (event) => event.preventDefault());
  list.addEventListener("click", () => {
    show(false);
    input.blur();
  });
  input.addEventListener("blur", () => show(false));

  status.textContent = "Loading…";
  refresh();
  try {
    const response = await fetch(input.dataset.index);
    if (!response.ok) throw new Error(`status ${response.status}`);
    search = openSearch(await response.json());
  } catch (error) {
    status.textContent = `The search could not be loaded (${error.message}). Reload the page to try again.`;
    throw error;
  }
  refresh();
}

function optionOf({ url, heading, place, snippet }, index) {
  const option = element("a", "", element("strong", heading), " ", element("span", place), " ", snippetOf(snippet));
  option.id = `search-result-${index}`;
  option.href = url;
  option.tabIndex = -1;
  option.setAttribute("role", "option");
  return option;
}

const snippetOf = (pieces) =>
  element("p", "", ...pieces.map(({ text, isMatch }) => (isMatch ? element("mark", text) : text)));

function element(name, text, ...inside) {
  const made = document.createElement(name);
  made.append(text, ...inside);
  return made;
}
