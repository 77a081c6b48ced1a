"use strict";
// One question with everything that is known of it.

const MORE_LINES = 40;
const WAIT_SIMILAR = 250; // milliseconds: not for each question that one only passes
let shownRow = null;
let waiting = 0;

const isShown = (row) => row === shownRow;

async function drawDetail(row, reviews, list) {
  shownRow = row;
  clearTimeout(waiting);
  const box = byId("detail");
  if (!row) return box.replaceChildren(element("p", {}, "No question matches the filters."));
  const parts = { reviews: element("div"), evidence: element("div"), verdict: element("div"), similar: element("div"), attempts: attempts(row, list), lineage: element("div") };
  box.replaceChildren(...heading(row), ...Object.values(parts));
  box.scrollTop = 0;
  drawReviews(parts.reviews, reviews);
  try {
    const found = await DATA.detail(row);
    if (!isShown(row)) return;
    drawEvidence(parts.evidence, row, found);
    drawVerdict(parts.verdict, row, found);
  } catch (error) {
    if (isShown(row)) parts.evidence.replaceChildren(element("p", { class: "note" }, error.message));
  }
  if (!DATA.live) return;
  parts.lineage.append(folded("Models, calls and cost", async (fold) => drawLineage(fold, await DATA.lineage(row))));
  waiting = setTimeout(async () => {
    const found = await DATA.similar(row).catch(() => []);
    if (isShown(row)) drawSimilar(parts.similar, found, row, list);
  }, WAIT_SIMILAR);
}

function heading(row) {
  const why = row.outcome === "accepted" ? "" : `${row.outcome}: ${row.reason}`;
  const about = [row.id, row.combination, row.type, row.grade && `grade ${row.grade}`, row.model, why].filter(Boolean);
  return [
    element("h2", { dir: "auto" }, row.question || "(no question)"),
    element("p", { class: "answer", dir: "auto" }, row.answer || "(no answer)"),
    element("p", { class: "about" }, about.join(" · ")),
  ];
}

function drawReviews(box, reviews) {
  if (!reviews) return box.replaceChildren();
  const undone = new Set(reviews.decisions.map((one) => one.undoes).filter(Boolean));
  const rows = reviews.decisions.map((one) => {
    const edit = one.new_question ? [element("br"), element("q", { dir: "auto" }, one.new_question), " ", element("q", { dir: "auto" }, one.new_answer)] : [];
    const what = `${one.reviewer}: ${one.action}${one.reason ? `, ${one.reason}` : ""} (${one.time.slice(0, 16).replace("T", " ")} UTC)`;
    return element("li", { class: undone.has(one.id) ? "undone" : "" }, what, edit);
  });
  box.replaceChildren(element("h3", {}, `Decisions: ${reviews.state}`), element("ul", {}, rows));
}

function drawEvidence(box, row, found) {
  const title = found.source + (found.line_count ? `, ${found.line_count} lines` : "");
  const notes = [found.reason_detail, found.duplicate_of && `Duplicate of: ${found.duplicate_of}`, found.note].filter(Boolean);
  box.replaceChildren(
    ...notes.map((note) => element("p", { class: "note", dir: "auto" }, note)),
    element("h3", {}, "Evidence in ", element("span", { class: "source" }, title)),
    ...found.passages.map((lines) => passage(row, found, lines)),
    ...pictures(row, found),
  );
  if (!found.passages.length)
    box.append(...found.evidence.map((one) => element("blockquote", { dir: "auto" }, one.quote)));
}

function passage(row, found, lines) {
  const shown = lines.map((line) =>
    element("div", { class: "line" }, element("span", { class: "number" }, String(line.number)),
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
    box.append(element("button", { type: "button", onclick: more }, `Show ${MORE_LINES} more lines before and after`));
  return box;
}

function pictures(row, found) {
  const pages = found.evidence.filter((one) => one.page && !found.visuals.some((visual) => visual.page === one.page));
  const wanted = [...found.visuals.filter((one) => one.page), ...new Map(pages.map((one) => [one.page, { label: "", page: one.page }])).values()];
  return wanted
    .map((one) => [one, DATA.picture(row, found, one.page, one.label)])
    .filter(([, address]) => address)
    .map(([one, address]) => {
      const name = one.label ? `Page ${one.page} with ${one.label}` : `Page ${one.page}`;
      const fold = folded(name, (inside) => {
        const picture = element("img", { src: address, alt: name });
        picture.addEventListener("error", () => inside.replaceChildren(element("p", { class: "note" }, "The page cannot be shown: its file has changed or cannot be read.")));
        inside.append(picture);
      });
      fold.open = Boolean(one.label);
      return fold;
    });
}

function drawVerdict(box, row, found) {
  const verdict = found.verdict;
  const parts = [];
  if (verdict) {
    const criteria = ["answerable", "supported", "matches", "premise_holds", "unambiguous", "self_contained", "non_trivial", "relevant"].filter((name) => typeof verdict[name] === "boolean");
    parts.push(
      element("h3", {}, "Validator"),
      element("p", {}, "Blind answer: ", element("span", { class: "answer", dir: "auto" }, verdict.blind_answer || "(none)")),
      element("ul", { class: "criteria" }, criteria.map((name) => element("li", { class: verdict[name] ? "yes" : "no" }, `${verdict[name] ? "✓" : "✗"} ${name.replaceAll("_", "-")}`))),
      element("p", { class: "note", dir: "auto" }, verdict.explanation),
    );
  }
  if (found.grade && found.grade.grade)
    parts.push(element("h3", {}, `Grade ${found.grade.grade}`), element("p", {}, `confidence ${found.grade.confidence.toFixed(2)}, decided by ${found.grade.decided_by}`));
  box.replaceChildren(...parts);
}

function drawSimilar(box, found, row, list) {
  const known = new Map(list.rows.filter((one) => one.combination === row.combination).map((one) => [one.id, one]));
  const links = found.filter((one) => known.has(one.id)).map((one) => {
    const other = known.get(one.id);
    return element("li", {}, `${one.score.toFixed(2)} `, jump(other, list), element("span", { dir: "auto" }, ` ${other.answer}`));
  });
  box.replaceChildren(element("h3", {}, "Similar questions"), links.length ? element("ul", {}, links) : element("p", { class: "note" }, "none"));
}

function attempts(row, list) {
  const others = list.rows.filter((one) => one !== row && one.combination === row.combination && one.document === row.document && one.attempt && one.attempt <= row.attempt);
  if (!others.length) return element("div");
  others.sort((one, other) => one.attempt - other.attempt);
  return folded(`Attempts before it at this document (${others.length})`, (inside) =>
    inside.append(element("ul", {}, others.map((one) => element("li", {}, `${one.attempt}. ${one.reason || one.outcome}: `, jump(one, list))))));
}

function jump(row, list) {
  return element("button", { type: "button", class: "link", dir: "auto", onclick: () => list.show(row) }, row.question || "(no question)");
}

function drawLineage(box, found) {
  const facts = Object.entries(found.facts).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value ?? "unknown")]);
  const columns = ["stage", "role", "model", "input", "output", "cost"];
  const rows = found.calls.map((one) =>
    element("tr", {}, [one.stage, one.role, one.model, String(one.input_tokens), String(one.output_tokens), one.replayed ? "replayed" : one.usd === null ? "unknown" : `$${one.usd.toFixed(4)}`].map((text) => element("td", {}, text))));
  const table = element("table", {}, element("thead", {}, element("tr", {}, columns.map((name) => element("th", { scope: "col" }, name)))), element("tbody", {}, rows));
  box.append(element("dl", {}, facts), ...(rows.length ? [table] : []), ...(found.note ? [element("p", { class: "note" }, found.note)] : []));
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
      inside.append(element("p", { class: "note" }, error.message));
    }
  });
  return fold;
}
