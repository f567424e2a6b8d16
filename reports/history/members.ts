/**
 * The members of the JSON object that a text begins with, as far as they are complete: what stands first in a large file can be
 * read without reading all of it.
 * @returns the text of each value by its name; the last one may be cut off
 */
export function members(text: string): {
  complete: Map<string, string>;
  rest: [name: string, text: string] | null;
} {
  const complete = new Map<string, string>();
  let at = skipSpace(text, 0);
  if (text[at] !== '{') return { complete, rest: null };
  at = skipSpace(text, at + 1);
  while (text[at] === '"') {
    const nameEnd = endOf(text, at);
    if (nameEnd === null) break;
    const name: string = JSON.parse(text.slice(at, nameEnd));
    at = skipSpace(text, nameEnd);
    if (text[at] !== ':') break;
    at = skipSpace(text, at + 1);
    const end = endOf(text, at);
    // A number at the end of the text may go on.
    if (end === null || end === text.length) return { complete, rest: [name, text.slice(at)] };
    complete.set(name, text.slice(at, end));
    at = skipSpace(text, end);
    if (text[at] !== ',') break;
    at = skipSpace(text, at + 1);
  }
  return { complete, rest: null };
}

/** Where the value that begins at `from` ends, exclusive; null: not in this text. */
function endOf(text: string, from: number): number | null {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const c = text[at];
    if (c === '"') {
      const end = endOfString(text, at);
      if (end === null) return null;
      at = end - 1;
    } else if (c === '{' || c === '[') {
      depth++;
    } else if (c === '}' || c === ']') {
      if (depth === 0) return at;
      depth--;
    } else if (depth > 0 || (c !== ',' && c !== ' ' && c !== '\n' && c !== '\r' && c !== '\t')) {
      continue;
    } else {
      return at;
    }
    if (depth === 0) return at + 1;
  }
  return depth === 0 && text.length > from ? text.length : null;
}

function endOfString(text: string, from: number): number | null {
  for (let at = text.indexOf('"', from + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
  return null;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at++;
  return at;
}
