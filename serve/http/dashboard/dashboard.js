// Keeps an open page up to date from the stream that its body names, and sends filters when they change.
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
  return [...element.querySelectorAll("textarea, input:not([type=hidden])")].some((each) => each.value !== each.defaultValue);
}

function put(id, html) {
  const element = document.getElementById(id);
  if (!element) return;
  if (html !== "" && isBeingFilledIn(element)) {
    waiting.set(id, html);
    return;
  }
  waiting.delete(id);
  const active = document.activeElement;
  const place = element.contains(active) ? placeOf(active, element) : null;
  const opened = [...element.querySelectorAll("details[id][open]")].map((each) => each.id);
  const scrolled = [...element.querySelectorAll(".scrolls")].map((each) => each.scrollLeft);
  element.replaceChildren(fragment(html));
  opened.forEach((each) => document.getElementById(each)?.setAttribute("open", ""));
  element.querySelectorAll(".scrolls").forEach((each, at) => { each.scrollLeft = scrolled[at] || 0; });
  if (place) (found(place, element) || document.getElementById("content")).focus({ preventScroll: true });
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
  if (!row) return;
  const hadFocus = row.contains(document.activeElement);
  row.replaceWith(fragment(html));
  if (hadFocus) document.getElementById(id)?.querySelector("a")?.focus({ preventScroll: true });
}

function putFirst(html, most) {
  const rows = document.getElementById("rows");
  if (!rows) return;
  rows.prepend(fragment(html));
  while (rows.children.length > most) rows.lastElementChild.remove();
}

document.addEventListener("focusout", () => {
  setTimeout(() => [...waiting].forEach(([id, html]) => put(id, html)), 0);
});

function tell(text) {
  if (connection && connection.textContent !== text) connection.textContent = text;
}

function follow(address) {
  const source = new EventSource(address);
  const on = (name, act) => source.addEventListener(name, (event) => act(JSON.parse(event.data)));
  on("put", (told) => put(told.id, told.html));
  on("row", (told) => putRow(told.id, told.html));
  on("first", (told) => putFirst(told.html, told.most));
  on("over", () => { source.close(); tell(""); });
  on("ended", (told) => {
    source.close();
    if (told.status === 401) {
      location.reload();
    } else {
      again(told.status === 429 ? SLOW_RETRY_MS : QUICK_RETRY_MS);
    }
  });
  source.onopen = () => tell("Live");
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) {
      again(SLOW_RETRY_MS);
    } else {
      tell("The connection is lost; trying again.");
    }
  };

  // A refusal closes the source for good: only a look at the page tells whether the session has ended.
  async function again(after_ms) {
    tell("Live updates have stopped; trying again.");
    await new Promise((resolve) => setTimeout(resolve, after_ms));
    try {
      const answer = await fetch(location.href, { method: "HEAD", redirect: "manual" });
      if (answer.type === "opaqueredirect") {
        location.reload();
        return;
      }
    } catch {
      // The service is away: the next source says so.
    }
    follow(address);
  }
}

document.querySelectorAll("form[data-sent-on-change]").forEach((form) => {
  form.addEventListener("change", () => form.requestSubmit());
});

if (document.body.dataset.live) follow(document.body.dataset.live);
