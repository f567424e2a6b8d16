import type { Rule } from '../../contract/run.ts';
import { limitText, measuredText, rulesOf } from '../../rules.ts';
import type { PartProps } from '../part.ts';
import { Long, Table } from '../table.tsx';

/** The limits that the run was judged by, the broken ones first. */
export function Rules({ run, sound }: PartProps) {
  const rules = rulesOf(run)
    .filter(({ limit, ok }) => limit !== null || ok === false)
    .filter(({ unit }) => sound || unit !== 'ms')
    .sort((a, b) => Number(b.ok === false) - Number(a.ok === false));
  if (rules.length === 0) return null;
  const judged = (ok: boolean | null) =>
    !sound || ok === null ? 'not judged' : ok ? '✓ held' : '✕ did not hold';
  return (
    <div class="rules" id="rules">
      <Table
        caption="Limits that the run was judged by: of the instrument, of the account and of the script"
        columns={[
          { head: 'rule', text: true, cell: (r) => <Named rule={r} /> },
          { head: 'limit', text: true, cell: (r) => <span class="nowrap">{limitText(r) || '–'}</span> },
          { head: 'measured', cell: measuredText },
          {
            head: 'result',
            text: true,
            cell: (r) => (
              <span class={sound && r.ok === false ? 'nowrap worry' : 'nowrap'}>{judged(r.ok)}</span>
            ),
          },
        ]}
        rows={rules}
      />
    </div>
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
