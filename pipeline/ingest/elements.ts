const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
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
