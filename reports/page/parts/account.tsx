import { equation } from '../../account.ts';
import { type Account, ENDS, type End } from '../../contract/run.ts';
import { balance } from '../facts.ts';
import { count, plural } from '../format.ts';
import type { PartProps } from '../part.ts';
import { Facts } from '../table.tsx';

const MEANINGS: Record<End, string> = {
  dropped: 'never sent by the generator',
  rejected: 'refused by the ingest, or no connection',
  unknown: 'perhaps accepted, never arrived',
  arrived: 'reached every subscriber',
  dead_lettered: 'given up by the relay',
  queued: 'still in the queue at the end',
  lost: 'accepted, never arrived',
  pending: 'in flight when the run was cut off',
};
const WORRYING: ReadonlySet<End> = new Set([
  'dropped',
  'rejected',
  'unknown',
  'dead_lettered',
  'queued',
  'lost',
]);

/** The account in a line, which opens to the equation. */
export function AccountLine({ run: { account } }: PartProps) {
  return (
    <details class="line">
      <summary>
        <strong>Account</strong> {equation(account)}
      </summary>
      <Equation account={account} />
      <a href="#account">More of the account</a>
    </details>
  );
}

/** How every message that was due ended, as a sum. */
function Equation({ account }: { account: Account }) {
  const { holds } = balance(account);
  const ends = ENDS.filter((end) => end !== 'pending' || account.pending !== 0);
  return (
    <div class={`equation ${holds ? '' : 'wrong'}`}>
      <Term name="scheduled" meaning="messages that were due" value={account.scheduled} tone="whole" />
      {ends.map((end, i) => (
        <Term
          key={end}
          sign={i === 0 ? (holds ? '=' : '≠') : '+'}
          name={end.replace('_', '-')}
          meaning={MEANINGS[end]}
          value={account[end]}
          tone={account[end] === 0 ? 'zero' : WORRYING.has(end) ? 'worry' : 'whole'}
        />
      ))}
    </div>
  );
}

/** The equation, whether it balances, and what else is counted. */
export function AccountSection({ run: { account } }: PartProps) {
  const { sum, difference, holds } = balance(account);
  const { requests, deliveries } = account;
  return (
    <section class="account" id="account">
      <h2>Account of every message</h2>
      <Equation account={account} />
      <p class={holds ? 'balance' : 'balance wrong'} role={holds ? undefined : 'alert'}>
        {holds
          ? `It balances: the ends add up to ${count(sum)}, as many as were scheduled.`
          : `It does not balance: the ends add up to ${count(sum)}, ${
              difference === 0
                ? 'as many as were scheduled, but the run says that ids are missing'
                : `${count(Math.abs(difference))} ${difference < 0 ? 'fewer' : 'more'} than were scheduled`
            }. No latency of this run can be trusted, so none is shown.`}
      </p>
      <Facts
        facts={[
          [
            'requests',
            `${count(requests.scheduled)} scheduled, ${count(requests.sent)} sent, ${count(requests.retried)} repeated`,
          ],
          [
            'deliveries',
            `${count(deliveries.due)} due, ${count(deliveries.arrived)} arrived, ${count(deliveries.missing)} missing`,
          ],
          ['duplicates', `${plural(account.duplicates, 'delivery', 'deliveries')} arrived again`],
          ['reordered', `${plural(account.reordered, 'delivery', 'deliveries')} arrived after a later one`],
          ['negative', `${plural(account.negative, 'delivery', 'deliveries')} with a stage below zero`],
          ['foreign', `${plural(account.foreign, 'delivery', 'deliveries')} that are not of this run`],
        ]}
      />
    </section>
  );
}

interface TermProps {
  sign?: string;
  name: string;
  meaning: string;
  value: number;
  tone: 'whole' | 'zero' | 'worry';
}

function Term({ sign, name, meaning, value, tone }: TermProps) {
  return (
    <div class={`term ${tone}`}>
      <span class="sign">{sign}</span>
      <span class="value">{count(value)}</span>
      <span class="name">{name}</span>
      <span class="meaning">{meaning}</span>
    </div>
  );
}
