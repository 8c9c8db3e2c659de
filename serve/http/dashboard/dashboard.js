// Keeps an open page up to date from the stream that its body names.
// Without this script every page can be read, and every form works; what is shown is what was so when it was loaded.
"use strict";

const connection = document.getElementById("connection");
const QUICK_RETRY_MS = 2000;
const SLOW_RETRY_MS = 15000;

// The server has escaped all texts; scripts in markup that is set this way do not run, and the policy forbids them.
function fragment(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

// A part with a field that somebody is writing in stays as it is until they leave it.
const waiting = new Map();
function isBeingFilledIn(element) {
  const active = document.activeElement;
  const isField = active && active.matches("input:not([type=hidden]), textarea, select");
  if (isField && element.contains(active)) return true;
  // What was emptied is given up, where the form is no longer needed.
  const isLate = element.querySelector(".late") !== null;
  return [...element.querySelectorAll("textarea, input:not([type=hidden])")]
    .some((each) => each.value !== each.defaultValue && !(isLate && each.value === ""));
}

// What stays what it is keeps its nodes: clicks, selections, scrolled places and the reading place survive.
const WHAT_IT_IS = ["id", "href", "action", "name", "value"];
function isLike(old, fresh) {
  if (old.nodeName !== fresh.nodeName) return false;
  return old.nodeType !== Node.ELEMENT_NODE || WHAT_IT_IS.every((each) => old.getAttribute(each) === fresh.getAttribute(each));
}

function become(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  [...fresh.attributes].filter((each) => old.getAttribute(each.name) !== each.value)
    .forEach((each) => old.setAttribute(each.name, each.value));
  // A part that a person has opened stays open.
  [...old.attributes].filter((each) => !fresh.hasAttribute(each.name) && !(each.name === "open" && old.matches("details")))
    .forEach((each) => old.removeAttribute(each.name));
  hold(old, fresh);
}

function hold(element, content) {
  const fresh = [...content.childNodes];
  const wanted = new Set(fresh.map((each) => each.id).filter(Boolean));
  fresh.forEach((each, at) => {
    const same = each.id && [...element.childNodes].slice(at).find((one) => one.id === each.id);
    while (same && element.childNodes[at] !== same) element.childNodes[at].remove();
    let old = element.childNodes[at];
    while (old?.id && !wanted.has(old.id)) {
      old.remove();
      old = element.childNodes[at];
    }
    if (!old) element.append(each);
    else if (isLike(old, each)) become(old, each);
    else if (old.id) element.insertBefore(each, old);
    else old.replaceWith(each);
  });
  while (element.childNodes.length > fresh.length) element.lastChild.remove();
}

// A form that is no longer needed stays with what was written in it, until it is left empty.
function leave(element) {
  if (element.querySelector(".late")) return;
  const told = document.createElement("p");
  told.className = "late notice bad";
  told.setAttribute("role", "alert");
  told.textContent = "This has been answered or has ended meanwhile; what you have written here was not sent.";
  element.prepend(told);
  element.querySelectorAll("button").forEach((each) => { each.disabled = true; });
}

function put(id, html) {
  const element = document.getElementById(id);
  if (!element) return;
  if (isBeingFilledIn(element)) {
    waiting.set(id, html);
    const asked = (part) => part.querySelector("input[name=interrupt]")?.value;
    if (asked(element) !== asked(fragment(html))) leave(element);
    return;
  }
  waiting.delete(id);
  const active = document.activeElement;
  const place = element.contains(active) ? placeOf(active, element) : null;
  hold(element, fragment(html));
  if (place && !active.isConnected) (found(place, element) || document.getElementById("content")).focus({ preventScroll: true });
}

const FOCUSABLE = "a[href], button, summary, [tabindex]";
function placeOf(active, element) {
  return { id: active.id, href: active.getAttribute("href"), at: [...element.querySelectorAll(FOCUSABLE)].indexOf(active) };
}

function found(place, element) {
  const all = [...element.querySelectorAll(FOCUSABLE)];
  return (place.id && document.getElementById(place.id)) ||
    (place.href && all.find((each) => each.getAttribute("href") === place.href)) || all[place.at];
}

function putRow(id, html) {
  const row = document.getElementById(id);
  const fresh = fragment(html).firstElementChild;
  if (row && fresh) become(row, fresh);
}

function putFirst(html, most) {
  const rows = document.getElementById("rows");
  if (!rows) return;
  rows.prepend(fragment(html));
  while (rows.children.length > most) {
    const hadFocus = rows.lastElementChild.contains(document.activeElement);
    rows.lastElementChild.remove();
    if (hadFocus) document.getElementById("content").focus({ preventScroll: true });
  }
}

// What was sent after the session had ended comes back after the login, in this tab and to the same person alone.
const UNSENT = "jeeves-unsent";
const writer = () => document.querySelector(".who span")?.textContent || "";
function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(UNSENT));
  } catch {
    return null;
  }
}

const FIELDS = "textarea, select, input:not([type=hidden]):not([type=password])";
const nameOf = (each) => (each.id ? `#${CSS.escape(each.id)}` : `[name="${CSS.escape(each.name)}"]`);
function remember(element, isLost) {
  const all = [...element.querySelectorAll(FIELDS)];
  if (!all.some((each) => each.matches("textarea, input:not([type=checkbox])") && each.value && each.value !== each.defaultValue)) return;
  const fields = all.map((each) => [nameOf(each), each.value, each.checked]);
  sessionStorage.setItem(UNSENT, JSON.stringify({ at: location.pathname, writer: writer(), fields, isLost }));
}

document.addEventListener("submit", (event) => remember(event.target, false));

// A changed text goes out as changed or not at all.
document.addEventListener("input", (event) => {
  const form = event.target.closest("form");
  const texts = form ? [...form.querySelectorAll("textarea[name^='data.']")] : [];
  const isChanged = texts.some((each) => each.value !== each.defaultValue);
  if (texts.length) form.querySelectorAll("button[value=approve]").forEach((each) => { each.disabled = isChanged; });
});

function logIn() {
  remember(document, true);
  location.reload();
}

const unsent = remembered();
const isRefused = "refused" in document.body.dataset || new URLSearchParams(location.search).has("unsent");
if (unsent && isRefused) {
  sessionStorage.setItem(UNSENT, JSON.stringify({ ...unsent, isLost: true }));
} else if (unsent?.isLost && unsent.at === location.pathname && unsent.writer === writer()) {
  unsent.fields.forEach(([name, value, isChecked]) => {
    const field = document.querySelector(name);
    if (!field) return;
    field.value = value;
    if (field.matches("[type=checkbox]")) field.checked = isChecked;
    if (field.value !== field.defaultValue) field.closest("details")?.setAttribute("open", "");
  });
  sessionStorage.removeItem(UNSENT);
} else if (unsent && !unsent.isLost) {
  sessionStorage.removeItem(UNSENT);
}

document.addEventListener("focusout", () => {
  setTimeout(() => [...waiting].forEach(([id, html]) => put(id, html)), 0);
});

function tell(text) {
  if (connection && connection.textContent !== text) connection.textContent = text;
}

// A browser has six connections to a service for all its tabs: only the pages that are seen have one.
const address = document.body.dataset.live;
let source = null;
let later = 0;
// A connection that was cut without a word stays open here: the server has to be heard of.
let aliveWithin_ms = 15000;
let silence = 0;

function heard() {
  clearTimeout(silence);
  silence = setTimeout(() => again(QUICK_RETRY_MS), 3 * aliveWithin_ms);
}

function stop() {
  source?.close();
  source = null;
  clearTimeout(later);
  clearTimeout(silence);
}

function follow() {
  stop();
  if (document.hidden) return;
  source = new EventSource(address);
  heard();
  const on = (name, act) => source.addEventListener(name, (event) => {
    heard();
    act(JSON.parse(event.data));
  });
  on("alive", (told) => { aliveWithin_ms = 1000 * told.within_s; });
  on("form", (told) => {
    if (told.viewer !== document.body.dataset.viewer) {
      // Another tab has logged in as somebody else: what this page shows and sends would be theirs.
      logIn();
      return;
    }
    document.querySelectorAll("input[name=form_token]").forEach((each) => { each.value = told.token; });
  });
  on("put", (told) => put(told.id, told.html));
  on("row", (told) => putRow(told.id, told.html));
  on("first", (told) => putFirst(told.html, told.most));
  on("over", () => {
    stop();
    document.removeEventListener("visibilitychange", seen);
    tell("");
  });
  on("ended", (told) => {
    if (told.status === 401) {
      logIn();
    } else {
      again(told.status === 429 ? SLOW_RETRY_MS : QUICK_RETRY_MS);
    }
  });
  source.onopen = () => tell("Live");
  source.onerror = () => {
    if (source?.readyState === EventSource.CLOSED) {
      again(SLOW_RETRY_MS);
    } else {
      tell("The connection is lost; trying again.");
    }
  };
}

// A refusal closes the source for good: only a look at the page tells whether the session has ended.
function again(after_ms) {
  stop();
  tell("Live updates have stopped; trying again.");
  later = setTimeout(async () => {
    try {
      const answer = await fetch(location.href, { method: "HEAD", redirect: "manual" });
      if (answer.type === "opaqueredirect") {
        logIn();
        return;
      }
    } catch {
      // The service is away: the next source says so.
    }
    if (!source) follow();
  }, after_ms);
}

function seen() {
  if (document.hidden) {
    stop();
  } else {
    follow();
  }
}

if (address) {
  document.addEventListener("visibilitychange", seen);
  follow();
}
