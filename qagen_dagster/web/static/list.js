"use strict";
// The filters, and the list of the questions that they let through. Only the visible rows of the list are elements.
// A row is a `Row` of web/review_set.py.

const ROW_HEIGHT = 92; // pixels, as in page.css
const SPARE = 8; // rows above and below the visible ones
const STATES = ["unreviewed", "accepted", "edited", "rejected", "flagged", "disagreed"];
const GRADES = ["A", "B", "C", "D", "F"];
const BANDS = [["nothing", 0], ["up to $0.001", 0.001], ["up to $0.01", 0.01], ["up to $0.1", 0.1], ["up to $1", 1], ["over $1", Infinity]];
const FILTERS = [
  { name: "set_key", label: "set" },
  { name: "document" },
  { name: "outcome" },
  { name: "state", label: "review", values: STATES },
  { name: "type" },
  { name: "origin" },
  { name: "reason" },
  { name: "grade", values: GRADES },
  { name: "model" },
  { name: "cost", values: [...BANDS.map(([name]) => name), "unknown"] },
];
const LONGEST = 60; // values of a filter that is a list; a filter of more values is a field

const bandOf = (usd) => (usd === null ? "unknown" : BANDS.find(([, most]) => usd <= most)[0]);

class QuestionList {
  /** `titles` has those of sets. `stateOf` gives the state of a row; `onSelect` is called with the selected row, or null. */
  constructor(rows, titles, stateOf, onSelect) {
    this.rows = rows;
    this.titles = titles;
    this.stateOf = stateOf;
    this.onSelect = onSelect;
    this.shown = [];
    this.at = -1;
    for (const row of rows) row.cost = bandOf(row.usd);
    this.words = rows.map((row) => `${row.id}\n${row.question}\n${row.answer}`.toLowerCase());
    this.box = byId("list");
    this.box.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.box);
    this.buildFilters();
    this.apply();
  }

  get row() {
    return this.shown[this.at] ?? null;
  }

  buildFilters() {
    const apply = () => this.apply();
    this.search = byId("search");
    this.search.addEventListener("input", apply);
    this.inputs = {};
    const fields = FILTERS.flatMap((filter) => this.filter(filter, apply));
    if (this.inputs.outcome) this.inputs.outcome.value = "accepted";
    this.sample = element("input", { type: "number", min: 1, placeholder: "sample of n", "aria-label": "random sample of so many questions of each set", oninput: apply });
    this.order = element("select", { "aria-label": "order", onchange: apply },
      element("option", { value: "" }, "order: as made"), element("option", { value: "usd" }, "order: most expensive first"),
      element("option", { value: "suspicion" }, "order: most suspicious first"));
    const reset = element("button", { type: "button", onclick: () => this.reset() }, "Show all");
    byId("filters").replaceChildren(...fields, this.sample, this.order, reset);
  }

  /** A filter, and the values that a field of it suggests. Nothing if all rows have the same value. */
  filter({ name, label = name, values }, apply) {
    const known = new Set(this.rows.map((row) => row[name]));
    const found = name === "state" ? values : values ? values.filter((one) => known.has(one)) : [...known].filter(Boolean).sort();
    if (found.length < 2) return [];
    const options = found.map((value) => element("option", { value }, name === "set_key" ? this.titles[value] : name === "state" ? `review: ${value}` : value));
    if (found.length <= LONGEST) {
      this.inputs[name] = element("select", { "aria-label": label, onchange: apply }, element("option", { value: "" }, `any ${label}`), options);
      return [this.inputs[name]];
    }
    this.inputs[name] = element("input", { list: `values-${name}`, placeholder: `any ${label}`, "aria-label": label, oninput: apply });
    return [this.inputs[name], element("datalist", { id: `values-${name}` }, options)];
  }

  reset() {
    for (const input of [this.search, this.sample, this.order, ...Object.values(this.inputs)]) input.value = "";
    this.apply();
  }

  apply() {
    const selected = this.row;
    const text = this.search.value.trim().toLowerCase();
    const wanted = Object.entries(this.inputs).filter(([, input]) => input.value).map(([name, input]) => [name, input.value]);
    const most = Number(this.sample.value) || 0;
    // A sample has the questions as they were generated, whatever has become of them.
    const tests = most ? wanted.filter(([name]) => name !== "outcome") : wanted;
    this.shown = this.rows.filter(
      (row, index) =>
        (!most || (row.place !== null && row.place <= most)) &&
        tests.every(([name, value]) => (name === "state" ? this.stateOf(row) : row[name]) === value) &&
        (!text || this.words[index].includes(text)),
    );
    if (most) this.shown.sort((one, other) => one.place - other.place);
    const by = this.order.value;
    if (by) this.shown.sort((one, other) => (other[by] ?? -1) - (one[by] ?? -1));
    byId("count").textContent = `${this.shown.length.toLocaleString("en")} of ${plural(this.rows.length, "question")}`;
    byId("rows").style.height = `${this.shown.length * ROW_HEIGHT}px`;
    this.select(Math.max(0, this.shown.indexOf(selected)));
  }

  /** Select the row at this place of the list. */
  select(at) {
    const before = this.selected;
    this.at = Math.min(at, this.shown.length - 1);
    const top = this.at * ROW_HEIGHT;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    if (top + ROW_HEIGHT > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + ROW_HEIGHT - this.box.clientHeight;
    this.draw();
    this.selected = this.row;
    if (this.row !== before) this.onSelect(this.row);
  }

  /** Select a row; if the filters hide it, remove the filters first. */
  show(row) {
    if (!this.shown.includes(row)) this.reset();
    this.select(this.shown.indexOf(row));
  }

  move(step) {
    this.select(Math.max(0, this.at + step));
  }

  /** Go to the next row that is not reviewed. */
  moveToNew(isNew) {
    const next = this.shown.findIndex((row, at) => at > this.at && isNew(row));
    const found = next >= 0 ? next : this.shown.findIndex(isNew);
    if (found >= 0) this.select(found);
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW_HEIGHT) - SPARE);
    const last = Math.min(this.shown.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW_HEIGHT) + SPARE);
    const items = [];
    for (let at = first; at < last; at++) items.push(this.item(this.shown[at], at));
    byId("rows").replaceChildren(...items);
    const chosen = byId(`row-${this.at}`);
    if (chosen) this.box.setAttribute("aria-activedescendant", chosen.id);
    else this.box.removeAttribute("aria-activedescendant");
  }

  item(row, at) {
    const state = this.stateOf(row);
    const why = row.reason && `${row.outcome}: ${row.reason}`;
    const about = [row.document, row.type, row.origin === "imported" && row.origin, row.grade && `grade ${row.grade}`, this.order.value === "usd" && money(row.usd),
      row.suspicion > 0 && `suspicion ${Math.round(100 * row.suspicion)} %`, why].filter(Boolean).join(" · ");
    const made = element(
      "div",
      { id: `row-${at}`, role: "option", class: `row ${state}`, "aria-selected": String(at === this.at), "aria-setsize": this.shown.length,
        "aria-posinset": at + 1, onclick: () => { this.select(at); showDetail(); } },
      element("div", { class: "row-question", dir: "auto" }, row.markup.length ? markup(row.markup[0]) : row.question || "(no question)"),
      element("div", { class: "row-answer", dir: "auto" }, row.markup.length ? markup(row.markup[1]) : row.answer || "(no answer)"),
      element("div", { class: "row-about" }, element("span", { class: `badge ${state}` }, state), " ", about),
    );
    made.style.top = `${at * ROW_HEIGHT}px`;
    return made;
  }
}

function showDetail() {
  document.body.classList.add("at-detail");
}
