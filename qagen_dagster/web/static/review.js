"use strict";
// Decisions: keys and buttons, dialogs, progress, undo. This is also where the page starts.

const REASONS = ["wrong answer", "not supported by the document", "ambiguous", "trivial", "duplicate", "irrelevant", "badly worded"];
const CHECKED = "The next qagen run checks the edited question: its quotes must support the answer, and the validator answers it without seeing the answer.";
const PROVEN = "The item is proven before the edit is stored: code checks it and computes its form, and the solver of the profile, if there is one, solves it (one call). The next run of the bank publishes it.";
const POLL = 20_000; // milliseconds between looks at the decisions of others

let reviews = { count: 0, sets: {} };
let sets = {};
let timesRead = 0; // how often the server had read sets when this page was loaded
let list = null;
let sending = false;

const reviewsOf = (row) => reviews.sets[row.set_key]?.[row.id];
const stateOf = (row) => reviewsOf(row)?.state ?? "unreviewed";
const reviewer = () => byId("reviewer").value.trim();
const isMine = (row) => Boolean(reviewsOf(row)?.by_reviewer[reviewer()]);

const ACTIONS = [
  { key: "a", name: "Accept", action: "good", run: () => decide({ action: "accept" }, true) },
  { key: "e", name: "Edit", run: edit },
  { key: "r", name: "Reject", action: "bad", run: () => withReason("reject", "Reject: why?", REASONS, true) },
  { key: "f", name: "Flag", run: () => withReason("flag", "Flag for another look", [], true) },
  { key: "c", name: "Comment", run: () => withReason("comment", "Comment", [], false) },
  { key: "u", name: "Undo", run: undo },
];
const MOVES = [
  { key: "j", other: "ArrowDown", name: "Next question", run: () => list.move(1) },
  { key: "k", other: "ArrowUp", name: "Previous question", run: () => list.move(-1) },
  { key: "n", name: "Next question that you have not judged", run: () => list.moveToNew((row) => !isMine(row)) },
  { key: "/", name: "Search", run: () => list.search.focus() },
  { key: "g", name: "Agreement and sign-off", run: () => showAgreement(list, titles()) },
  { key: "v", name: "Compare versions of the set", run: versions },
  { key: "?", name: "Show the keys", run: () => byId("help-dialog").showModal() },
];

const titles = () => Object.fromEntries(Object.entries(sets).map(([key, one]) => [key, one.title]));

function say(text) {
  byId("message").textContent = visible(text);
}

async function decide(what, moveOn, row = list.row) {
  if (!row || sending) return;
  if (!reviewer()) {
    say("Enter your name as reviewer first.");
    return byId("reviewer").focus();
  }
  sending = true;
  try {
    const found = await DATA.decide({ set_key: row.set_key, question_id: row.id, reviewer: reviewer(), ...what });
    (reviews.sets[row.set_key] ??= {})[row.id] = found;
    say("");
    if (moveOn && row === list.row && list.at + 1 < list.shown.length) list.move(1);
    else if (row !== list.row) list.show(row);
    refresh(row);
    return true;
  } catch (error) {
    say(`Not stored: ${error.message}`);
  } finally {
    sending = false;
  }
}

/** Draw what depends on decisions again. */
function refresh(row) {
  list.draw();
  drawProgress();
  if (row && isShown(row)) drawReviews(byId("decisions"), reviewsOf(row));
}

/** How far the review is: of all questions that were generated and accepted, also those that reviewers have rejected since. */
function drawProgress() {
  const rows = list.rows.filter((row) => row.place !== null);
  const states = rows.map(stateOf);
  const disagreed = states.filter((state) => state === "disagreed").length;
  const judged = states.filter((state) => state !== "unreviewed").length;
  const mine = DATA.live ? `${rows.filter(isMine).length} judged by you, ` : "";
  byId("meter").max = rows.length;
  byId("meter").value = judged;
  byId("progress").textContent = `${mine}${judged} of ${rows.length} by anyone` + (disagreed ? `, ${disagreed} disagreed` : "");
}

/** Open a dialog; resolves to true if it is saved. */
function answered(dialog) {
  return new Promise((resolve) => {
    dialog.returnValue = "";
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "save"), { once: true });
    dialog.showModal();
  });
}

/** Edit the texts of the item. A refused edit stays in the dialog, with the reason. */
async function edit() {
  const row = list.row;
  if (!row) return;
  const isBank = !sets[row.set_key].versioned;
  let texts = { Question: row.question, Answer: row.answer };
  try {
    if (isBank) texts = await DATA.fields(row);
  } catch (error) {
    return say(error.message);
  }
  const inputs = Object.entries(texts).map(([name, text]) => {
    const input = element("textarea", { name, id: `edit-${name.toLowerCase().replace(/\W+/g, "-")}`, rows: Math.min(16, Math.ceil(text.length / 60) + text.split("\n").length), maxlength: 60_000, dir: "auto" });
    input.value = text;
    return input;
  });
  byId("edit-fields").replaceChildren(...inputs.map((input) => element("label", {}, input.name.replace(/^(question|solution)\./, "").replaceAll(/[._]/g, " "), " ", input)));
  byId("edit-note").textContent = isBank ? PROVEN : CHECKED;
  byId("edit-reason").value = byId("edit-refusal").textContent = "";
  while (await answered(byId("edit-dialog"))) {
    const told = Object.fromEntries(inputs.map((input) => [input.name, input.value]));
    const what = isBank ? { fields: told } : { new_question: told.Question, new_answer: told.Answer };
    if (await decide({ action: "edit", ...what, reason: byId("edit-reason").value }, !isBank, row)) return;
    byId("edit-refusal").textContent = byId("message").textContent;
    say("");
  }
}

async function withReason(action, title, choices, moveOn) {
  const row = list.row;
  if (!row) return;
  byId("reason-title").textContent = title;
  byId("reason-label").firstElementChild.textContent = choices.length ? "Details (optional)" : "Text";
  const text = byId("reason-text");
  text.value = "";
  byId("reasons").replaceChildren(...choices.map((name, at) =>
    element("label", {}, element("input", { type: "radio", name: "reason", value: name }), ` ${name} `, element("kbd", {}, String(at + 1)))));
  const opened = answered(byId("reason-dialog"));
  (byId("reasons").querySelector("input") ?? text).focus();
  if (!(await opened)) return;
  const chosen = byId("reasons").querySelector("input:checked")?.value;
  const reason = [chosen, text.value.trim()].filter(Boolean).join(": ");
  if (action !== "flag" && !reason) return say(`Not stored: to ${action}, give a reason or a text.`);
  await decide({ action, reason }, moveOn, row);
}

/** Take back the latest decision of this reviewer that was not undone. */
async function undo() {
  const all = Object.values(reviews.sets).flatMap((some) => Object.values(some)).flatMap((one) => one.decisions);
  const mine = all.filter((one) => one.reviewer === reviewer());
  const undone = new Set(mine.map((one) => one.undoes));
  const [last] = mine.filter((one) => one.action !== "undo" && !undone.has(one.id)).sort((one, other) => (one.time < other.time ? 1 : -1));
  const row = last && list.rows.find((one) => one.set_key === last.set_key && one.id === last.question_id);
  if (!row) return say("There is nothing to undo.");
  await decide({ action: "undo", undoes: last.id }, false, row);
}

function onKey(event) {
  const dialog = document.querySelector("dialog[open]");
  if (dialog) return inDialog(event, dialog);
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target.closest("input, textarea, select")) {
    if (event.key === "Escape") byId("list").focus();
    return;
  }
  if (event.key === "Enter" && event.target === byId("list")) return showDetail();
  const found = [...(DATA.decide && !byId("actions").hidden ? ACTIONS : []), ...MOVES].find((one) => event.key === one.key || (event.key === one.other && event.target === byId("list")));
  if (!found) return;
  event.preventDefault();
  found.run();
}

function inDialog(event, dialog) {
  if (event.key === "Enter" && (event.ctrlKey || event.target.type === "radio")) {
    event.preventDefault();
    dialog.close("save");
  }
  const choice = event.target.tagName !== "TEXTAREA" && byId("reasons").children[Number(event.key) - 1];
  if (dialog.id === "reason-dialog" && choice) choice.querySelector("input").click();
}

async function versions() {
  const versioned = (row) => row && DATA.live && sets[row.set_key].versioned;
  if (!versioned(list.row)) return say("Only question sets have versions, and a report has none.");
  await showVersions(list.row);
}

/** Select the question that the address names, or the set that it names. */
function followAddress() {
  const named = new URLSearchParams(location.hash.slice(1));
  const set = named.get("set");
  if (!set || !sets[set]) return;
  const row = list.rows.find((one) => one.set_key === set && one.id === named.get("id"));
  if (row) return list.row === row || list.show(row);
  if (list.inputs.set_key) list.inputs.set_key.value = set;
  list.apply();
}

function select(row) {
  drawDetail(row, row && reviewsOf(row), { rows: list.rows, show: (other) => list.show(other) });
  if (row) history.replaceState(null, "", `#${new URLSearchParams(place(row))}`);
}

function start(data) {
  ({ reviews, sets, timesRead } = data);
  byId("reviewer").value = (DATA.live && localStorage.getItem("reviewer")) || data.reviewer;
  byId("reviewer").addEventListener("change", () => {
    localStorage.setItem("reviewer", reviewer());
    drawProgress();
  });
  byId("reviewer-field").hidden = byId("actions").hidden = data.readOnly;
  byId("actions").append(...ACTIONS.map((one) => element("button", { type: "button", class: one.action ?? "", "data-key": one.key, onclick: one.run }, one.name, " ", element("kbd", {}, one.key.toUpperCase()))));
  const keys = [...(data.readOnly ? [] : ACTIONS), ...MOVES];
  byId("keys").append(...keys.flatMap((one) => [element("dt", {}, element("kbd", {}, one.key)), element("dd", {}, one.name)]));
  byId("help-button").addEventListener("click", () => byId("help-dialog").showModal());
  byId("agreement-button").addEventListener("click", () => showAgreement(list, titles()));
  byId("versions-button").addEventListener("click", versions);
  byId("versions-button").hidden = !DATA.live;
  for (const one of document.querySelectorAll("dialog .close")) one.addEventListener("click", () => one.closest("dialog").close());
  byId("back").addEventListener("click", () => document.body.classList.remove("at-detail"));
  document.addEventListener("keydown", onKey);
  const address = location.hash;
  list = { rows: data.rows, row: null };
  list = new QuestionList(data.rows, titles(), stateOf, select);
  if (address) {
    history.replaceState(null, "", address);
    followAddress();
  }
  addEventListener("hashchange", followAddress);
  drawProgress();
  byId("list").focus();
  if (DATA.live) setInterval(poll, POLL);
  byId("filter-fold").open = !matchMedia("(max-width: 760px)").matches;
  document.body.classList.add("ready");
}

async function poll() {
  if (document.hidden || sending) return;
  const found = await DATA.reviews(reviews.count, timesRead).catch(() => null);
  if (!found || sending) return;
  if (found.timesRead !== timesRead) say("A set was made again: load the page again to see it.");
  reviews = found.reviews;
  refresh(list.row);
}

DATA.load().then(start, (error) => say(error.message));
