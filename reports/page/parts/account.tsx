import { equation, missedOf, said } from '../../account.ts';
import { ABOUT_END, type Account, BESIDE, ENDS, type End } from '../../contract/run.ts';
import { count, glued, plural } from '../../format.ts';
import type { PartProps } from '../part.ts';
import { Facts } from '../table.tsx';

/** The account in a line, which opens to the equation: by itself where something is missing. */
export function AccountLine({ run: { account, facts } }: PartProps) {
  return (
    <details class="line account" id="account" open={!account.balanced || missedOf(account).length > 0}>
      <summary>
        <strong>Account</strong> {equation(account)}
      </summary>
      <Equation account={account} />
      <p
        class={account.balanced ? 'balance' : 'balance wrong'}
        {...(!account.balanced && { role: 'alert' as const })}
      >
        {glued(facts.balance)}
      </p>
      <Facts facts={furtherCounts(account)} />
    </details>
  );
}

/** The ends of all messages that were due, as a sum. */
function Equation({ account }: { account: Account }) {
  const { balanced } = account;
  const worrying = new Set<End>(missedOf(account).map(({ end }) => end));
  const ends = ENDS.filter((end) => !ABOUT_END[end].rare || account[end] !== 0);
  return (
    <div class={`equation ${balanced ? '' : 'wrong'}`}>
      <Term name="scheduled" meaning="messages that were due" value={account.scheduled} tone="whole" />
      {ends.map((end, i) => (
        <Term
          key={end}
          sign={i === 0 ? (balanced ? '=' : '≠') : '+'}
          name={said(end)}
          meaning={ABOUT_END[end].meaning}
          value={account[end]}
          tone={worrying.has(end) ? 'worry' : account[end] === 0 ? 'zero' : 'whole'}
        />
      ))}
    </div>
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
    ...BESIDE.filter(({ name, rare }) => !rare || (account[name] ?? 0) > 0).map(
      ({ name, meaning }): [string, string] => [
        name,
        `${plural(account[name] ?? 0, 'delivery', 'deliveries')} ${meaning}`,
      ],
    ),
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
