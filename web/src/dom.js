// Small makers of HTML elements, and how numbers are written.

export function el(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// A number with so many decimals, a comma between thousands as in the page's sentences and tables; a dash for none.
export function figure(value, digits) {
  if (value === null || value === undefined || value === "") return "–";
  return Number(value).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function option(value, text) {
  const made = el("option", text);
  made.value = value;
  return made;
}

export function svg(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

export function button(name, action) {
  const made = el("button", name);
  made.type = "button";
  made.addEventListener("click", action);
  return made;
}
