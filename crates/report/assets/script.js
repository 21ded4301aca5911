// Comfort only: every page is complete without this file.
"use strict";

(function () {
  const body = document.body;

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // no permission, or a page opened from disk in a browser that refuses
      const area = document.createElement("textarea");
      area.value = text;
      area.setAttribute("readonly", "");
      body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }

  function addCopyButtons() {
    for (const block of document.querySelectorAll("pre[data-copy]")) {
      const frame = document.createElement("div");
      frame.className = "copyable";
      block.replaceWith(frame);
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "Copy";
      button.setAttribute("aria-label", "Copy " + block.dataset.copy);
      button.addEventListener("click", async () => {
        button.textContent = (await copy(block.textContent)) ? "Copied" : "Select and copy by hand";
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      });
      frame.append(block, button);
    }
  }

  function addFilter() {
    const list = document.querySelector(".findings");
    if (!list || list.children.length < 2) return;
    const form = document.createElement("div");
    form.className = "filter";
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = "Filter: kind, compiler, pass, words";
    input.setAttribute("aria-label", "Filter the findings");
    const shown = document.createElement("span");
    shown.className = "soft";
    shown.setAttribute("aria-live", "polite");
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      for (const item of list.children) {
        const text = item.textContent.toLowerCase();
        item.hidden = !words.every((word) => text.includes(word));
        count += item.hidden ? 0 : 1;
      }
      shown.textContent = words.length ? count + " of " + list.children.length : "";
    });
    form.append(input, shown);
    list.before(form);
  }

  function enhance() {
    addCopyButtons();
    addFilter();
  }

  // A live report: ask for the store's revision, and lay the new content under the reader's eyes.
  async function follow() {
    const state = document.querySelector(".live");
    try {
      const answer = await fetch(body.dataset.root + "revision", { cache: "no-store" });
      const revision = (await answer.text()).trim();
      state?.classList.remove("gone");
      const typing = document.querySelector(".filter input")?.value;
      if (answer.ok && revision !== body.dataset.revision && !typing && !String(getSelection())) {
        const page = await fetch(location.href, { cache: "no-store" });
        const fresh = new DOMParser().parseFromString(await page.text(), "text/html");
        const main = fresh.querySelector("main");
        if (page.ok && main) {
          const open = [...document.querySelectorAll("details")].map((d) => d.open);
          document.querySelector("main").replaceWith(document.adoptNode(main));
          document.querySelectorAll("details").forEach((d, i) => { d.open = open[i] ?? d.open; });
          body.dataset.revision = fresh.body.dataset.revision;
          enhance();
        }
      }
    } catch {
      state?.classList.add("gone");
    }
    setTimeout(follow, 2000);
  }

  enhance();
  if (body.dataset.live !== undefined) setTimeout(follow, 2000);
})();
