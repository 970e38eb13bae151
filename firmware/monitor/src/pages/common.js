/** An element; text is always text. */
function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...present(children).map((child) => child instanceof Node ? child : String(child)));
  return made;
}

const at = (id) => document.getElementById(id);
const present = (children) => children.filter((child) => child !== null && child !== undefined);
const number = (value) => new Intl.NumberFormat("en").format(value);
const tag = (condition, text) => el("span", { class: `tag ${condition}` }, sign(condition), text);

// Each is told by its shape as well as by its colour.
const SIGNS = {
  online: '<circle cx="12" cy="12" r="10" fill="none" stroke="currentColor" stroke-width="2"/><path d="M7 12.5l3.4 3.4L17.2 9" fill="none" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round"/>',
  degraded: '<path d="M12 3L22 20H2z" fill="none" stroke="currentColor" stroke-width="2" stroke-linejoin="round"/><path d="M12 9.5v5" stroke="currentColor" stroke-width="2.2" stroke-linecap="round"/><circle cx="12" cy="17.2" r="1.2" fill="currentColor"/>',
  local_only: '<path d="M3 11.5L12 4l9 7.5V20H3z" fill="none" stroke="currentColor" stroke-width="2" stroke-linejoin="round"/><path d="M9 12.5l6 5m0-5l-6 5" stroke="currentColor" stroke-width="2" stroke-linecap="round"/>',
  updating: '<g class="spin" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"><path d="M20 12a8 8 0 0 1-14 5.3M4 12A8 8 0 0 1 18 6.7"/><path d="M18 3v4h-4M6 21v-4h4"/></g>',
  fault: '<path d="M8 2h8l6 6v8l-6 6H8l-6-6V8z" fill="none" stroke="currentColor" stroke-width="2" stroke-linejoin="round"/><path d="M8.5 8.5l7 7m0-7l-7 7" stroke="currentColor" stroke-width="2.4" stroke-linecap="round"/>',
  // Also where the page itself has a fault.
  lost: '<circle cx="12" cy="12" r="10" fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray="4 3"/><path d="M9.5 9.5a2.6 2.6 0 1 1 3.6 2.4c-.8.4-1.1.9-1.1 1.8" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round"/><circle cx="12" cy="17" r="1.2" fill="currentColor"/>',
  paused: '<circle cx="12" cy="12" r="10" fill="none" stroke="currentColor" stroke-width="2"/><path d="M9.5 8v8m5-8v8" stroke="currentColor" stroke-width="2.4" stroke-linecap="round"/>',
};

function sign(condition) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  made.setAttribute("viewBox", "0 0 24 24");
  made.setAttribute("aria-hidden", "true");
  made.innerHTML = SIGNS[condition] || SIGNS.lost;
  return made;
}

/** As the configuration and the log count them: a MB is 1,024 times 1,024 bytes. */
function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) { value /= 1024; unit += 1; }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** A duration in its two largest units. */
function span(seconds) {
  const parts = [];
  for (const [unit, length] of TEXT.units) {
    const whole = Math.floor(seconds / length);
    if (whole > 0 || (unit === "s" && parts.length === 0)) parts.push(`${whole} ${unit}`);
    seconds -= whole * length;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

/** Puts these in place of what is there, unless that is the same, or is being read or used. */
function place(parent, children) {
  const fresh = el(parent.tagName, {}, ...children), selection = document.getSelection();
  if (fresh.innerHTML === parent.innerHTML) return;
  const used = parent.contains(document.activeElement) || (selection && !selection.isCollapsed && parent.contains(selection.anchorNode));
  if (!used) parent.replaceChildren(...fresh.childNodes);
}

/** The state in one sign and two sentences; told anew only when it is another one. */
function showLamp(condition, instead) {
  const [headline, sentence] = TEXT.condition[condition], said = instead || sentence;
  if (at("lamp").className !== `lamp ${condition}` || !at("headline").textContent) {
    at("lamp").className = `lamp ${condition}`;
    at("sign").innerHTML = SIGNS[condition] || SIGNS.lost;
    at("headline").textContent = headline;
  }
  if (at("sentence").textContent !== said) at("sentence").textContent = said;
}

/** What is wrong is read out when that changes, not whenever a number in it does. */
function tellAloud(headlines) {
  const said = headlines.join(". ");
  if (at("aloud").textContent !== said) at("aloud").textContent = said;
}

/** The page cannot say how things are: why, and that what is shown is old. */
function lose(why) {
  document.title = TEXT.condition[why][0];
  showLamp(why);
  at("todo").hidden = true;
  at("cards").classList.add("old");
}

/** Reads the document now and then for as long as the page is open, and shows it. */
function follow(path, period, isWhole, show) {
  let next = 0;
  const renew = async () => {
    clearTimeout(next);
    const giveUp = new AbortController(), late = setTimeout(() => giveUp.abort(), 10000);
    let wait = period, answer = null, told = null;
    try {
      answer = await fetch(path, { cache: "no-store", signal: giveUp.signal });
      told = answer.ok ? await answer.json() : null;
    } catch {
      answer = null;
    }
    clearTimeout(late);
    if (told && isWhole(told)) {
      at("cards").classList.remove("old");
      try { show(told); } catch (fault) { console.error(fault); lose("broken"); }
      at("fresh").textContent = TEXT.fresh(new Date().toLocaleTimeString());
    } else if (answer && (answer.status === 401 || answer.status === 403)) {
      return lose("locked");
    } else {
      lose(answer ? "busy" : "lost");
      wait = answer && answer.ok ? 1000 : wait * 2;
    }
    next = setTimeout(renew, document.hidden ? wait * 10 : wait);
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) renew(); });
  showLamp("loading");
  for (const named of document.querySelectorAll("[data-say]")) named.textContent = TEXT[named.dataset.say];
  renew();
}
