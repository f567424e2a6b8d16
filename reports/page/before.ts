/** The previous run of the same load, from the history. */
export interface Before {
  name: string;
  /** Change of arrival p99, as a share of 1. */
  p99: number;
  /** Path of the comparison of both. */
  comparison: string;
}

/** The id of the element that holds it as JSON. */
export const BEFORE = 'before';

/** @returns null where the page was not opened from the history */
export function readBefore(): Before | null {
  const text = document.getElementById(BEFORE)?.textContent ?? 'null';
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
