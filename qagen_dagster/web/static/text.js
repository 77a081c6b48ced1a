"use strict";
// Builds elements. Text of documents and models is only ever a text node, and its control characters are shown.

const CONTROLS =
  /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

function visible(text) {
  return text.replace(CONTROLS, (sign) => "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0"));
}

/** An element. Properties beginning with "on" are listeners, others attributes; children are elements or text. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    if (child !== null) made.append(typeof child === "string" ? visible(child) : child);
  }
  return made;
}

const byId = (id) => document.getElementById(id);
