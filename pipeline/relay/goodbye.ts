import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../common/log.ts';
import { within } from '../common/within.ts';
import type { Entry, MessageQueue, Return } from '../queue/queue.ts';
import type { HeldEntry } from './holdings.ts';
import type { Relay } from './relay.ts';

const RETRY_MS = 100;

interface GoodbyeOptions {
  queue: Pick<MessageQueue, 'server' | 'keeps' | 'signOff' | 'explain'>;
  relay: Pick<Relay, 'held' | 'lastClaim' | 'keepRest'>;
  /** The relay's name in the consumer group. */
  consumer: string;
  log: Logger;
}

/**
 * Signs a stopped relay off, and says where the messages are that it still holds: the queue has them, or gets them back.
 * Takes `withinMs` at most: the queue may be away, or never answer.
 * @returns whether messages are lost, or may be
 */
export async function signOff(options: GoodbyeOptions, withinMs: number): Promise<boolean> {
  const { queue, relay, consumer, log } = options;
  const deadline = performance.now() + withinMs;
  const silence = `${queue.server} does not answer`;
  const left = () => Math.max(0, deadline - performance.now());
  const moved = queue.keeps ? ((await within(left(), relay.keepRest())) ?? 0) : 0;
  const returns = new Map<Entry, Return>();
  const are = (how: Return) => [...returns.values()].filter((each) => each === how).length;
  // Whoever asks twice for the same may put it into the queue twice.
  const kept = () => relay.held.filter(({ entry }) => (returns.get(entry) ?? 'refused') === 'refused');
  let problem: string | undefined;
  do {
    const held = kept().map(({ entry }) => entry);
    const attempt = queue.signOff(consumer, held, (entries, how) => {
      for (const entry of entries) returns.set(entry, how);
    });
    problem = await within(
      left(),
      attempt.then(() => '').catch((error) => queue.explain(error).problem),
    );
    if (problem === '') {
      // The queue may have given us more meanwhile.
      await isSettled(left(), relay.lastClaim);
      if (queue.keeps || kept().length === 0) break;
    } else if (!queue.keeps && kept().length === 0) break;
    else if (problem !== undefined) await sleep(Math.min(RETRY_MS, left()));
  } while (left() > 0);

  if (queue.keeps) {
    const { open, delivered } = count(relay.held);
    const why = problem === '' ? '' : `, until the lease ends with this relay: ${problem ?? silence}`;
    if (open + moved > 0) log.warn(`${late(open + moved)}: they stay in the queue${why}`);
    if (delivered > 0)
      log.warn(
        `${delivered} messages were delivered, but ${queue.server} has not recorded it: they arrive again`,
      );
    if (problem !== '' && open + delivered === 0)
      log.warn(`the relay could not sign off: ${problem ?? silence}`);
    return false;
  }
  const [back, asked, lost] = [are('back'), are('asked'), kept().length];
  const answered = await isSettled(0, relay.lastClaim);
  const why = problem || silence;
  if (back > 0) log.warn(`${late(back)}: they are back in the queue`);
  if (lost > 0) log.error(`${late(lost)} and could not be put back into the queue, so they are lost: ${why}`);
  if (asked > 0)
    log.error(
      `${late(asked)}, and the queue may not have them back: they are lost, unless ${queue.server} takes them: ${why}`,
    );
  if (!answered)
    log.error(
      `${queue.server} has not answered the last claim: messages that it still gives for that are lost`,
    );
  return lost + asked > 0 || !answered;
}

const late = (messages: number) => `${messages} messages were not delivered in time`;

/** The messages of these entries: delivered, and open ones. */
function count(held: readonly HeldEntry[]): { open: number; delivered: number } {
  let [open, delivered] = [0, 0];
  for (const entry of held) {
    open += entry.open;
    delivered += entry.delivered;
  }
  return { open, delivered };
}

async function isSettled(withinMs: number, promise: Promise<void>): Promise<boolean> {
  return (
    (await within(
      withinMs,
      promise.then(() => true),
    )) ?? false
  );
}
