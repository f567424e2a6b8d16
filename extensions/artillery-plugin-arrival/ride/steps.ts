/** The steps of a flow, with functions of the plugin between them that follow its virtual user. */

import { names } from '../processor.ts';
import { isMap, type Table } from '../table.ts';
import { METHODS, requestIn } from './messages.ts';

/** Begins the names of the functions that the plugin adds to the processor. */
export const OURS = 'arrival:';

export type Request = NonNullable<ReturnType<typeof requestIn>>;

interface With {
  /** The steps in place of a request; undefined: it carries no message. `timed`: the step before notes when it is due. */
  marked(step: Table, request: Request, timed: boolean): Table[] | undefined;
  /** The name of a function for the step before a think time. */
  thinking(step: Table): string;
}

/** @param place parallel steps are due together */
export function follow(
  steps: Table[],
  how: With,
  place: 'in turn' | 'parallel' | 'in a parallel loop' = 'in turn',
): Table[] {
  const top = place === 'in turn';
  const call = (name: string) => (top ? [{ function: OURS + name }] : []);
  return steps.flat().flatMap((step: Table): Table[] => {
    if (!isMap(step)) return [step];
    if (Array.isArray(step.loop)) {
      const loop = follow(step.loop as Table[], how, top ? place : 'in a parallel loop');
      return [{ ...step, loop }];
    }
    if (Array.isArray(step.parallel)) {
      const parallel = follow(step.parallel as Table[], how, top ? 'parallel' : place);
      return [...call('step'), { ...step, parallel }, ...call('over')];
    }
    if (step.think !== undefined) return top ? [{ function: how.thinking(step) }, step] : [step];
    if (step.log !== undefined || step.connect !== undefined) return [step];
    const request = requestIn(step);
    const marked = request && how.marked(step, request, place !== 'in a parallel loop');
    if (marked !== undefined) return [...call('step'), ...marked];
    if (step.function !== undefined) return [...call('function'), step, ...call('returned')];
    if (top && request && METHODS.includes(request.method)) return [whenSent(step, request)];
    return [...call('over'), step];
  });
}

/** A request without a message, which says so when it is sent: a condition may skip it. */
function whenSent(step: Table, { method, of }: Request): Table {
  const spec = of as Table;
  return { ...step, [method]: { ...spec, beforeRequest: [`${OURS}request`, ...names(spec.beforeRequest)] } };
}
