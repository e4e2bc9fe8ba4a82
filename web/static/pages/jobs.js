// The list of jobs: short addresses from the form, and the choice of runs to compare.
"use strict";

(() => {
  const MOST = 8;

  // A form sends its empty fields too; without them the address says only what matters.
  for (const form of document.querySelectorAll(".filter-form")) {
    form.addEventListener("submit", () => {
      for (const field of form.elements) {
        field.disabled = field.name && field.value === "";
      }
    });
    window.addEventListener("pageshow", () => {
      for (const field of form.elements) {
        field.disabled = false;
      }
    });
  }

  const choice = document.querySelector("[data-compare]");
  if (!choice) {
    return;
  }
  const button = choice.querySelector("[data-compare-button]");
  const hint = choice.querySelector("[data-compare-hint]");
  const boxes = [...choice.querySelectorAll("input[type=checkbox]")];

  function show() {
    const chosen = boxes.filter((box) => box.checked).length;
    button.disabled = chosen < 2;
    hint.textContent = chosen === 0 ? `Choose two to ${MOST} runs of one program.` : `${chosen} of at most ${MOST} chosen.`;
    for (const box of boxes) {
      box.disabled = !box.checked && chosen >= MOST;
    }
  }
  choice.addEventListener("change", show);
  choice.addEventListener("submit", (event) => {
    event.preventDefault();
    const keys = boxes.filter((box) => box.checked).map((box) => box.value);
    window.location.assign(`${choice.action}?jobs=${keys.join(",")}`);
  });
  show();
})();
