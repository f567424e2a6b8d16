import type { Rule } from '../../contract/run.ts';
import { glued } from '../../format.ts';
import { limitText, measuredText, readingsText, type State, stateOf } from '../../rules.ts';
import type { PartProps } from '../part.ts';
import { Long, Table } from '../table.tsx';

/** The limits that the run was judged by, the broken ones first. */
export function Rules({ run, sound }: PartProps) {
  const rules = run.verdict.rules
    .filter(({ limit, ok, undecided }) => limit !== null || ok === false || undecided)
    .filter(({ unit }) => sound || unit !== 'ms')
    .sort((a, b) => STATES.indexOf(stateOf(a)) - STATES.indexOf(stateOf(b)));
  if (rules.length === 0) return null;
  const judged = (rule: Rule): State => (sound ? stateOf(rule) : 'not judged');
  return (
    <div class="rules" id="rules">
      <Table
        caption="Limits that the run was judged by: of the instrument, of the account and of the script"
        columns={[
          { head: 'rule', text: true, cell: (r) => <Named rule={r} /> },
          { head: 'limit', text: true, cell: (r) => <span class="nowrap">{limitText(r) || '–'}</span> },
          { head: 'measured', cell: (r) => <Measured rule={r} /> },
          {
            head: 'result',
            text: true,
            cell: (r) => (
              <span class={judged(r) === 'did not hold' ? 'nowrap worry' : 'nowrap'}>
                {MARKS[judged(r)] ?? ''}
                {judged(r)}
              </span>
            ),
          },
        ]}
        rows={rules}
      />
    </div>
  );
}

/** The states in the order of the table. */
const STATES: State[] = ['did not hold', 'undecided', 'in doubt', 'not judged', 'held'];
const MARKS: Partial<Record<State, string>> = { held: '✓ ', 'did not hold': '✕ ' };

/** The measured value, and for a figure in doubt between what it lies. */
function Measured({ rule }: { rule: Rule }) {
  const readings = readingsText(rule);
  return (
    <>
      {measuredText(rule)}
      {readings !== '' && <small>{glued(readings)}</small>}
    </>
  );
}

/** Longer names are not words with _ between them. */
const BROKEN = 60;

/** A name that breaks behind its underscores. */
function broken(name: string) {
  return name.split('_').flatMap((word, i) => (i === 0 ? [word] : ['_', <wbr key={i} />, word]));
}

/** A rule's name, with what its limit is made of. */
function Named({ rule: { name, basis, generator } }: { rule: Rule }) {
  return (
    <>
      {generator !== undefined && `generator ${generator}: `}
      {name.length > BROKEN ? <Long text={name} /> : broken(name)}
      {basis && (
        <small>
          <Long text={basis} />
        </small>
      )}
    </>
  );
}
