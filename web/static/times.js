// Adds the reader's local time to every UTC time of the page, as a tooltip and, where the zone differs, beside it.
"use strict";

(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";
  const local = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });
  const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

  function show() {
    for (const element of document.querySelectorAll("time[data-utc]:not([title])")) {
      const moment = new Date(element.dateTime);
      element.title = `${local.format(moment)} (${zone})`;
      if (moment.getTimezoneOffset() !== 0) {
        const shown = document.createElement("span");
        shown.className = "local";
        const other = moment.getDate() === moment.getUTCDate() ? "" : `, ${day.format(moment)}`;
        shown.textContent = `${clock.format(moment)} local${other}`;
        element.append(" ", shown);
      }
    }
    for (const element of document.querySelectorAll("[data-zone]")) {
      element.textContent = new Date().getTimezoneOffset() === 0 ? "" : `; local: ${zone}`;
    }
  }

  show();
  document.addEventListener("job:refreshed", show); // parts of a running job's page are new
})();
