// Settings from the environment (-e NAME=value). A wrong one ends the script in one line: its name, its value, what is allowed.

/** A number; an empty variable counts as unset. */
export function number(name, fallback, { min = 0, max = 1e9, whole = false } = {}) {
  const text = __ENV[name] || '';
  if (text === '') return fallback;
  const value = Number(text);
  if (Number.isNaN(value) || value < min || value > max || (whole && !Number.isInteger(value)))
    throw new Error(
      `${name} is "${text}"; allowed: ${whole ? 'whole numbers from' : ''} ${min} to ${max}`.replace(
        '  ',
        ' ',
      ),
    );
  return value;
}

/** A whole number. */
export function count(name, fallback, range) {
  return number(name, fallback, { min: 1, ...range, whole: true });
}

/** One of some words. */
export function choice(name, words) {
  const value = __ENV[name] || words[0];
  if (!words.includes(value)) throw new Error(`${name} is "${value}"; allowed: ${words.join(', ')}`);
  return value;
}

/** True or false. */
export function flag(name, fallback) {
  return choice(name, fallback ? ['true', 'false'] : ['false', 'true']) === 'true';
}

/** Whole numbers, ascending: a range 1..20, a range with a step 10..100/10, or a list 10,100,500. */
export function numbers(name, fallback, { max = 10_000, most = 200 } = {}) {
  const text = (__ENV[name] || fallback).replaceAll(' ', '');
  const wrong = (why) =>
    new Error(
      `${name} is "${text}": ${why}; allowed: 1..20, 10..100/10 or 10,100,500, ascending, from 1 to ${max}`,
    );
  const range = text.match(/^(\d+)\.\.(\d+)(?:\/(\d+))?$/);
  const values = [];
  if (range) {
    const [from, to, step] = [Number(range[1]), Number(range[2]), Number(range[3] ?? 1)];
    if (step === 0) throw wrong('a step of 0 never ends');
    if (from > to) throw wrong(`${from} is above ${to}`);
    if ((to - from) / step >= most) throw wrong(`more than ${most} steps`);
    for (let n = from; n <= to; n += step) values.push(n);
  } else if (/^\d+(,\d+)*$/.test(text)) {
    values.push(...text.split(',').map(Number));
  } else {
    throw wrong('neither a range nor a list');
  }
  if (values.some((n, i) => i > 0 && n <= values[i - 1])) throw wrong('not ascending');
  if (values[0] < 1 || values.at(-1) > max) throw wrong('out of range');
  if (values.length > most) throw wrong(`more than ${most} steps`);
  return values;
}
