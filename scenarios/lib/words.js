// Numbers in words.

/** A whole number with thousands separators. */
export const count = (/** @type {number} */ n) => `${Math.round(n)}`.replace(/\B(?=(\d{3})+$)/g, ',');

/** Three significant digits. */
export const figure = (/** @type {number} */ n) => (n >= 100 ? count(n) : `${Number(n.toPrecision(3))}`);

/** A time of a run as charts show it: 5:00, 1:05:00. */
export function clock(/** @type {number} */ seconds) {
  const two = (/** @type {number} */ n) => `${Math.floor(n)}`.padStart(2, '0');
  const [h, m, s] = [Math.floor(seconds / 3600), (seconds / 60) % 60, seconds % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${Math.floor(m)}:${two(s)}`;
}
