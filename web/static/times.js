// Adds the reader's local time to every UTC time of the page, as a tooltip and, where the zone differs, in the bar.
"use strict";

(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";
  const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
  const short = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

  for (const element of document.querySelectorAll("time[data-utc]")) {
    const moment = new Date(element.dateTime);
    element.title = `${local.format(moment)} (${zone})`;
    if (moment.getTimezoneOffset() !== 0) {
      const shown = document.createElement("span");
      shown.className = "local";
      shown.textContent = `${short.format(moment)} local`;
      element.append(" ", shown);
    }
  }
  for (const element of document.querySelectorAll("[data-zone]")) {
    element.textContent = new Date().getTimezoneOffset() === 0 ? "" : `; local: ${zone}`;
  }
})();
