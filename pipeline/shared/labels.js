/**
 * Labels of a run as LABELS has them: name=value,name=value.
 * @param {string} text
 * @returns {Record<string, string>}
 */
export function labelsOf(text) {
  const wrong = (/** @type {string} */ why) =>
    new Error(`LABELS is "${text}": ${why}; allowed: name=value,name=value, each name once`);
  const labels = new Map();
  for (const label of text === '' ? [] : text.split(',')) {
    const [, name, value] = label.match(/^\s*([^=]*?)\s*=\s*(.*?)\s*$/s) ?? [];
    if (!name || !value) throw wrong(`"${label}" is not name=value`);
    if (labels.has(name)) throw wrong(`${name} is given twice`);
    labels.set(name, value);
  }
  return Object.fromEntries(labels);
}
