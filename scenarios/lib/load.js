// The load of a run.
/** @import { bodies } from './declarations.js' */
/** @import { Values } from './env.js' */
import { at } from './stack.js';

/** Kinds of requests that scripts share. */
export const flows = {
  /** A flow of one message to one of 100 targets. */
  direct: [{ name: 'direct', target: 'user', targets: 100 }],
  /** The flows of the default load, 7 : 2 : 1. */
  mixed: [
    { name: 'direct', weight: 7, target: 'user', targets: 100 },
    { name: 'room', weight: 2, target: 'room', targets: 20, deliveries: 5 },
    { name: 'batch', weight: 1, target: 'user', targets: 100, messages: 10 },
  ],
};

/** @typedef {{ name: string, target: string, targets?: number, weight?: number, deliveries?: number, messages?: number }} Flow */
/** @typedef {{ name: string, duration: number, arrivalRate?: number, rampTo?: number, vus?: number, requests?: number, drain?: number, measured?: boolean }} Phase */

/**
 * Random payloads by the settings of bodies(); undefined where none are asked for.
 * @param {Values<ReturnType<typeof bodies>>} settings
 */
export function fuzz({ SPEC, SPEC_FILE, SEED }) {
  const spec = SPEC_FILE ? open(at('..', SPEC_FILE)) : SPEC;
  return spec ? { spec, seed: SEED } : undefined;
}

/**
 * A profile as new Run() takes it.
 * @param {string} name for the report
 * @param {{ phases: Phase[], flows: Flow[] }} load
 */
export function profileOf(name, { phases, flows }) {
  return { name, text: JSON.stringify({ phases, flows }) }; // JSON is YAML
}

/**
 * A JSON object of texts, like header fields.
 * @param {string} name of the setting
 * @param {string} text
 * @returns {Record<string, string>}
 */
export function textsOf(name, text) {
  try {
    const fields = JSON.parse(text);
    const named = typeof fields === 'object' && fields !== null && !Array.isArray(fields);
    if (named && Object.values(fields).every((value) => typeof value === 'string')) return fields;
  } catch {}
  throw new Error(`${name} is not a JSON object of texts; allowed: {"X-Api-Key":"…"}`);
}
