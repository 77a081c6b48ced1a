"use strict";
// One question with everything that is known of it.

const MORE_LINES = 40;
const NEAR = 2; // lines from a quote; a narrow window first shows only these
const WAIT_SIMILAR = 250; // milliseconds: not for each question that one only passes
const CRITERIA = ["answerable", "supported", "matches", "premise_holds", "unambiguous", "self_contained", "non_trivial", "relevant"];
let shownRow = null;
let waiting = 0;

const isShown = (row) => row === shownRow;
const note = (text) => element("p", { class: "note", dir: "auto" }, text);

async function drawDetail(row, reviews, list) {
  shownRow = row;
  clearTimeout(waiting);
  const box = byId("detail");
  if (!row) return box.replaceChildren(element("p", {}, "No question matches the filters."));
  const parts = { reviews: element("div", { id: "decisions" }), notes: element("div"), evidence: element("div"), verdict: element("div"), similar: element("div"), attempts: attempts(row, list), lineage: element("div") };
  box.replaceChildren(heading(row), ...Object.values(parts));
  box.scrollTop = 0;
  drawReviews(parts.reviews, reviews);
  try {
    const found = await DATA.detail(row);
    if (!isShown(row)) return;
    parts.notes.replaceChildren(...found.notes.map(note));
    if (found.sections.length) {
      box.querySelector("h2").textContent = visible(found.source);
      parts.evidence.replaceChildren(...found.sections.map(section), ...pictures(row, found));
    } else drawEvidence(parts.evidence, row, found);
    drawVerdict(parts.verdict, found);
  } catch (error) {
    if (isShown(row)) parts.evidence.replaceChildren(note(error.message));
  }
  if (!DATA.live) return;
  parts.lineage.append(folded("Models, calls and cost", async (fold) => drawLineage(fold, await DATA.lineage(row))));
  waiting = setTimeout(async () => {
    const found = await DATA.similar(row).catch(() => []);
    if (isShown(row)) drawSimilar(parts.similar, found, row, list);
  }, WAIT_SIMILAR);
}

function heading(row) {
  const why = row.outcome === "accepted" ? null : element("span", { class: "chip no" }, `${row.outcome}: ${row.reason}`);
  const isBank = !sets[row.set_key].versioned; // its texts are TeX, which a section of the detail sets
  const chips = [row.type, row.origin === "imported" && row.origin, row.grade && `grade ${row.grade}`, row.model, row.usd && money(row.usd)].filter(Boolean);
  return element("header", { class: "asked" },
    element("h2", { dir: "auto" }, isBank ? `${row.document}, ${row.type}` : row.question || "(no question)"),
    isBank ? null : element("p", { class: "answer", dir: "auto" }, row.answer || "(no answer)"),
    element("p", { class: "about" }, why, chips.map((text) => element("span", { class: "chip" }, text)),
      element("span", { class: "source" }, `${row.set_key} · ${row.id}`)));
}

function drawReviews(box, reviews) {
  if (!reviews) return box.replaceChildren();
  const undone = new Set(reviews.decisions.map((one) => one.undoes).filter(Boolean));
  const rows = reviews.decisions.map((one) => {
    const edit = one.new_question ? [element("br"), element("q", { dir: "auto" }, one.new_question), " ", element("q", { dir: "auto" }, one.new_answer)] : [];
    const what = `${one.reviewer}: ${one.action}${one.reason ? `, ${one.reason}` : ""} (${one.time.slice(0, 16).replace("T", " ")} UTC)`;
    return element("li", { class: undone.has(one.id) ? "undone" : "" }, what, edit);
  });
  box.replaceChildren(element("h3", {}, "Decisions ", element("span", { class: `badge ${reviews.state}` }, reviews.state)), element("ul", {}, rows));
}

function drawEvidence(box, row, found) {
  const title = found.source + (found.line_count ? `, ${plural(found.line_count, "line")}` : "");
  box.replaceChildren(
    element("h3", {}, "Evidence in ", element("span", { class: "source" }, title)),
    ...found.passages.map((lines) => passage(row, found, lines, NEAR)),
    ...found.quotes.map((quote) => element("blockquote", { dir: "auto" }, quote)),
    ...pictures(row, found),
  );
}

function passage(row, found, lines, near = Infinity) {
  const quoted = lines.map((line) => line.pieces.length > 1);
  const isNear = (at) => near === Infinity || quoted.slice(Math.max(0, at - near), at + near + 1).includes(true);
  const shown = lines.map((line, at) =>
    element("div", { class: `line${quoted[at] ? " quoted" : ""}${isNear(at) ? "" : " far"}` }, element("span", { class: "number" }, String(line.number)),
      element("span", { class: "text", dir: "auto" }, line.pieces.map((piece, at) => (at % 2 ? element("mark", {}, piece) : piece)))));
  const box = element("div", { class: "passage", role: "region", tabindex: "0", "aria-label": `Lines from ${lines[0].number}` }, shown);
  if (!DATA.live) return box;
  const [first, last] = [lines[0].number, lines[lines.length - 1].number];
  const more = async () => {
    const wider = await DATA.lines(row, Math.max(1, first - MORE_LINES), last + MORE_LINES);
    const made = passage(row, found, wider);
    box.replaceWith(made);
    made.querySelector("mark")?.scrollIntoView({ block: "center" });
  };
  if (first > 1 || last < found.line_count)
    box.append(element("button", { type: "button", class: "more", onclick: more }, `Show ${MORE_LINES} more lines before and after`));
  return box;
}

function pictures(row, found) {
  return found.pictures
    .map((one) => [one, DATA.picture(row, found, one)])
    .filter(([, address]) => address)
    .map(([one, address]) => {
      const fold = folded(one.title, (inside) => {
        const picture = element("img", { src: address, alt: one.title });
        picture.addEventListener("error", () => inside.replaceChildren(note("The picture cannot be shown: its file has changed or cannot be read.")));
        inside.append(picture);
      });
      fold.open = one.is_open;
      return fold;
    });
}

/** A part of an exam item or a problem. */
function section(one) {
  const entries = one.entries.map((entry) =>
    element("div", { class: `entry ${entry.mark}` },
      entry.label ? element("span", { class: "label" }, entry.mark ? `${entry.mark === "yes" ? "✓" : "✗"} ${entry.label}` : entry.label) : null,
      element("div", { class: "content", dir: "auto" }, entry.markup ? markup(entry.markup) : [], entry.text ? element("p", { class: "plain" }, entry.text) : null)));
  if (one.is_open) return element("section", {}, element("h3", {}, one.title), entries);
  return folded(one.title, (inside) => inside.append(...entries));
}

function drawVerdict(box, found) {
  const verdict = found.verdict;
  const parts = [];
  if (verdict) {
    const judged = (name) => ({ true: ["yes", "✓ "], false: ["no", "✗ "] })[verdict[name]] || ["unjudged", "not judged: "];
    parts.push(
      element("h3", {}, "Validator"),
      element("p", {}, "Blind answer: ", element("b", { dir: "auto" }, verdict.blind_answer || "(none)")),
      element("ul", { class: "criteria" }, CRITERIA.map((name) => element("li", { class: `chip ${judged(name)[0]}` }, `${judged(name)[1]}${name.replaceAll("_", "-")}`))),
      note(verdict.explanation),
    );
  }
  if (found.grade && found.grade.grade)
    parts.push(element("h3", {}, `Grade ${found.grade.grade}`), element("p", {}, `confidence ${found.grade.confidence.toFixed(2)}, decided by ${found.grade.decided_by}`));
  box.replaceChildren(...parts);
}

function drawSimilar(box, found, row, list) {
  const known = new Map(list.rows.filter((one) => one.set_key === row.set_key).map((one) => [one.id, one]));
  const links = found.filter((one) => known.has(one.id)).map((one) => {
    const other = known.get(one.id);
    return element("li", {}, `${one.score.toFixed(2)} `, jump(other, list), element("span", { dir: "auto" }, ` ${other.answer}`));
  });
  box.replaceChildren(element("h3", {}, "Similar questions"), links.length ? element("ul", {}, links) : note("none"));
}

function attempts(row, list) {
  const others = list.rows.filter((one) => one !== row && one.set_key === row.set_key && one.document === row.document && one.attempt && one.attempt <= row.attempt);
  if (!others.length) return element("div");
  others.sort((one, other) => one.attempt - other.attempt);
  return folded(`Attempts before it at this document (${others.length})`, (inside) =>
    inside.append(element("ul", {}, others.map((one) => element("li", {}, `${one.attempt}. ${one.reason || one.outcome}: `, jump(one, list))))));
}

function jump(row, list) {
  return element("button", { type: "button", class: "link", dir: "auto", onclick: () => list.show(row) }, row.question || "(no question)");
}

function drawLineage(box, found) {
  const facts = Object.entries(found.facts).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
  const calls = found.calls.map((one) => [one.stage, one.role, one.model, String(one.input_tokens), String(one.output_tokens), one.replayed ? "replayed" : money(one.usd)]);
  const shown = calls.length ? [table("Model calls", ["stage", "role", "model", "input", "output", "cost"], calls)] : [];
  box.append(element("dl", {}, facts), ...shown, ...(found.note ? [note(found.note)] : []));
}

/** A table that scrolls sideways if it is too wide. */
function table(name, columns, rows) {
  const head = element("thead", {}, element("tr", {}, columns.map((column) => element("th", { scope: "col" }, column))));
  const body = element("tbody", {}, rows.map((cells) => element("tr", {}, cells.map((cell) => element("td", {}, cell)))));
  return element("div", { class: "wide", role: "region", tabindex: "0", "aria-label": name }, element("table", {}, head, body));
}

/** A part that is filled when it is first opened. */
function folded(title, fill) {
  const inside = element("div");
  const fold = element("details", {}, element("summary", {}, title), inside);
  fold.addEventListener("toggle", async () => {
    if (!fold.open || inside.childElementCount) return;
    try {
      await fill(inside);
    } catch (error) {
      inside.append(note(error.message));
    }
  });
  return fold;
}
