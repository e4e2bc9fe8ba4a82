// What every tab of a job's page does: the way back to the list as it was, the zoom kept in links, a running job followed.
import { keepInLinks } from "../../plots/address.js";

const job = document.getElementById("job");
const back = document.querySelector("[data-back]");
const LIST = "crosswind.list";
const LEAST_MS = 2000;

// The list the reader came from, with its filters; it is remembered over the tabs of this page.
const from = document.referrer ? new URL(document.referrer) : null;
if (from && from.origin === window.location.origin && from.pathname === new URL(back.href).pathname) {
  window.sessionStorage.setItem(LIST, from.search);
}
back.href += window.sessionStorage.getItem(LIST) || "";

keepInLinks();

/** Fetch this page again and put its parts marked data-live in place of the old ones. */
async function refresh() {
  const answer = await fetch(window.location.href);
  if (!answer.ok) {
    return;
  }
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  job.dataset.state = fresh.getElementById("job").dataset.state;
  for (const old of document.querySelectorAll("[data-live]")) {
    const now = fresh.getElementById(old.id);
    if (now && now.innerHTML !== old.innerHTML && !old.contains(document.activeElement) && !old.querySelector("details[open]")) {
      old.replaceWith(now);
    }
  }
  keepInLinks();
  document.dispatchEvent(new CustomEvent("job:refreshed"));
}

if (job.dataset.state === "running") {
  const timer = window.setInterval(async () => {
    if (!document.hidden) {
      await refresh().catch(() => {}); // the server is away for a moment: the next slice comes
      if (job.dataset.state !== "running") {
        window.clearInterval(timer);
      }
    }
  }, Math.max(LEAST_MS, Number(job.dataset.sliceMs)));
}
