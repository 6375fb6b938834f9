"use strict";
// The elements and attributes that explanations are made of. Nothing else is made, whatever a page holds.
const ELEMENTS = new Set(("b bdi circle code dd del details div dl dt figcaption figure g h1 h2 h3 header i ins li line mark p path " +
  "polygon polyline rect section small span summary svg table tbody td text tfoot th thead title tr ul").split(" "));
const ATTRIBUTES = new Set(("class cx cy d dir fill fill-opacity height points r role scope stroke-dasharray style title " +
  "transform viewBox width x x1 x2 y y1 y2").split(" "));
const SIGNS = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00a0" };
const SVG = "http://www.w3.org/2000/svg";

const at = (id) => document.getElementById(id);
const plain = (text) => text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, sign) => SIGNS[sign]);

// In the program's markup `<` and `>` stand around tags and nowhere else, so that every other part is text.
function build(markup, into) {
  markup.split(/[<>]/).forEach((part, index) => {
    if (index % 2 === 0) {
      if (part) into.append(plain(part));
    } else if (part.startsWith("/")) {
      into = into.parentNode;
    } else {
      const name = part.match(/^\w*/)[0];
      if (!ELEMENTS.has(name)) throw new Error("unknown element");
      const space = name === "svg" ? SVG : into.namespaceURI;
      const element = document.createElementNS(space, name);
      for (const [, key, value] of part.matchAll(/([\w-]+)="([^"]*)"/g)) {
        if (ATTRIBUTES.has(key)) element.setAttribute(key, plain(value));
      }
      into.append(element);
      if (!part.endsWith("/")) into = element;
    }
  });
}

// A text's whole explanation is made when somebody opens it.
function open(details) {
  if (!details.open || details.querySelector(".whole")) return;
  const whole = document.createElement("div");
  whole.className = "whole";
  build(details.querySelector("script").textContent, whole);
  details.append(whole);
}

const lists = Array.from(document.querySelectorAll(".rows"));
document.querySelector("main").addEventListener("toggle", (event) => {
  if (lists.includes(event.target.parentNode.parentNode)) open(event.target);
}, true);

const names = (value) => (value ? value.split("|") : []);
const rows = lists.flatMap((list) => Array.from(list.children, (element) => ({
  element,
  labels: names(element.dataset.label),
  confidence: Number(element.dataset.confidence ?? NaN),
  checked: element.dataset.failed !== undefined,
  failed: names(element.dataset.failed),
  undecided: element.dataset.undecided !== undefined,
  words: null,
})));

function choices(select, counts) {
  for (const [name, count] of counts) {
    select.append(new Option(`${name.replaceAll("_", " ")} (${count})`, name));
  }
}

function counted(all) {
  const counts = new Map();
  all.forEach((name) => counts.set(name, (counts.get(name) ?? 0) + 1));
  return [...counts].sort((a, b) => b[1] - a[1]);
}

function offer() {
  const labels = counted(rows.flatMap((row) => row.labels));
  choices(at("label"), labels);
  at("label").parentNode.hidden = labels.length < 2;
  at("confidence").hidden = !rows.some((row) => row.confidence >= 0);
  const checked = rows.filter((row) => row.checked);
  for (const [value, name] of [["+", "some failed"], ["~", "undecided"], ["-", "none failed"], ["?", "not checked"]]) {
    const count = rows.filter((row) => passes(row, value)).length;
    if (count > 0) at("failed").append(new Option(`${name} (${count})`, value));
  }
  choices(at("failed"), counted(rows.flatMap((row) => row.failed)));
  at("failed").parentNode.hidden = checked.length === 0;
}

function passes(row, failed) {
  if (failed === "+") return row.failed.length > 0;
  if (failed === "~") return row.undecided;
  if (failed === "-") return row.checked && row.failed.length === 0 && !row.undecided;
  if (failed === "?") return !row.checked;
  return !failed || row.failed.includes(failed);
}

function wordsOf(row) {
  row.words ??= Array.from(row.element.querySelectorAll(".brief"), (brief) => brief.textContent).join("\n").toLowerCase();
  return row.words;
}

// A list that is out of sight takes the room of the rows that it would show, so that the page's length is about right.
function fit(list) {
  const kept = Array.from(list.children).filter((row) => !row.hidden).length;
  list.hidden = kept === 0;
  list.style.containIntrinsicHeight = `${5.2 * kept}rem`;
}

function filter() {
  const [words, label, failed] = [at("words").value.toLowerCase(), at("label").value, at("failed").value];
  const [low, high] = [at("low").value, at("high").value].map((value) => (value === "" ? null : Number(value) / 100));
  let shown = 0;
  for (const row of rows) {
    const keep = (!label || row.labels.includes(label)) && passes(row, failed) &&
      (low === null || row.confidence >= low) && (high === null || row.confidence <= high) &&
      (!words || wordsOf(row).includes(words));
    if (row.element.hidden === keep) row.element.hidden = !keep;
    if (keep) shown += 1;
  }
  lists.forEach(fit);
  const figure = (count) => count.toLocaleString("en");
  at("count").textContent = shown === rows.length ? `${figure(shown)} texts` : `${figure(shown)} of ${figure(rows.length)} texts`;
}

offer();
// What a browser kept of an earlier visit counts too.
filter();
document.querySelector(".filters").hidden = false;
document.querySelector(".filters").addEventListener("input", filter);
