"use strict";
// Builds elements. Text of documents and models is only ever a text node, and its control characters are shown.

const CONTROLS =
  /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const XHTML = "http://www.w3.org/1999/xhtml";
const MATHML = "http://www.w3.org/1998/Math/MathML";
const TAGS = ["p", "br", "code"]; // of XHTML; of MathML all that only show something
const PICTURE = /^data:image\/(png|jpeg|svg\+xml);base64,/; // of a figure
const BARRED = ["maction", "annotation", "annotation-xml", "mglyph"];
const ATTRIBUTES = [
  "display", "displaystyle", "scriptlevel", "mathvariant", "stretchy", "form", "fence", "separator", "symmetric", "minsize", "maxsize",
  "largeop", "movablelimits", "lspace", "rspace", "width", "height", "depth", "voffset", "linethickness", "accent", "accentunder",
  "columnalign", "rowalign", "columnspacing", "rowspacing", "columnlines", "rowlines", "columnspan", "rowspan",
];

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

/** Elements of paragraphs and formulas in XHTML. Elements and attributes that are not known to be harmless are left out. */
function markup(xhtml) {
  const parsed = new DOMParser().parseFromString(`<div xmlns="${XHTML}">${xhtml}</div>`, "application/xml");
  if (parsed.querySelector("parsererror")) return [element("p", {}, xhtml)];
  return [...parsed.documentElement.childNodes].map(copied);
}

function copied(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return document.createTextNode(visible(node.textContent));
  const isMath = node.namespaceURI === MATHML && !BARRED.includes(node.localName);
  const isText = node.namespaceURI === XHTML && TAGS.includes(node.localName);
  if (node.localName === "img" && PICTURE.test(node.getAttribute("src"))) return element("img", { src: node.getAttribute("src"), alt: node.getAttribute("alt") });
  if (!isMath && !isText) return document.createTextNode(visible(node.textContent));
  const made = document.createElementNS(node.namespaceURI, node.localName);
  for (const one of node.attributes) if (isMath && ATTRIBUTES.includes(one.name)) made.setAttribute(one.name, one.value);
  made.append(...[...node.childNodes].map(copied));
  return made;
}

/** Dollars, or that they are not known. */
const money = (usd) => (usd === null || usd === undefined ? "unknown" : `$${usd.toFixed(4)}`);

const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

const byId = (id) => document.getElementById(id);
