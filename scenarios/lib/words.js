// Numbers in a sentence.

/** A whole number with thousands separators. */
export const count = (/** @type {number} */ n) => `${Math.round(n)}`.replace(/\B(?=(\d{3})+$)/g, ',');

/** Three significant digits. */
export const figure = (/** @type {number} */ n) => (n >= 100 ? count(n) : `${Number(n.toPrecision(3))}`);
