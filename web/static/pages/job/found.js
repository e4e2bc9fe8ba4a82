// The panel below the plots: the loads that rose in one stretch, ranked, with the way to the whole lookup.
import { interval } from "../../plots/formats.js";
import { element } from "../../plots/headings.js";

const MOST = 8;

/** What rose in the stretch; where nothing did, or there is nothing to compare with, what is found over the whole run. */
function chosen({ compared, suspects }) {
  const rose = compared ? suspects.filter((suspect) => suspect.rose) : [];
  const sure = rose.length ? rose : suspects.filter((suspect) => suspect.found);
  return sure.length ? sure : suspects;
}

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
    return [sentence, element("ol", "found-list", ...chosen(lookup).slice(0, MOST).map((suspect) => this.row(suspect, lookup.loss)))];
  }

  row(suspect, loss) {
    const share = `${Math.round(100 * suspect.effect)} % of the whole run's ${loss} went with it, ${suspect.found ? "more than by chance" : "which may be chance"}`;
    const what = element(suspect.job_key ? "a" : "span", "", suspect.words);
    if (suspect.job_key) {
      what.href = this.panel.dataset.job.replace(/0$/, String(suspect.job_key));
    }
    return element("li", suspect.found ? "is-found" : "", what, element("span", "quiet", `: ${share}`));
  }
}
