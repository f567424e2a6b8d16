// Kinds of settings, and how they are read from the environment (k6's -e NAME=value).

/**
 * A declaration is data.
 * @typedef {object} Declaration
 * @property {unknown} fallback a value, '' for none, or a function of the settings before it
 * @property {string} [unit]
 * @property {string} meaning
 * @property {string} [allowed]
 * @property {boolean} [empty] an empty text is a value too
 * @property {Record<string, unknown>} [schema] of the value in a pipeline file; undefined: it has none there
 * @property {(text: string) => unknown} parse throws where the text is wrong; the message, which may be empty, says why
 */
/** @typedef {Record<string, Declaration>} Declarations */

/**
 * The values of declarations; without a default a value may be undefined.
 * @template {Declarations} D
 * @typedef {{ [N in keyof D]: '' extends D[N]['fallback'] ? ReturnType<D[N]['parse']> | undefined : ReturnType<D[N]['parse']> }} Values
 */

/** @typedef {(values: Record<string, unknown>) => number} Derived */
/** @typedef {{ min?: number, max?: number, whole?: boolean }} Range */

/**
 * A number; `whole`: without a fraction.
 * @template {number | '' | Derived} F
 * @param {F} fallback
 * @param {string} unit
 * @param {string} meaning
 * @param {Range} [range]
 */
export function number(fallback, unit, meaning, { min = 0, max = 1e9, whole = false } = {}) {
  const parse = (/** @type {string} */ text) => {
    const value = Number(text);
    if (Number.isNaN(value) || value < min || value > max || (whole && !Number.isInteger(value)))
      throw new Error();
    return value;
  };
  const most = max < 1e9 ? max : max.toExponential().replace('+', '');
  const allowed = `${whole ? 'whole numbers from ' : ''}${min} to ${most}`;
  const schema = { type: whole ? 'integer' : 'number', minimum: min, maximum: max };
  return { fallback, unit, meaning, allowed, schema, parse };
}

/**
 * A whole number from 1.
 * @template {number | '' | Derived} F
 * @param {F} fallback
 * @param {string} unit
 * @param {string} meaning
 * @param {Range} [range]
 */
export function count(fallback, unit, meaning, range) {
  return number(fallback, unit, meaning, { min: 1, ...range, whole: true });
}

/**
 * One of some words; the first is the default.
 * @template {string} W
 * @param {readonly [W, ...W[]]} words
 * @param {string} meaning
 */
export function choice(words, meaning) {
  const parse = (/** @type {string} */ text) => {
    const word = words.find((one) => one === text);
    if (word === undefined) throw new Error();
    return word;
  };
  return { fallback: words[0], meaning, allowed: words.join(', '), schema: { enum: words }, parse };
}

/**
 * True or false.
 * @param {boolean} fallback
 * @param {string} meaning
 */
export function flag(fallback, meaning) {
  const words = choice(['true', 'false'], meaning);
  const schema = { type: 'boolean' };
  return { ...words, fallback, schema, parse: (/** @type {string} */ text) => words.parse(text) === 'true' };
}

/**
 * Any text; `empty`: an empty one is a value too.
 * @template {string} F
 * @param {F} fallback
 * @param {string} meaning
 * @param {{ empty?: boolean }} [how]
 */
export function text(fallback, meaning, { empty = false } = {}) {
  return {
    fallback,
    meaning,
    empty,
    schema: { type: 'string' },
    parse: (/** @type {string} */ text) => text,
  };
}

/**
 * A whole number from 1, or names with commas between them.
 * @param {string} meaning
 * @param {number} max of either
 */
export function countOrNames(meaning, max) {
  const parse = (/** @type {string} */ text) => {
    if (/^-?[\d.]+$/.test(text)) return count('', '', '', { max }).parse(text);
    const names = text.split(',').map((name) => name.trim());
    if (names.includes('')) throw new Error('an empty name');
    return names;
  };
  return {
    fallback: /** @type {const} */ (''),
    meaning,
    allowed: `1 to ${max}, or names like berlin,site/rome`,
    schema: { type: ['integer', 'array'], minimum: 1, maximum: max, items: { type: 'string' }, minItems: 1 },
    parse,
  };
}

/**
 * Whole numbers, ascending: a range 1..20, a range with a step 10..100/10, or a list 10,100,500.
 * @template {string} F
 * @param {F} fallback
 * @param {string} unit
 * @param {string} meaning
 * @param {{ max?: number, most?: number }} [range] `most`: so many numbers
 */
export function numbers(fallback, unit, meaning, { max = 10_000, most = 200 } = {}) {
  const parse = (/** @type {string} */ text) => {
    const values = listed(text.replaceAll(' ', ''), most);
    if (values.some((n, i) => i > 0 && n <= values[i - 1])) throw new Error('not ascending');
    if (values[0] < 1 || Number(values.at(-1)) > max) throw new Error('out of range');
    if (values.length > most) throw new Error(`more than ${most} steps`);
    return values;
  };
  const allowed = `1..20, 10..100/10 or 10,100,500, ascending, from 1 to ${max}`;
  return { fallback, unit, meaning, allowed, parse };
}

/**
 * @param {string} text
 * @param {number} most
 */
function listed(text, most) {
  if (/^\d+(,\d+)*$/.test(text)) return text.split(',').map(Number);
  const range = text.match(/^(\d+)\.\.(\d+)(?:\/(\d+))?$/);
  if (!range) throw new Error('neither a range nor a list');
  const [from, to, step] = [Number(range[1]), Number(range[2]), Number(range[3] ?? 1)];
  if (step === 0) throw new Error('a step of 0 never ends');
  if (from > to) throw new Error(`${from} is above ${to}`);
  if ((to - from) / step >= most) throw new Error(`more than ${most} steps`);
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);
}

/**
 * Reads the values of declarations. An empty variable counts as unset; without a default ('') it is undefined. Throws in one line:
 * the name, its value, what is allowed.
 * @template {Declarations} D
 * @param {D} declared
 * @param {Record<string, string | undefined>} [env]
 */
export function read(declared, env = __ENV) {
  /** @type {Record<string, unknown>} */
  const values = {};
  for (const [name, { fallback, empty, allowed, parse }] of Object.entries(declared)) {
    const given = empty ? env[name] : env[name] || undefined;
    const text = String(given ?? (typeof fallback === 'function' ? fallback(values) : fallback));
    try {
      values[name] = text === '' && !empty ? undefined : parse(text);
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      throw new Error(`${name} is "${text}"${message && `: ${message}`}; allowed: ${allowed}`);
    }
  }
  return /** @type {Values<D>} */ (values);
}
