"use strict";
// What is said of whole sets: the agreement of reviewers, and two versions side by side.

const ALIKE = 0.3; // share of words of two questions that make them one row

const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
const percent = (share) => `${(100 * share).toFixed(0)} %`;

async function showAgreement(list, titles) {
  const box = byId("agreement");
  byId("agreement-dialog").showModal();
  box.replaceChildren(note("…"));
  try {
    const found = Object.entries(await DATA.agreement());
    const parts = found.flatMap(([set, facts]) => [element("h3", {}, titles[set]), ...agreementOf(set, facts, list)]);
    box.replaceChildren(...(parts.length ? parts : [note("Nobody has decided on a question yet.")]));
  } catch (error) {
    box.replaceChildren(note(error.message));
  }
}

function agreementOf(set, facts, list) {
  const states = Object.entries(facts.states).map(([name, count]) => element("span", { class: `badge ${name}` }, `${name} ${count}`));
  const pairs = facts.agreements.map((one) => [`${one.first}, ${one.second}`, one.criterion, String(one.both), String(one.same),
    ...(one.criterion ? [one.good, one.only_first, one.both - one.same - one.only_first].map(String) : ["", "", ""]),
    one.kappa === null ? "not defined" : `${one.kappa.toFixed(2)} (${one.interval.map((end) => end.toFixed(2)).join(" to ")})`]);
  const rows = new Map(list.rows.filter((row) => row.set_key === set).map((row) => [row.id, row]));
  const show = { show: (row) => { byId("agreement-dialog").close(); list.show(row); showDetail(); } };
  return [
    element("p", { class: "about" }, states),
    element("p", {}, Object.entries(facts.reviewers).map(([who, count]) => `${who} judged ${count}`).join(", ")),
    ...(pairs.length ? [table("Agreement", ["who", "criterion", "judged by both", "same decision", "good for both", "only for the model", "only for reviewers", "Cohen's kappa (95 %)"], pairs)] : []),
    ...(facts.alpha === null ? [] : [element("p", {}, `Krippendorff's alpha of all reviewers: ${facts.alpha.toFixed(2)}`)]),
    ...(facts.disagreed.length ? [element("p", {}, "They disagree on:"), element("ul", {}, facts.disagreed.map((id) => element("li", {}, jump(rows.get(id), show))))] : []),
    note(facts.sampled
      ? `The first ${plural(facts.sampled, "question")} of the random order ${facts.sampled === 1 ? "was" : "were all"} judged, ${facts.sample_accepted} accepted as they were. ` +
        `So of the whole set ${percent(facts.interval[0])} to ${percent(facts.interval[1])} would be (95 % interval).`
      : "No random sample was judged yet: filter with “sample of n”, and judge all of its questions."),
  ];
}

/** Compares versions of the set of `row`. */
async function showVersions(row) {
  const [box, first, second] = ["versions", "first-version", "second-version"].map(byId);
  byId("versions-title").textContent = `Versions of ${row.set_key}`;
  byId("versions-dialog").showModal();
  box.replaceChildren(note("…"));
  const draw = async () => {
    try {
      box.replaceChildren(...comparison(await DATA.compare(row.set_key, first.value, second.value)));
    } catch (error) {
      box.replaceChildren(note(error.message));
    }
  };
  try {
    const known = await DATA.versions(row.set_key);
    first.parentElement.hidden = known.length < 2;
    if (known.length < 2) return box.replaceChildren(note("There is only one version: the next run that changes the set makes another."));
    for (const [input, chosen] of [[first, known[1]], [second, known[0]]]) {
      input.replaceChildren(...known.map((one) => element("option", { value: one.version, selected: one === chosen }, versionName(one))));
      input.onchange = draw;
    }
    await draw();
  } catch (error) {
    box.replaceChildren(note(error.message));
  }
}

function versionName(one) {
  const made = [one.published.slice(0, 16).replace("T", " "), one.profile, plural(one.questions, "question")].filter(Boolean).join(", ");
  return `${one.version}: ${made}`;
}

function comparison(found) {
  const [left, right] = [found.first, found.second];
  const figure = (name, of) => [name, of(left), of(right)];
  const count = (name) => (side) => (side[name] === null ? "-" : side[name].toLocaleString("en"));
  const figures = [
    figure("accepted", count("accepted")),
    figure("rejected candidates", count("rejected")),
    figure("pass rate", (side) => (side.pass_rate === null ? "-" : percent(side.pass_rate))),
    figure("model calls", count("calls")),
    figure("cost", (side) => (side.calls === null ? "-" : money(side.usd))),
    ["questions in both", count("in_both")(found), count("in_both")(found)],
    ["questions in one only", String(found.only_in_first.length), String(found.only_in_second.length)],
  ];
  const names = [left, right].map((side) => `version ${side.version}`);
  const pairs = paired(found.only_in_first, found.only_in_second).map(([one, other]) =>
    [(one ?? other).source_document, oneSided(one, other), oneSided(other, one)]);
  return [
    table("Figures", ["", ...names], figures),
    element("h3", {}, "Questions in one version only"),
    pairs.length ? table("Questions", ["document", ...names], pairs) : note("none"),
  ];
}

/** Questions of two versions in rows: those of the same document that are alike share a row. */
function paired(first, second) {
  const left = second.map((one) => ({ one, words: new Set(wordsOf(one.question)) }));
  const rows = first.map((one) => {
    const words = new Set(wordsOf(one.question));
    const scored = left.filter((other) => other.one.source_document === one.source_document).map((other) => [other, likeness(words, other.words)]);
    const [best, score] = scored.reduce((found, next) => (next[1] > found[1] ? next : found), [null, 0]);
    if (score < ALIKE) return [one, null];
    left.splice(left.indexOf(best), 1);
    return [one, best.one];
  });
  return [...rows, ...left.map((other) => [null, other.one])];
}

/** The share of the words of two questions that both have. */
function likeness(words, others) {
  const both = [...words].filter((word) => others.has(word)).length;
  return both / (words.size + others.size - both || 1);
}

/** A question with the words marked that the other one does not have. */
function oneSided(one, other) {
  if (!one) return "";
  const known = other ? new Set(wordsOf(`${other.question} ${other.answer}`)) : null;
  const differing = (text) => text.split(/([\p{L}\p{N}]+)/u).map((piece, at) => (known && at % 2 && !known.has(piece.toLowerCase()) ? element("mark", {}, piece) : piece));
  return element("div", { dir: "auto" }, differing(one.question), element("br"), element("b", {}, differing(one.answer)),
    one.reason ? note(`retired, ${one.reason}: ${one.detail}`) : null);
}
