// Conveniences only: the page says the same without them.
"use strict";
(() => {
  const box = document.getElementById("filter-box");
  const field = document.getElementById("filter");
  if (!box || !field) return;
  const told = document.getElementById("filtered");
  const groups = [...document.querySelectorAll(".pattern")].map((group) => ({
    group,
    title: group.querySelector("h3").textContent.toLowerCase(),
    entries: [...group.querySelectorAll(".finding")].map((entry) => ({ entry, text: entry.textContent.toLowerCase() })),
  }));
  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { group, title, entries } of groups) {
      let here = 0;
      for (const { entry, text } of entries) {
        const fits = words.every((word) => text.includes(word) || title.includes(word));
        entry.hidden = !fits;
        here += fits ? 1 : 0;
      }
      group.hidden = here === 0;
      shown += here;
    }
    told.textContent = `${shown.toLocaleString("en")} shown`;
  };
  box.hidden = false;
  field.addEventListener("input", filter);
})();
