import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';

/** Levels of letters, digits, `_`, `.` and `-`: an MQTT wildcard or an empty level cannot be a target. */
const TARGET = '^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$';

/** What a client posts. Other properties travel untouched. */
export const Message = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 128 }),
  target: Type.String({ minLength: 1, maxLength: 128, pattern: TARGET }),
});

export const Batch = Type.Array(Message, { minItems: 1, maxItems: 1000 });

export type Message = Static<typeof Message>;
export type Batch = Static<typeof Batch>;

/** A body that does not fit. `field` is its path, like `target` or `3.target`; empty for the body itself. */
export class MessageError extends Error {
  readonly statusCode = 400;
  readonly field: string;

  constructor(field: string, problem: string) {
    super(`${field || 'body'}: ${problem}`);
    this.field = field;
  }
}

/** A Fastify validator whose error is a {@link MessageError} naming the first field that does not fit. */
export function validator<T extends TSchema>(
  schema: T,
): (body: unknown) => { value: unknown } | { error: Error } {
  const compiled = TypeCompiler.Compile(schema);
  return (body) => {
    if (compiled.Check(body)) return { value: body };
    const error = compiled.Errors(body).First();
    const field = error?.path.slice(1).replaceAll('/', '.') ?? '';
    return { error: new MessageError(field, error?.message ?? 'does not fit') };
  };
}
