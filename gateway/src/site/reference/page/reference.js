// What the gateway's own pages gain by a script: the console's theme, copy buttons, one language for all examples, the search, the
// reader's own key, and the mark at the section that is read. The first part runs before the first paint.
(() => {
  const root = document.documentElement;
  const THEME = "tollgate.theme";
  const LANGUAGE = "tollgate.language";
  const LANGUAGES = { curl: "curl", python: "Python", typescript: "TypeScript" };
  const systemDark = matchMedia("(prefers-color-scheme: dark)");

  /** Storage may be forbidden; then nothing is remembered. */
  const recall = (name) => {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  };
  const remember = (name, value) => {
    try {
      if (value === null) localStorage.removeItem(name);
      else localStorage.setItem(name, value);
    } catch {
      // The choice then holds for this page alone.
    }
  };

  let theme = recall(THEME);
  const applyTheme = () => {
    const dark = theme === "dark" || (theme !== "light" && systemDark.matches);
    root.dataset.theme = dark ? "dark" : "light";
  };
  const applyLanguage = (chosen) => {
    root.dataset.language = Object.hasOwn(LANGUAGES, chosen ?? "") ? chosen : "curl";
  };
  applyTheme();
  applyLanguage(recall(LANGUAGE));

  document.addEventListener("DOMContentLoaded", () => {
    document.body.append(status);
    themeChoice();
    for (const figure of document.querySelectorAll("figure.code:not(.output)")) copyButton(figure);
    for (const samples of document.querySelectorAll(".samples")) languageChoice(samples);
    showLanguage();
    contents();
    searchBox();
    const isWithKey = document.querySelector("[data-key]") !== null;
    if (isWithKey) import("/docs/own-key.js").then(({ offerOwnKeys }) => offerOwnKeys());
  });

  function themeChoice() {
    const select = document.querySelector(".theme select");
    const show = () => {
      applyTheme();
      select.value = theme === "light" || theme === "dark" ? theme : "system";
    };
    show();
    select.addEventListener("change", () => {
      theme = select.value === "system" ? null : select.value;
      remember(THEME, theme);
      show();
    });
    systemDark.addEventListener("change", show);
    // Another tab changed it, the console perhaps.
    addEventListener("storage", ({ key, newValue }) => {
      if (key === LANGUAGE) choose(newValue);
      if (key !== THEME) return;
      theme = newValue;
      show();
    });
  }

  const button = (text, onClick) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", onClick);
    return made;
  };

  function copyButton(figure) {
    const pre = figure.querySelector("pre");
    const label = pre.getAttribute("aria-label");
    const made = button("Copy", async () => {
      await copy(commandsOf(pre.textContent));
      made.textContent = "Copied";
      status.textContent = `Copied: ${label}`;
      setTimeout(() => {
        made.textContent = "Copy";
        status.textContent = "";
      }, 2000);
    });
    made.setAttribute("aria-label", `Copy: ${label}`);
    figure.querySelector("figcaption").append(made);
  }

  /** Of a terminal session, the commands without their prompts; any other text as it is. */
  function commandsOf(text) {
    const lines = text.split("\n");
    if (!lines.some((line) => line.startsWith("$ "))) return text;
    let isCommand = false;
    const commands = lines.filter((line) => {
      const isWithin = isCommand || line.startsWith("$ ");
      isCommand = isWithin && line.endsWith("\\");
      return isWithin;
    });
    return commands.map((line) => line.replace(/^\$ /, "")).join("\n");
  }

  /** What was done, for those who do not see it. */
  const status = document.createElement("p");
  status.className = "aside";
  status.setAttribute("role", "status");

  /** Where the browser has no clipboard for us (plain HTTP from afar), the old way through a selection. */
  async function copy(text) {
    if (navigator.clipboard !== undefined) return await navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "aside";
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }

  function languageChoice(samples) {
    for (const figure of samples.children) {
      const group = document.createElement("span");
      group.className = "languages";
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", "Language");
      for (const { dataset } of samples.children) {
        const made = button(LANGUAGES[dataset.language], () => {
          // What is above grows or shrinks with the choice; what is looked at stays where it is.
          const before = samples.getBoundingClientRect().top;
          remember(LANGUAGE, dataset.language);
          choose(dataset.language);
          scrollBy({ top: samples.getBoundingClientRect().top - before, behavior: "instant" });
          samples
            .querySelector(`[data-language="${dataset.language}"] [aria-pressed="true"]`)
            .focus({ preventScroll: true });
        });
        made.value = dataset.language;
        group.append(made);
      }
      figure.querySelector("figcaption > span").replaceWith(group);
    }
  }

  function choose(language) {
    applyLanguage(language);
    showLanguage();
  }

  function showLanguage() {
    for (const one of document.querySelectorAll(".languages button")) {
      one.setAttribute("aria-pressed", String(one.value === root.dataset.language));
    }
  }

  /** The search is loaded when somebody goes to its box, which `/` does from anywhere. */
  function searchBox() {
    const box = document.querySelector(".search");
    if (box === null) return;
    const input = box.querySelector("input");
    input.addEventListener("focus", () => import(input.dataset.script).then(({ openBox }) => openBox(box)), {
      once: true,
    });
    addEventListener("keydown", (event) => {
      const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]") != null;
      if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      input.focus();
    });
  }

  function contents() {
    const nav = document.querySelector(".contents");
    if (nav === null) return;
    const toggle = nav.querySelector("button");
    const open = (isOpen) => toggle.setAttribute("aria-expanded", String(isOpen));
    toggle.addEventListener("click", () => open(toggle.getAttribute("aria-expanded") !== "true"));
    nav.addEventListener("click", ({ target }) => target.closest("a") !== null && open(false));
    nav.addEventListener("keydown", ({ key }) => {
      if (key !== "Escape") return;
      open(false);
      toggle.focus();
    });
    const page = nav.querySelector('[aria-current="page"]');
    const links = [...nav.querySelectorAll('a[href^="#"]')];
    const headings = links.map((link) => document.getElementById(link.hash.slice(1)));
    let marked;
    const mark = () => {
      const edge = Number.parseFloat(getComputedStyle(root).scrollPaddingTop) + 24;
      const isEnd = scrollY > 0 && scrollY + innerHeight >= root.scrollHeight - 2;
      const past = headings.findLastIndex((heading) => heading.getBoundingClientRect().top <= edge);
      // Where the page itself is in the list, nothing below it is marked until it is reached.
      const current = links[isEnd ? links.length - 1 : Math.max(page === null ? 0 : -1, past)];
      if (current === marked) return;
      marked?.removeAttribute("aria-current");
      current?.setAttribute("aria-current", "location");
      marked = current;
      show(current ?? page);
    };
    const show = (link) => {
      const list = nav.getBoundingClientRect();
      const place = link.getBoundingClientRect();
      if (place.top < list.top || place.bottom > list.bottom) nav.scrollTop += place.top - list.top - list.height / 3;
    };
    let waiting = false;
    const later = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        mark();
      });
    };
    addEventListener("scroll", later, { passive: true });
    addEventListener("resize", later);
    if (page !== null) show(page);
    mark();
  }
})();
