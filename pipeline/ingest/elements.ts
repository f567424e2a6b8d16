const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * The text of each element of an array that is valid JSON and not empty. JSON.stringify would change numbers that a double does
 * not hold, and costs as much.
 */
export function elementsOf(json: string): string[] {
  const elements: string[] = [];
  let depth = 0;
  let start = 0;
  const end = (at: number) => {
    elements.push(json.slice(start, at).trim());
    start = at + 1;
  };
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE:
        while (json.charCodeAt(++at) !== QUOTE) if (json.charCodeAt(at) === BACKSLASH) at++;
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth === 1) start = at + 1;
        break;
      case COMMA:
        if (depth === 1) end(at);
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (--depth === 0) end(at);
    }
  }
  return elements;
}

/**
 * A key that a valid JSON object has twice: its own, or those along the path of the id. Other objects are nobody's concern here.
 * Keys are compared as they read, whatever escapes they are written with.
 */
export function duplicateKey(json: string, idPath: readonly string[]): string | undefined {
  /** The keys so far at each depth, while they are all on the path of the id. */
  const seen: string[][] = [[]];
  const path: string[] = [];
  let depth = 0;
  let string: [start: number, end: number] = [0, 0];
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE: {
        const start = at;
        while (json.charCodeAt(++at) !== QUOTE) if (json.charCodeAt(at) === BACKSLASH) at++;
        string = [start, at + 1];
        break;
      }
      case COLON: {
        if (depth > idPath.length || path.length < depth - 1) break;
        if (!path.slice(0, depth - 1).every((key, i) => key === idPath[i])) break;
        const raw = json.slice(...string);
        const key = raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1);
        const known = seen[depth - 1] as string[];
        if (known.includes(key)) return [...path.slice(0, depth - 1), key].join('.');
        known.push(key);
        path[depth - 1] = key;
        break;
      }
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth++;
        seen[depth - 1] ??= [];
        if (depth > 1) seen[depth - 1] = [];
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        path.length = Math.min(path.length, depth - 1);
        depth--;
    }
  }
  return undefined;
}
