import { countOf, equation, missedOf, said } from '../../account.ts';
import { ABOUT_END, type Account, BESIDE, ENDS, type End } from '../../contract/run.ts';
import { balance } from '../facts.ts';
import { count, plural } from '../format.ts';
import type { PartProps } from '../part.ts';
import { Facts } from '../table.tsx';

/** The account in a line, which opens to the equation: by itself where something is missing. */
export function AccountLine({ run: { account } }: PartProps) {
  const { holds } = balance(account);
  return (
    <details class="line account" id="account" open={!holds || missedOf(account).length > 0}>
      <summary>
        <strong>Account</strong> {equation(account)}
      </summary>
      <Equation account={account} />
      <Balance account={account} />
      <Facts facts={furtherCounts(account)} />
    </details>
  );
}

/** The ends of all messages that were due, as a sum. */
function Equation({ account }: { account: Account }) {
  const { holds } = balance(account);
  const worrying = new Set<End>(missedOf(account).map(({ end }) => end));
  const ends = ENDS.filter((end) => !ABOUT_END[end].rare || countOf(account, end) !== 0);
  return (
    <div class={`equation ${holds ? '' : 'wrong'}`}>
      <Term name="scheduled" meaning="messages that were due" value={account.scheduled} tone="whole" />
      {ends.map((end, i) => (
        <Term
          key={end}
          sign={i === 0 ? (holds ? '=' : '≠') : '+'}
          name={said(end)}
          meaning={ABOUT_END[end].meaning}
          value={countOf(account, end)}
          tone={worrying.has(end) ? 'worry' : countOf(account, end) === 0 ? 'zero' : 'whole'}
        />
      ))}
    </div>
  );
}

function Balance({ account }: { account: Account }) {
  const { sum, difference, holds } = balance(account);
  if (holds)
    return <p class="balance">It balances: the ends add up to {count(sum)}, as many as were scheduled.</p>;
  const how =
    difference === 0
      ? 'as many as were scheduled, but the run says that ids are missing'
      : `${count(Math.abs(difference))} ${difference < 0 ? 'fewer' : 'more'} than were scheduled`;
  return (
    <p class="balance wrong" role="alert">
      It does not balance: the ends add up to {count(sum)}, {how}. No latency of this run can be trusted, so
      none is shown.
    </p>
  );
}

/** Counts beside the ends. */
function furtherCounts({ requests, deliveries, ...account }: Account): [name: string, text: string][] {
  const failed = requests.failed ? `, ${count(requests.failed)} failed` : '';
  return [
    [
      'requests',
      `${count(requests.scheduled)} scheduled, ${count(requests.sent)} sent, ${count(requests.retried)} repeated${failed}`,
    ],
    [
      'deliveries',
      `${count(deliveries.due)} due, ${count(deliveries.arrived)} arrived, ${count(deliveries.missing)} missing`,
    ],
    ...BESIDE.map(({ name, meaning }): [string, string] => [
      name,
      `${plural(account[name], 'delivery', 'deliveries')} ${meaning}`,
    ]),
  ];
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
