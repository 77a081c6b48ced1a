"use strict";
// The filters, and the list of the questions that they let through. Only the visible rows of the list are elements.

const ROW_HEIGHT = 84; // pixels, as in page.css
const SPARE = 8; // rows above and below the visible ones
const FILTERS = ["combination", "document", "outcome", "state", "type", "reason", "grade", "model"];

class QuestionList {
  /** `stateOf` gives the state of a row; `onSelect` is called with the selected row, or null. */
  constructor(rows, stateOf, onSelect) {
    this.rows = rows;
    this.stateOf = stateOf;
    this.onSelect = onSelect;
    this.shown = [];
    this.at = -1;
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
    this.search = element("input", { type: "search", placeholder: "Search  /", "aria-label": "Search", oninput: () => this.apply() });
    this.inputs = {};
    const fields = [];
    for (const name of FILTERS) {
      const values = name === "state" ? STATES : [...new Set(this.rows.map((row) => row[name]))].filter(Boolean).sort();
      if (values.length < 2 && name !== "state") continue;
      const label = name === "state" ? "review" : name;
      const input =
        values.length > 60
          ? element("input", { list: `values-${name}`, placeholder: `any ${label}`, "aria-label": label, oninput: () => this.apply() })
          : element("select", { "aria-label": label, onchange: () => this.apply() },
              element("option", { value: "" }, `any ${label}`), values.map((value) => element("option", { value }, name === "state" ? `review: ${value}` : value)));
      if (input.tagName === "INPUT")
        fields.push(element("datalist", { id: `values-${name}` }, values.map((value) => element("option", { value }))));
      this.inputs[name] = input;
      fields.push(input);
    }
    if (this.inputs.outcome) this.inputs.outcome.value = "accepted";
    const reset = element("button", { type: "button", onclick: () => this.reset() }, "Show all");
    byId("filters").replaceChildren(this.search, ...fields, reset);
  }

  reset() {
    this.search.value = "";
    for (const input of Object.values(this.inputs)) input.value = "";
    this.apply();
  }

  apply() {
    const selected = this.row;
    const text = this.search.value.trim().toLowerCase();
    const wanted = Object.entries(this.inputs).filter(([, input]) => input.value).map(([name, input]) => [name, input.value]);
    this.shown = this.rows.filter(
      (row, index) =>
        wanted.every(([name, value]) => (name === "state" ? this.stateOf(row) : row[name]) === value) &&
        (!text || this.words[index].includes(text)),
    );
    byId("count").textContent = `${this.shown.length.toLocaleString("en")} of ${this.rows.length.toLocaleString("en")} questions`;
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
    const about = [row.document, row.type, row.grade && `grade ${row.grade}`, why].filter(Boolean).join(" · ");
    const made = element(
      "div",
      { id: `row-${at}`, role: "option", class: "row", "aria-selected": String(at === this.at), "aria-setsize": this.shown.length,
        "aria-posinset": at + 1, onclick: () => { this.select(at); showDetail(); } },
      element("div", { class: "row-question", dir: "auto" }, row.question || "(no question)"),
      element("div", { class: "row-about" }, element("span", { class: `badge ${state}` }, state), " ", element("bdi", {}, row.answer || "(no answer)"), " · ", about),
    );
    made.style.top = `${at * ROW_HEIGHT}px`;
    return made;
  }
}

function showDetail() {
  document.body.classList.add("at-detail");
}
