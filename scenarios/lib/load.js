// The load of a run.
import { at } from './stack.js';

/** Kinds of requests that scripts share. */
export const flows = {
  /** One message to one of 100 targets. */
  direct: [{ name: 'direct', target: 'user', targets: 100 }],
  /** Those of the default load: 7 : 2 : 1. */
  mixed: [
    { name: 'direct', weight: 7, target: 'user', targets: 100 },
    { name: 'room', weight: 2, target: 'room', targets: 20, deliveries: 5 },
    { name: 'batch', weight: 1, target: 'user', targets: 100, messages: 10 },
  ],
};

/** Random payloads by the settings of bodies(); undefined where none are asked for. */
export function fuzz({ SPEC, SPEC_FILE, SEED }) {
  const spec = SPEC_FILE ? open(at('..', SPEC_FILE)) : SPEC;
  return spec && { spec, seed: SEED };
}

/** A profile as new Run() takes it. Its name is for the report. */
export function profileOf(name, { phases, flows }) {
  return { name, text: JSON.stringify({ phases, flows }) }; // JSON is YAML
}
