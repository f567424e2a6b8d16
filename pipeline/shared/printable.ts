const SHORT: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Makes foreign text safe for a terminal: escapes control and bidirectional characters as JSON does. `Printable` of
 * extensions/k6/internal/words does the same.
 */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu,
    (one) => SHORT[one] ?? `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** `printable` for each line of a text. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}
