"use strict";
// Gives the page its data: from the server, or from this file if it is a report.

const EMBEDDED = byId("data") ? JSON.parse(byId("data").textContent) : null;

async function ask(path, parameters, options) {
  const query = parameters ? "?" + new URLSearchParams(parameters) : "";
  const response = await fetch(path + query, options);
  const answer = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

const place = (row) => ({ set: row.set_key, id: row.id });

const DATA = EMBEDDED
  ? {
      load: async () => EMBEDDED,
      detail: async (row) => EMBEDDED.details[row.set_key][row.id],
      agreement: async () => EMBEDDED.agreement,
      picture: (row, detail, shown) => EMBEDDED.pictures[`${row.set_key}|${detail.source}|${shown.label}`],
    }
  : {
      live: true,
      load: () => ask("data"),
      reviews: (known, read) => ask("reviews", { known, read }),
      agreement: () => ask("agreement"),
      versions: (set) => ask("versions", { set }),
      compare: (set, first, second) => ask("compare", { set, first, second }),
      detail: (row) => ask("detail", place(row)),
      fields: (row) => ask("fields", place(row)),
      lines: (row, first, last) => ask("lines", { ...place(row), first, last }),
      similar: (row) => ask("similar", place(row)),
      lineage: (row) => ask("lineage", place(row)),
      picture: (row, detail, shown) => "picture?" + new URLSearchParams({ ...place(row), page: shown.page, visual: shown.label }),
      decide: (judgement) =>
        ask("decide", null, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify(judgement),
        }),
    };
