// The panel below the plots: the loads that rose in one stretch, ranked, with the way to the whole lookup.
import { interval } from "../../plots/formats.js";
import { element } from "../../plots/headings.js";

const MOST = 8;

export class Found {
  constructor(panel) {
    this.panel = panel;
    this.body = panel.querySelector("[data-found]");
    panel.querySelector("[data-close]").addEventListener("click", () => {
      panel.hidden = true;
    });
  }

  /** Show what rose in [from, to], UTC ms. */
  async open(from, to) {
    this.panel.hidden = false;
    this.body.replaceChildren(element("p", "quiet", "Looking …"));
    this.panel.scrollIntoView({ block: "nearest" });
    this.panel.focus({ preventScroll: true });
    const range = `?from=${Math.floor(from)}&to=${Math.ceil(to)}`;
    const whole = element("a", "", "The whole list, with how it was tested");
    whole.href = this.panel.dataset.page + range;
    try {
      const answer = await fetch(this.panel.dataset.lookup + range);
      if (!answer.ok) {
        throw new Error(`the server answered ${answer.status}`);
      }
      this.body.replaceChildren(element("p", "quiet", interval(from, to)), ...this.list(await answer.json()), element("p", "", whole));
    } catch (error) {
      this.body.replaceChildren(element("p", "", `The list could not be loaded: ${error.message}. `, whole));
    }
  }

  list(lookup) {
    const sentence = element("p", "found-sentence", lookup.sentence);
    if (!lookup.suspects?.length) {
      return [sentence];
    }
    const sure = lookup.suspects.filter((suspect) => suspect.found);
    const rows = (sure.length ? sure : lookup.suspects).slice(0, MOST).map((suspect) => {
      const share = Math.round(100 * suspect.effect);
      const what = ["node", "server"].includes(suspect.kind) ? suspect.load : `${suspect.load} by ${suspect.who}`;
      return element("li", suspect.found ? "is-found" : "", element("b", "", `${share} %`), ` ${what} on ${suspect.resource}`, element("span", "quiet", suspect.found ? " more than chance" : " may be chance"));
    });
    return [sentence, element("ol", "found-list", ...rows)];
  }
}
